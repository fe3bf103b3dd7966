// Draft, join dims, draft again, choose a mapping, assemble.
//
// The draft is the flat body: it shows the offsets, from which joined dims, contiguity and the
// mapping follow. Flat and resident kernels are the draft itself, laid out; streaming and split
// kernels build their loops anew.
#include "passes/schedule/kernel_builder.h"

#include "ir/format.h"
#include "ir/op.h"
#include "passes/schedule/mapping.h"

#include <algorithm>

namespace fuse {

namespace {

class Assembler {
 public:
  Assembler(const GraphData &graph, const PlannedKernel &planned, const KernelMemory &memory,
            const Target &target, const LowerOptions &options,
            const std::vector<bool> &approximable)
      : g_(graph),
        planned_(planned),
        memory_(memory),
        target_(target),
        options_(options),
        approximable_(approximable) {}

  std::optional<BuiltKernel> run(std::string *reason) {
    std::optional<Domain> domain = analyze_domain(g_, planned_, options_.sizes, reason);
    if (!domain) return std::nullopt;
    *reason = "a reduction is needed at two positions";
    domain_ = std::move(*domain);
    add_tensors();
    analyze_reductions();
    std::vector<Stmt> body;
    if (!draft(body)) return std::nullopt;
    domain_ = merge_dims(domain_, body);
    if (!draft(body)) return std::nullopt;
    mapping_ = choose_mapping({built_.kernel, domain_, collect_accesses(built_.kernel, body), use_,
                               target_, options_, symbol_divisor()});
    if (!assemble(body)) return std::nullopt;
    return std::move(built_);
  }

 private:
  const GraphData &g_;
  const PlannedKernel &planned_;
  const KernelMemory &memory_;
  const Target &target_;
  const LowerOptions &options_;
  const std::vector<bool> &approximable_;
  Domain domain_;
  KernelTensors tensors_;
  std::map<NodeId, int> level_;             // of reductions
  std::map<NodeId, OnlineSum> online_;      // sums folded with their maximum in one pass
  std::map<NodeId, OnlineSum> with_terms_;  // likewise, their terms held: resident kernels
  // Values over folded dims that need no reduction are stored where they are folded; others after.
  std::vector<NodeId> early_stores_, late_stores_;
  ReductionUse use_;
  bool has_strides_ = false;
  Mapping mapping_;
  BuiltKernel built_;
  GuardConditions guards_;

  SymbolDivisor symbol_divisor() const {
    return [this](const std::string &name) -> std::int64_t {
      for (const Symbol &s : g_.symbols)
        if (s.name == name) return s.bounds.divisor;
      return 1;
    };
  }

  TensorRef add_buffer(NodeId node, const MemoryLayout &layout, BufferRole role) {
    Kernel &k = built_.kernel;
    has_strides_ |= layout.strided;
    auto id = static_cast<BufferId>(k.buffers.size());
    std::vector<Index> shape = layout.is_scalar ? std::vector<Index>{} : extents_of(layout.shape);
    k.buffers.push_back({layout.name, g_.dtype(node), shape,
                         layout.is_scalar ? BufferRole::Scalar : role, layout.alignment, false});
    return {id, layout.shape, layout.strided, layout.name};
  }

  void add_tensors() {
    for (NodeId id : planned_.reads) {
      tensors_.reads[id] = add_buffer(id, memory_.reads.at(id), BufferRole::Input);
      built_.arguments.push_back({KernelArgument::Kind::Read, id, 0, 0});
    }
    for (NodeId id : planned_.stores) {
      std::size_t output = 0;
      for (const MemoryLayout &layout : memory_.writes.at(id)) {
        tensors_.writes[id].push_back(add_buffer(id, layout, BufferRole::Output));
        built_.arguments.push_back({KernelArgument::Kind::Write, id, output++, 0});
      }
    }
  }

  /// The widest that a thread tells others of one reduction.
  int state_bytes(NodeId id) const {
    Op op = g_.node(id).op;
    std::size_t value = size_of(compute_type(g_.dtype(g_.operand(id, 0))));
    std::size_t index = op == Op::ArgMax || op == Op::ArgMin ? sizeof(std::int64_t) : 0;
    return static_cast<int>(std::max<std::size_t>(4, value) + index);
  }

  void analyze_reductions() {
    std::map<NodeId, int> depth;
    for (NodeId id : planned_.nodes) {
      int d = 0;
      for (NodeId operand : g_.operands(id)) {
        auto it = depth.find(operand);
        if (it != depth.end()) d = std::max(d, it->second);
      }
      if (info(g_.node(id).op).kind == OpKind::Reduce) {
        level_[id] = ++d;
        use_.state_bytes += state_bytes(id);
      }
      depth[id] = d;
      use_.levels = std::max(use_.levels, d);
    }
    for (NodeId id : planned_.stores) {
      bool spans_folded = false;
      for (DimId d : Domain::dims_of(domain_.at.at(id))) spans_folded |= domain_.is_reduced(d);
      bool is_early = spans_folded && depth[id] == 0;
      use_.re_expanded |= spans_folded && !is_early;
      (is_early ? early_stores_ : late_stores_).push_back(id);
    }
    match_online();
    match_terms();
  }

