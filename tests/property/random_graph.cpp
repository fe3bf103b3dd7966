// One operation after another on values picked from those that exist. Every choice is made so that
// the result is valid: an Error while building is a finding.
#include "property/random_graph.h"

#include "ir/build.h"
#include "ir/float_bits.h"
#include "ir/op.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fuse {

std::size_t Entropy::below(std::size_t bound) {
  if (seeded_) return random_() % bound;
  std::size_t value = 0;
  for (std::size_t range = 1; range < bound && !bytes_.empty(); range *= 256) {
    value = value * 256 + bytes_[0];
    bytes_ = bytes_.subspan(1);
  }
  return value % bound;
}

double Entropy::uniform(double low, double high) {
  return low + (high - low) * double(below(1 << 24)) / (1 << 24);
}

namespace {

double special_float(Entropy &entropy) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  static const std::vector<double> kValues = {
      0.0, -0.0, 1.0,  -1.0,    kInf,  -kInf, std::numeric_limits<double>::quiet_NaN(),
      0.5, 2.5,  -1.5, 65504.0, 1e-40, 3e38,  1e-6};
  return entropy.pick(kValues);
}

std::uint64_t random_bits(Entropy &entropy, DType type, bool special) {
  if (is_float(type)) {
    bool is_special = special && entropy.one_in(12);
    return encode_float(type, is_special ? special_float(entropy) : entropy.uniform(-4, 4));
  }
  std::int64_t small = std::int64_t(entropy.below(40)) - 20;
  if (!special || !entropy.one_in(8)) return wrap_int(type, std::uint64_t(small));
  std::uint64_t edge = std::uint64_t{1} << (8 * size_of(type) - 1);  // the sign bit
  return wrap_int(type, edge + std::uint64_t(small % 3));
}

bool has_identity(Op op) {
  return op == Op::Sum || op == Op::Prod || op == Op::Any || op == Op::All;
}

class Builder {
 public:
  Builder(Entropy &entropy, const RandomGraphOptions &options)
      : entropy_(entropy), options_(options), result_{Graph("random"), {}, {}} {}

  RandomGraph build() {
    add_symbols();
    std::size_t inputs = 1 + entropy_.below(4);
    for (std::size_t i = 0; i < inputs; ++i) add_input(i);
    for (int i = 0; i < options_.operations; ++i) add_operation();
    add_outputs();
    return std::move(result_);
  }

 private:
  GraphData &graph() { return result_.graph.data(); }
  NodeId any_value() { return values_[entropy_.below(values_.size())]; }
  std::int64_t elements(const Shape &shape) {
    return num_elements(shape).evaluate(result_.symbols);
  }
  bool fits(const Shape &shape) {
    return shape.size() <= kMaxRank && elements(shape) <= options_.max_elements;
  }

  void add_symbols() {
    if (!options_.symbols || entropy_.one_in(2)) return;
    add_symbol("N", 2, entropy_.pick(options_.symbol_values));
    if (entropy_.one_in(4)) add_symbol("Z", 0, std::int64_t(entropy_.below(3)));
  }

  void add_symbol(const std::string &name, std::int64_t least, std::int64_t value) {
    dims_.push_back(result_.graph.dim(name, {least, 1 << 20, 1}));
    least_symbols_[name] = least;
    result_.symbols[name] = value;
  }

  /// The least that the extent can be.
  std::int64_t least(const Dim &dim) { return dim.evaluate(least_symbols_); }

  Dim random_dim() {
    if (entropy_.one_in(24)) return 0;
    if (!dims_.empty() && entropy_.one_in(3)) return entropy_.pick(dims_);
    return entropy_.pick(options_.extents);
  }

  Shape random_shape() {
    Shape shape;
    for (std::size_t rank = entropy_.below(options_.max_rank + 1); rank > 0; --rank) {
      shape.push_back(random_dim());
      if (!fits(shape)) shape.back() = 1;
    }
    return shape;
  }

  void add_input(std::size_t number) {
    DType type = entropy_.pick(options_.dtypes);
    bool is_scalar = entropy_.one_in(8);
    Shape shape = is_scalar ? Shape{} : random_shape();
    std::string name = "x" + std::to_string(number);
    values_.push_back(build_input(graph(), name, type, shape, is_scalar));
    result_.inputs.push_back(
        random_tensor(entropy_, type, evaluate(shape, result_.symbols), options_.special_values));
  }

