// Reverse mode: one loop from the outputs back over the nodes, in which a node has the cotangent of
// all its users when its turn comes. Linear in the nodes, without recursion.
#include <fuse/grad.h>

#include "grad/names.h"
#include "grad/rules.h"
#include "ir/build.h"
#include "ir/composite.h"
#include "ir/float_bits.h"
#include "ir/format.h"
#include "ir/op.h"

#include <algorithm>

FUSE_BEGIN_NAMESPACE

namespace {

class ReverseMode {
 public:
  ReverseMode(GraphData &graph, const std::vector<Value> &inputs)
      : g_(graph),
        size_(graph.size()),
        terms_(size_),
        is_wanted_(size_),
        is_active_(size_),
        has_place_(size_) {
    for (Value v : inputs) is_wanted_[v.index()] = true;
    for (const auto &[id, where] : g_.locations) has_place_[id] = true;
    find_active();
  }

  void seed(Value output, Value cotangent) {
    if (is_active_[output.index()])
      terms_[output.index()].push_back({cotangent.index(), Dead::Nowhere});
  }

  void run() {
    for (auto id = static_cast<NodeId>(size_); id-- > 0;)
      if (!terms_[id].empty()) visit(id);
    forget_places();
  }

  Value cotangent(Value input) {
    const std::vector<Term> &terms = terms_[input.index()];
    if (!terms.empty()) return cast(g_.value(terms[0].value), input.dtype());
    return g_.value(build_constant(g_, {input.dtype(), 0}, input.shape()));
  }

 private:
  /// Values through which an output depends on an input by derivatives. The results of an extern
  /// operation depend on all its operands, whatever the first of them is.
  void find_active() {
    for (NodeId id = 0; id < size_; ++id) {
      Op op = g_.node(id).op;
      auto needs = [&](NodeId o) { return is_active_[o]; };
      std::span<const NodeId> operands = g_.operands(id);
      if (op == Op::CustomGradient) operands = operands.subspan(1);
      bool passes = rule_of(op) && std::any_of(operands.begin(), operands.end(), needs);
      bool has_gradient = is_float(g_.dtype(id)) || info(op).kind == OpKind::Extern;
      is_active_[id] = is_wanted_[id] || (passes && has_gradient);
    }
  }

  /// How many cotangents are computed from that of the node.
  int readers(NodeId id) const {
    int count = 0;
    for (NodeId o : g_.operands(id)) count += is_active_[o];
    return count;
  }

  /// Adds the terms up, and rounds 16-bit ones where there are several of them or of their readers.
  Term total(NodeId id) {
    std::vector<Term> &terms = terms_[id];
    Value sum = g_.value(terms[0].value);
    Dead dead = terms[0].dead;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      sum = in_compute_type(sum) + in_compute_type(g_.value(terms[i].value));
      dead = std::min(dead, terms[i].dead);
    }
    bool rounds = is_wanted_[id] || terms.size() > 1 || readers(id) > 1;
    if (rounds && is_float16(g_.dtype(id))) sum = cast(sum, g_.dtype(id));
    return {sum.index(), dead};
  }

  void visit(NodeId id) {
    std::size_t first = g_.size();
    Term cotangent = total(id);
    terms_[id] = {cotangent};
    Rule rule = rule_of(g_.node(id).op);
    if (rule && readers(id) > 0) {
      Adjoint adjoint(g_, id, cotangent, {terms_, is_active_});
      rule(adjoint);
    }
    place_nodes(first, id);
  }

  /// New nodes belong to the line of the node that they are of.
  void place_nodes(std::size_t first, NodeId id) {
    auto place = g_.locations.find(id);
    if (place == g_.locations.end())
      g_.locations.erase(g_.locations.lower_bound(static_cast<NodeId>(first)), g_.locations.end());
    else
      locate(g_, first, place->second);
  }

  /// Of old nodes that rules asked for again, and that have no line of the user's.
  void forget_places() {
    std::erase_if(g_.locations, [&](const auto &entry) {
      return entry.first < size_ && !has_place_[entry.first];
    });
  }

  GraphData &g_;
  std::size_t size_;  // of the graph before anything was added
  std::vector<std::vector<Term>> terms_;
  std::vector<bool> is_wanted_, is_active_, has_place_;
};

GraphData &common_graph(const std::vector<Value> &values) {
  for (Value v : values)
    if (v.valid()) return *v.graph();
  fail(ErrorCode::InvalidArgument, "there is no output");
}

void check_float(GraphData &g, Value v, std::string_view role) {
  if (!v.valid()) fail(ErrorCode::InvalidArgument, "{} is an empty Value", role);
  if (v.graph() != &g)
    fail(ErrorCode::InvalidArgument, "{} is of another graph: of {}, not of {}", role,
         v.graph()->name, g.name);
  if (!is_float(v.dtype()))
    fail(ErrorCode::DType, "{} is {}; only floats have gradients", name_of(g, v.index()),
         type_string(g, v.index()));
}

void check_cotangent(GraphData &g, Value output, Value cotangent) {
  check_float(g, cotangent, "a cotangent");
  if (cotangent.dtype() != output.dtype())
    fail(ErrorCode::DType, "the cotangent of {} is {}, not {}", name_of(g, output.index()),
         type_string(g, cotangent.index()), type_string(g, output.index()));
  if (cotangent.shape() != output.shape())
    fail(ErrorCode::Shape, "the cotangent of {} is {}, not {}", name_of(g, output.index()),
         type_string(g, cotangent.index()), type_string(g, output.index()));
}

std::vector<Value> reverse(GraphData &g, const std::vector<Value> &outputs,
                           const std::vector<Value> &cotangents, const std::vector<Value> &inputs) {
  if (outputs.size() != cotangents.size())
    fail(ErrorCode::InvalidArgument, "outputs and cotangents are not as many: {} and {}",
         outputs.size(), cotangents.size());
  for (Value v : inputs) check_float(g, v, "an input");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_float(g, outputs[i], "an output");
    check_cotangent(g, outputs[i], cotangents[i]);
  }
  ReverseMode mode(g, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) mode.seed(outputs[i], cotangents[i]);
  mode.run();
  std::vector<Value> result;
  for (Value v : inputs) result.push_back(mode.cotangent(v));
  return result;
}

/// Calls the body; its errors get the name of the function and the place.
template <class Body>
auto at_place(std::string_view name, SourceLocation where, Body body) {
  try {
    return body();
  } catch (const Error &e) {
    rethrow_as(name, e, where);
  }
}

Value ones_like(GraphData &g, Value v) {
  return g.value(build_constant(g, float_literal(v.dtype(), 1), v.shape()));
}

}  // namespace

std::vector<Value> vjp(const std::vector<Value> &outputs, const std::vector<Value> &cotangents,
                       const std::vector<Value> &inputs, SourceLocation where) {
  return at_place("vjp", where,
                  [&] { return reverse(common_graph(outputs), outputs, cotangents, inputs); });
}

std::vector<Value> grad(Value output, const std::vector<Value> &inputs, SourceLocation where) {
  return at_place("grad", where, [&] {
    GraphData &g = common_graph({output});
    check_float(g, output, "an output");
    return reverse(g, {output}, {ones_like(g, output)}, inputs);
  });
}

FUSE_END_NAMESPACE