  /// One exchange between threads finds the maximum and the sum, where the results are rounded to
  /// 16 bits: a term relative to its thread's maximum is rounded once more.
  void match_terms() {
    for (const auto &[node, level] : level_) {
      if (level != 2) continue;
      std::optional<OnlineSum> match = match_online_sum(g_, node);
      if (!match || match->weight != kNoNode || !approximable_[match->exponential]) continue;
      auto maximum = level_.find(match->maximum);
      if (maximum == level_.end() || maximum->second != 1 || is_stored(match->exponential) ||
          is_stored(node))
        continue;
      if (divides_its_terms(g_, node, *match, planned_.nodes)) with_terms_[node] = *match;
    }
  }

  bool is_stored(NodeId id) const {
    return std::find(planned_.stores.begin(), planned_.stores.end(), id) != planned_.stores.end();
  }

  bool has_terms(NodeId node) const {
    return std::any_of(with_terms_.begin(), with_terms_.end(), [&](const auto &entry) {
      return entry.first == node || entry.second.maximum == node;
    });
  }

  /// Where nothing but results of reductions is stored, sums that can rise with their maximum spare
  /// the second pass; all of them must.
  void match_online() {
    if (use_.re_expanded || use_.levels != 2) return;
    std::map<NodeId, OnlineSum> matches;
    for (const auto &[node, level] : level_) {
      if (level == 1) continue;
      std::optional<OnlineSum> match = match_online_sum(g_, node);
      if (!match || !level_.count(match->maximum)) return;
      matches[node] = *match;
    }
    online_ = std::move(matches);
    use_.levels = 1;
  }

  /// Whether an online sum folds this maximum along the way.
  bool is_folded_online(NodeId maximum) const {
    return std::any_of(online_.begin(), online_.end(),
                       [&](const auto &entry) { return entry.second.maximum == maximum; });
  }

  BodyBuilder begin() {
    built_.kernel.dims = domain_.dims;
    built_.kernel.values.clear();
    return BodyBuilder(g_, planned_, domain_, built_.kernel, tensors_, approximable_);
  }

  bool draft(std::vector<Stmt> &body) {
    body.clear();
    BodyBuilder builder = begin();
    builder.outer = builder.inner = &body;
    int levels = 0;
    for (const auto &[node, level] : level_) levels = std::max(levels, level);
    for (int level = 1; level <= levels; ++level) {
      std::vector<NodeId> nodes;
      for (const auto &[node, l] : level_)
        if (l == level && !has_terms(node)) nodes.push_back(node);
      builder.reduce(nodes);
      if (level == 1)
        for (const auto &[sum, online] : with_terms_) builder.reduce_with_terms(sum, online);
      builder.cross_barrier();
    }
    for (NodeId id : planned_.stores) builder.store(id);
    guards_ = builder.guard_conditions();
    use_.held_bytes = most_held_bytes(body);
    return builder.ok();
  }

  /// Bytes of each element that threads hold across the barrier where these are most: values that
  /// depend on folded dims, made with or before a reduction's result and used behind it.
  int most_held_bytes(const std::vector<Stmt> &body) const {
    std::vector<std::size_t> last_use(built_.kernel.values.size(), 0);
    for (std::size_t i = 0; i < body.size(); ++i)
      for (ValueId v : body[i].operands) last_use[v] = i;
    std::size_t most = 0;
    for (std::size_t barrier = 0; barrier < body.size(); ++barrier) {
      if (body[barrier].kind != StmtKind::Reduce) continue;
      std::size_t held = 0;
      for (std::size_t i = 0; i <= barrier; ++i)
        for (ValueId v : body[i].results)
          if (last_use[v] > barrier && is_element(v))
            held += size_of(built_.kernel.values[v].dtype);
      most = std::max(most, held);
    }
    return static_cast<int>(most);
  }

  bool is_element(ValueId value) const {
    const std::vector<DimId> &dims = built_.kernel.values[value].dims;
    return std::any_of(dims.begin(), dims.end(), [&](DimId d) { return domain_.is_reduced(d); });
  }