  void add_operation() {
    int kind = int(entropy_.below(16)), reductions = options_.views;
    int scans = reductions + options_.reductions, conversions = scans + options_.scans;
    NodeId x = any_value();
    if (kind < reductions) return add_view(x);
    if (kind < scans) return add_reduction(x);
    if (kind < conversions) return add_scan(x);
    if (kind < conversions + 2) return add_conversion(x);
    add_elementwise(x);
  }

  std::vector<Op> ops_of(std::initializer_list<OpKind> kinds, DType type) {
    std::vector<Op> ops;
    for (int i = 0; i < kNumOps; ++i) {
      const OpInfo &op_info = info(static_cast<Op>(i));
      bool wanted = std::find(kinds.begin(), kinds.end(), op_info.kind) != kinds.end();
      if (wanted && accepts(op_info.types, type)) ops.push_back(static_cast<Op>(i));
    }
    return ops;
  }

  /// Whether the shape broadcasts to that of x by its axes of extent 1, or is a scalar's.
  bool broadcasts(const Shape &shape, const Shape &to) {
    if (shape.empty()) return true;
    if (shape.size() != to.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (!(shape[i] == to[i]) && !(shape[i] == Dim(1))) return false;
    return true;
  }

  /// An operand that goes with x: a value of its dtype whose shape broadcasts, or a literal.
  NodeId partner(NodeId x) {
    std::vector<NodeId> candidates = {x};
    for (NodeId id : values_) {
      if (graph().dtype(id) == graph().dtype(x) && broadcasts(graph().shape(id), graph().shape(x)))
        candidates.push_back(id);
    }
    if (entropy_.one_in(3)) return literal(graph().dtype(x));
    return entropy_.pick(candidates);
  }

  NodeId literal(DType type) {
    DType compute = compute_type(type);
    Literal value{compute, random_bits(entropy_, compute, entropy_.one_in(4))};
    return build_constant(graph(), value, {});
  }

  NodeId condition_for(NodeId x) {
    std::vector<NodeId> candidates;
    for (NodeId id : values_)
      if (is_bool(graph().dtype(id)) && graph().shape(id) == graph().shape(x))
        candidates.push_back(id);
    if (!candidates.empty()) return entropy_.pick(candidates);
    return build_elementwise(graph(), Op::Eq, {{x, partner(x)}});
  }

  void add_elementwise(NodeId x) {
    std::vector<Op> ops =
        ops_of({OpKind::Unary, OpKind::Binary, OpKind::Ternary, OpKind::Compare, OpKind::Test},
               graph().dtype(x));
    Op op = entropy_.pick(ops);
    std::vector<NodeId> operands = {x};
    if (op == Op::Select)
      operands = {condition_for(x), x, partner(x)};
    else if (info(op).kind == OpKind::Ternary)
      operands = {x, partner(x), partner(x)};
    else if (info(op).kind != OpKind::Unary && info(op).kind != OpKind::Test)
      operands = {x, partner(x)};
    values_.push_back(build_elementwise(graph(), op, operands));
  }

  void add_conversion(NodeId x) {
    DType from = graph().dtype(x);
    std::vector<DType> same_size;
    for (DType type : options_.dtypes)
      if (size_of(type) == size_of(from) && is_bool(type) == is_bool(from))
        same_size.push_back(type);
    if (entropy_.one_in(6) && !same_size.empty())
      values_.push_back(build_convert(graph(), Op::Bitcast, x, entropy_.pick(same_size)));
    else
      values_.push_back(build_convert(graph(), entropy_.one_in(4) ? Op::CastSat : Op::Cast, x,
                                      entropy_.pick(options_.dtypes)));
  }

  void add_reduction(NodeId x) {
    const Shape &shape = graph().shape(x);
    std::vector<int> axes;
    bool may_be_empty = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == Dim(0) || !entropy_.one_in(2)) continue;
      axes.push_back(static_cast<int>(i));
      may_be_empty |= least(shape[i]) == 0;
    }
    if (axes.empty()) return;
    std::vector<Op> ops = ops_of({OpKind::Reduce}, graph().dtype(x));
    if (may_be_empty) std::erase_if(ops, [](Op op) { return !has_identity(op); });
    if (ops.empty()) return;
    Op op = entropy_.pick(ops);
    if (op == Op::ArgMax || op == Op::ArgMin) axes.erase(axes.begin() + 1, axes.end());
    values_.push_back(build_reduce(graph(), op, x, axes, entropy_.one_in(2)));
  }

  void add_scan(NodeId x) {
    if (graph().shape(x).empty()) return;
    Op op = entropy_.pick(ops_of({OpKind::Scan}, graph().dtype(x)));
    int axis = int(entropy_.below(graph().shape(x).size()));
    ScanAttr attr{axis, entropy_.one_in(3), entropy_.one_in(4)};
    values_.push_back(build_scan(graph(), op, x, attr));
  }

  void add_view(NodeId x);
  void add_slice(NodeId x);
  void add_pad(NodeId x);
  void add_concat(NodeId x, int axis);
  void add_reshape(NodeId x, std::size_t axis);
  void add_gather(NodeId x, int axis);
  void add_broadcast(NodeId x);
  void add_random(const Shape &shape);
  void add_outputs();

  Entropy &entropy_;
  const RandomGraphOptions &options_;
  RandomGraph result_;
  std::vector<NodeId> values_;
  std::vector<Dim> dims_;  // symbolic ones
  Bindings least_symbols_;
};

void Builder::add_slice(NodeId x) {
  Shape shape = graph().shape(x), start(shape.size(), 0);
  std::vector<std::int64_t> step(shape.size(), 1);
  Shape stop = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_static()) {
      start[i] = std::min(std::int64_t(entropy_.below(2)), least(shape[i]));
      continue;
    }
    std::int64_t n = shape[i].value(), from = std::int64_t(entropy_.below(std::size_t(n) + 1));
    start[i] = from;
    stop[i] = from + std::int64_t(entropy_.below(std::size_t(n - from) + 1));
    step[i] = 1 + std::int64_t(entropy_.below(3));
  }
  values_.push_back(build_slice(graph(), x, start, stop, step));
}

void Builder::add_pad(NodeId x) {
  Shape shape = graph().shape(x);
  std::vector<std::int64_t> lo, hi;
  for (Dim &d : shape) {
    lo.push_back(std::int64_t(entropy_.below(3)));
    hi.push_back(std::int64_t(entropy_.below(3)));
    d = d + lo.back() + hi.back();
  }
  if (fits(shape)) values_.push_back(build_pad(graph(), x, literal(graph().dtype(x)), lo, hi));
}

/// Two to four parts: values that differ from x along the axis only, and x backwards.
void Builder::add_concat(NodeId x, int axis) {
  auto without_axis = [&](NodeId id) {
    Shape shape = graph().shape(id);
    shape[axis] = 1;
    return shape;
  };
  std::vector<NodeId> candidates = {x, build_flip(graph(), x, {axis})};
  for (NodeId id : values_)
    if (graph().dtype(id) == graph().dtype(x) &&
        graph().shape(id).size() == graph().shape(x).size() && without_axis(id) == without_axis(x))
      candidates.push_back(id);
  std::vector<NodeId> parts = {x};
  Shape shape = graph().shape(x);
  for (std::size_t more = 1 + entropy_.below(3); more > 0; --more) {
    parts.push_back(entropy_.pick(candidates));
    shape[axis] = shape[axis] + graph().shape(parts.back())[axis];
  }
  if (fits(shape)) values_.push_back(build_concat(graph(), parts, axis));
}

/// Flattens all axes, joins the axis with the next, splits it, or puts one of extent 1 before it.
void Builder::add_reshape(NodeId x, std::size_t axis) {
  Shape shape = graph().shape(x);
  auto at = shape.begin() + std::ptrdiff_t(axis);
  std::int64_t part = entropy_.pick(std::vector<std::int64_t>{2, 3, 4, 8});
  if (entropy_.one_in(3)) {
    shape = {num_elements(shape)};
  } else if (axis + 1 < shape.size() && entropy_.one_in(2)) {
    *at = *at * *(at + 1);
    shape.erase(at + 1);
  } else if (at->is_static() && at->value() % part == 0 && shape.size() < kMaxRank) {
    *at = at->value() / part;
    shape.insert(at + std::ptrdiff_t(entropy_.below(2)), part);
  } else if (shape.size() < kMaxRank) {
    shape.insert(at, 1);
  }
  values_.push_back(build_reshape(graph(), x, shape));
}