  bool assemble(std::vector<Stmt> &draft_body) {
    Kernel &k = built_.kernel;
    k.name = planned_.name;
    k.threads = mapping_.threads;
    k.cluster = mapping_.cluster;
    k.resident = mapping_.resident;
    k.layouts = {mapping_.layout};
    built_.limits = mapping_.limits;
    std::vector<Stmt> body;
    bool ok = true;
    switch (mapping_.form) {
      case Form::Flat:
      case Form::Resident: body = std::move(draft_body); break;
      case Form::Streaming: ok = stream(body); break;
      case Form::Split: ok = split(body); break;
    }
    k.index_bits = offsets_are_narrow() ? 32 : 64;
    k.body = {in_layout(0, std::move(body))};
    set_vector_widths(k, k.body, k.layouts[0], guards_, symbol_divisor());
    return ok;
  }

  /// Strides, sizes and positions that are not known may be large.
  bool offsets_are_narrow() const {
    const Kernel &k = built_.kernel;
    auto is_small = [](const Buffer &b) {
      Index n = 1;
      for (const Index &e : b.shape) n = n * e;
      return n.constant() && *n.constant() <= INT32_MAX;
    };
    auto is_short = [](const Axis &axis) {
      std::optional<std::int64_t> positions = constant_positions(axis);
      return positions && *positions <= kMaxNarrowPositions;
    };
    return !has_strides_ && std::all_of(k.buffers.begin(), k.buffers.end(), is_small) &&
           std::all_of(k.layouts.begin(), k.layouts.end(), [&](const Layout &layout) {
             return std::all_of(layout.axes.begin(), layout.axes.end(), is_short);
           });
  }

  static Stmt in_layout(LayoutId layout, std::vector<Stmt> body) {
    Stmt s;
    s.kind = StmtKind::In;
    s.layout = layout;
    s.body = std::move(body);
    return s;
  }

  static Stmt loop(const char *name, std::vector<Stmt> body) {
    Stmt s;
    s.kind = StmtKind::For;
    s.loop = name;
    s.body = std::move(body);
    return s;
  }

  /// Iterations that no edge touches make no tests; there are edges where digits span more than
  /// the dims.
  Stmt row_loop(std::vector<Stmt> body) const {
    Stmt s = loop(kRowLoop, std::move(body));
    for (const Axis &axis : mapping_.layout.axes) s.partition |= has_loop(axis) && !is_exact(axis);
    return s;
  }

  static bool has_loop(const Axis &axis) {
    return std::any_of(axis.digits.begin(), axis.digits.end(),
                       [](const Digit &d) { return d.kind == DigitKind::Loop; });
  }

  bool is_exact(const Axis &axis) const {
    Index spanned = 1, extent = 1;
    for (const Digit &d : axis.digits) spanned = spanned * d.extent;
    for (DimId d : axis.dims) extent = extent * domain_.dims[d].extent;
    return axis.align.buffer == kNone && spanned == extent;
  }

  void reduce_level(BodyBuilder &builder, int level, std::vector<Stmt> &body) {
    std::vector<Stmt> inner;
    builder.inner = &inner;
    std::vector<NodeId> nodes;
    for (const auto &[node, l] : level_)
      if (l == level && !is_folded_online(node)) nodes.push_back(node);
    builder.reduce(nodes);
    if (level == 1) {
      for (const auto &[sum, online] : online_) builder.reduce_online(sum, online);
      for (NodeId id : early_stores_) builder.store(id);
    }
    body.push_back(row_loop(std::move(inner)));
    builder.leave_loop();
  }

  bool stream(std::vector<Stmt> &body) {
    BodyBuilder builder = begin();
    builder.outer = &body;
    for (int level = 1; level <= use_.levels; ++level) reduce_level(builder, level, body);
    std::vector<Stmt> inner;
    builder.inner = &inner;
    for (NodeId id : late_stores_) builder.store(id);
    if (!inner.empty()) body.push_back(row_loop(std::move(inner)));
    guards_ = builder.guard_conditions();
    return builder.ok();
  }

  // --- Split reductions --------------------------------------------------------------------------

  /// Row-major number of the kept dims, and their count.
  std::pair<Index, Index> kept_offset() const {
    std::vector<Index> position, extents;
    for (DimId d = 0; d < domain_.dims.size(); ++d) {
      if (domain_.is_reduced(d)) continue;
      position.push_back(Index::dim(d));
      extents.push_back(domain_.dims[d].extent);
    }
    Index count = 1;
    for (const Index &e : extents) count = count * e;
    return {linearize(position, extents), count};
  }

  BufferId add_workspace(const std::string &name, DType dtype, std::vector<Index> shape,
                         KernelArgument::Kind kind) {
    Index bytes = static_cast<std::int64_t>(size_of(dtype));
    for (const Index &e : shape) bytes = bytes * e;
    built_.kernel.buffers.push_back(
        {name, dtype, std::move(shape), BufferRole::Workspace, 16, true});
    built_.arguments.push_back({kind, kNoNode, 0, bytes});
    return static_cast<BufferId>(built_.kernel.buffers.size() - 1);
  }