void Builder::add_gather(NodeId x, int axis) {
  std::vector<NodeId> indices;
  for (NodeId id : values_)
    if (is_int(graph().dtype(id)) && graph().shape(id).size() <= 2) indices.push_back(id);
  if (indices.empty()) return;
  NodeId index = entropy_.pick(indices);
  Shape shape = graph().shape(x);
  shape[axis] = num_elements(graph().shape(index));
  bool rank_fits = shape.size() - 1 + graph().shape(index).size() <= kMaxRank;
  if (rank_fits && fits(shape)) values_.push_back(build_gather(graph(), x, index, axis));
}

void Builder::add_broadcast(NodeId x) {
  Shape shape = graph().shape(x);
  for (Dim &d : shape)
    if (d == Dim(1)) d = random_dim();
  if (shape.size() < std::max<std::size_t>(4, options_.max_rank) && entropy_.one_in(2))
    shape.insert(shape.begin(), random_dim());
  if (fits(shape)) values_.push_back(build_broadcast(graph(), x, shape));
}

/// Of a seed that is a literal or some scalar.
void Builder::add_random(const Shape &shape) {
  GraphData &g = graph();
  NodeId seed = build_constant(g, {DType::U64, entropy_.below(5) * 0x900000007}, {});
  for (NodeId id : values_)
    if (g.shape(id).empty() && is_int(g.dtype(id)) && entropy_.one_in(2))
      seed = build_convert(g, Op::Cast, id, DType::U64);
  values_.push_back(build_random_bits(g, seed, shape, entropy_.below(3)));
  if (entropy_.one_in(2)) return;
  values_.push_back(build_elementwise(
      g, Op::Lt, {{values_.back(), build_constant(g, {DType::U32, 0x60000000}, {})}}));
}

void Builder::add_view(NodeId x) {
  const Shape &shape = graph().shape(x);
  if (shape.empty()) return add_broadcast(x);
  int axis = static_cast<int>(entropy_.below(shape.size()));
  std::vector<int> permutation;
  for (std::size_t i = 0; i < shape.size(); ++i)
    permutation.insert(permutation.begin() + std::ptrdiff_t(entropy_.below(i + 1)), int(i));
  switch (entropy_.below(10)) {
    case 0: return add_slice(x);
    case 1: return add_pad(x);
    case 2: return add_concat(x, axis);
    case 3: return add_gather(x, axis);
    case 4: return add_broadcast(x);
    case 5: return values_.push_back(build_flip(graph(), x, {axis}));
    case 6: return values_.push_back(build_transpose(graph(), x, permutation));
    case 7: return add_reshape(x, std::size_t(axis));
    case 8: return add_random(shape);
    default:
      DType type = entropy_.one_in(2) ? DType::I32 : DType::F32;
      return values_.push_back(build_iota(graph(), type, shape, axis));
  }
}

void Builder::add_outputs() {
  std::vector<bool> used(graph().size(), false);
  for (NodeId id = 0; id < graph().size(); ++id)
    for (NodeId operand : graph().operands(id)) used[operand] = true;
  std::vector<NodeId> unused;
  for (NodeId id : values_)
    if (!used[id] && std::find(unused.begin(), unused.end(), id) == unused.end())
      unused.push_back(id);
  if (unused.empty()) unused.push_back(values_.back());
  if (unused.size() > 4) unused.erase(unused.begin(), unused.end() - 4);
  for (std::size_t i = 0; i < unused.size(); ++i)
    add_output(graph(), "y" + std::to_string(i), unused[i]);
}

}  // namespace

Tensor random_tensor(Entropy &entropy, DType type, std::vector<std::int64_t> shape,
                     bool special_values) {
  Tensor tensor(type, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    tensor.set_bits(i, random_bits(entropy, type, special_values));
  return tensor;
}

RandomGraph random_graph(Entropy &entropy, const RandomGraphOptions &options) {
  return Builder(entropy, options).build();
}

}  // namespace fuse