  /// A fold whose state goes through memory: result i of the monoid belongs to node i, or all of
  /// them to one node.
  struct Parts {
    Monoid monoid = Monoid::Sum;
    std::vector<NodeId> nodes;
    std::vector<BufferId> buffers;  // one for each result of the monoid
  };

  std::vector<Parts> folds() const {
    std::vector<Parts> all;
    for (const auto &[node, level] : level_)
      if (!online_.count(node) && !is_folded_online(node))
        all.push_back({BodyBuilder::monoid_of(g_.node(node).op), {node}, {}});
    for (const auto &[sum, online] : online_)
      all.push_back({Monoid::Online, {online.maximum, sum}, {}});
    return all;
  }

  std::vector<Parts> store_parts(BodyBuilder &builder, std::vector<Stmt> &body) {
    auto [kept, count] = kept_offset();
    std::vector<Parts> all = folds();
    for (Parts &parts : all) {
      for (NodeId node : parts.nodes) {
        for (ValueId v : builder.reduced(node)) {
          std::string name = "part" + std::to_string(built_.kernel.buffers.size());
          parts.buffers.push_back(add_workspace(name, built_.kernel.values[v].dtype,
                                                {mapping_.parts, count},
                                                KernelArgument::Kind::Part));
          Stmt s;
          s.kind = StmtKind::Store;
          s.buffer = parts.buffers.back();
          s.index = Index::dim(mapping_.split) * count + kept;
          s.operands = {v};
          body.push_back(std::move(s));
        }
      }
    }
    return all;
  }

  /// Reads the parts back and folds them; the finished states replace the block's own.
  void combine_parts(BodyBuilder &builder, const std::vector<Parts> &all, std::vector<Stmt> &body) {
    auto [kept, count] = kept_offset();
    std::vector<DimId> kept_dims = kept.dims();
    std::vector<DimId> dims = kept_dims;
    dims.push_back(mapping_.part);
    std::vector<Stmt> inner;
    for (const Parts &parts : all) {
      Stmt fold;
      fold.kind = StmtKind::Reduce;
      fold.monoid = parts.monoid;
      fold.axes = {mapping_.part};
      for (BufferId buffer : parts.buffers) {
        Stmt load;
        load.kind = StmtKind::Load;
        load.buffer = buffer;
        load.index = Index::dim(mapping_.part) * count + kept;
        load.results = {builder.add_value(built_.kernel.buffers[buffer].dtype, dims)};
        fold.operands.push_back(load.results[0]);
        fold.results.push_back(builder.add_value(built_.kernel.buffers[buffer].dtype, kept_dims));
        inner.push_back(std::move(load));
      }
      if (parts.nodes.size() == 1)
        builder.set_reduced(parts.nodes[0], fold.results);
      else
        for (std::size_t i = 0; i < parts.nodes.size(); ++i)
          builder.set_reduced(parts.nodes[i], {fold.results[i]});
      inner.push_back(std::move(fold));
    }
    body.push_back(loop(kPartLoop, std::move(inner)));
  }

  bool split(std::vector<Stmt> &body) {
    Kernel &k = built_.kernel;
    BodyBuilder builder = begin();
    k.dims.push_back({"split", mapping_.parts});
    k.dims.push_back({"part", mapping_.parts});
    k.dims.push_back({"tile", mapping_.tiles});
    k.layouts.push_back(mapping_.finish);
    builder.outer = &body;
    reduce_level(builder, 1, body);
    std::vector<Parts> parts = store_parts(builder, body);
    builder.leave_layout();
    builder.layout = 1;
    std::vector<Stmt> finish;
    builder.outer = builder.inner = &finish;
    combine_parts(builder, parts, finish);
    for (NodeId id : late_stores_) builder.store(id);
    Stmt last;
    last.kind = StmtKind::LastBlock;
    last.buffer =
        add_workspace("counter", DType::U32, {mapping_.tiles}, KernelArgument::Kind::Counter);
    last.index = Index::dim(mapping_.tile);
    last.count = mapping_.parts;
    last.body = {in_layout(1, std::move(finish))};
    body.push_back(std::move(last));
    guards_ = builder.guard_conditions();
    return builder.ok();
  }
};

}  // namespace

std::optional<BuiltKernel> build_kernel(const GraphData &graph, const PlannedKernel &planned,
                                        const KernelMemory &memory, const Target &target,
                                        const LowerOptions &options,
                                        const std::vector<bool> &approximable,
                                        std::string *reason) {
  return Assembler(graph, planned, memory, target, options, approximable).run(reason);
}

}  // namespace fuse
