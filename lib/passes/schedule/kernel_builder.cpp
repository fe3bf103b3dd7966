// Draft, join dims, draft again, choose a mapping, assemble.
//
// The draft is the flat body: it shows the offsets, from which joined dims, contiguity and the
// mapping follow. Flat and resident kernels are the draft itself, laid out; streaming and split
// kernels build their loops anew.
#include "passes/schedule/kernel_builder.h"

#include "ir/format.h"
#include "ir/op.h"
#include "passes/row_symbols.h"
#include "passes/schedule/empty_axes.h"
#include "passes/schedule/kernel_reductions.h"
#include "passes/schedule/liveness.h"
#include "passes/schedule/loops.h"
#include "passes/schedule/mapping.h"
#include "passes/schedule/split_parts.h"
#include "passes/schedule/split_scan.h"
#include "passes/schedule/tiles.h"
#include "passes/size_class.h"

#include <algorithm>
#include <utility>

namespace fuse {

namespace {

class Assembler {
 public:
  Assembler(const GraphData &graph, const PlannedKernel &planned, const KernelMemory &memory,
            const Target &target, const LowerOptions &options, const Leeway &leeway,
            int common_threads)
      : g_(graph),
        planned_(planned),
        memory_(memory),
        target_(target),
        options_(options),
        leeway_(leeway),
        common_threads_(common_threads),
        sizes_(graph.symbols, options),
        usual_sizes_(options.sizes) {
    if (!options.batch_invariant) return;
    row_symbols_ = row_symbols(graph);
    usual_sizes_ = expected_sizes(graph.symbols, sizes_without_rows(graph, options.sizes));
  }

  BuiltKernel run() {
    domain_ = planned_.domain;
    add_tensors();
    reductions_ = analyze_reductions(g_, planned_);
    match_online();
    reductions_.use.exchanges =
        reductions_.use.levels - (online_.empty() ? 0 : 1) + reductions_.use.scans;
    std::vector<Stmt> body;
    draft(body);
    domain_ = merge_dims(domain_, body);
    draft(body);
    if (!domain_.scans.empty()) reductions_.use.scanned = domain_.scans.begin()->second.dims;
    std::vector<Access> accesses = collect_accesses(built_.kernel, body);
    for (const Access &a : accesses)
      if (a.dims.size() == domain_.dims.size()) alignments_.streamed.insert(a.stmt->buffer);
    std::int64_t statements = 0;
    std::vector<const Stmt *> words;
    for (const Stmt &s : body) {
      statements += statements_of(s);
      if (s.kind == StmtKind::Random) words.push_back(&s);
    }
    mapping_ = choose_mapping({built_.kernel, domain_, accesses, words, reductions_.use, target_,
                               options_, sizes_, alignments_, usual_sizes_, row_symbols_,
                               statements, most_live(built_.kernel, body),
                               registers_of_functions(built_.kernel, domain_, body),
                               common_threads_, tuning_of(options_.tunings, planned_.name)});
    if (mapping_.form == Form::SplitScan)
      assemble_split_scan();
    else
      assemble(body);
    return std::move(built_);
  }

 private:
  const GraphData &g_;
  const PlannedKernel &planned_;
  const KernelMemory &memory_;
  const Target &target_;
  const LowerOptions &options_;
  const Leeway &leeway_;
  int common_threads_;
  SizeAssumptions sizes_;
  Bindings usual_sizes_;
  std::set<std::string> row_symbols_;
  BufferAlignments alignments_;
  Domain domain_;
  KernelTensors tensors_;
  KernelReductions reductions_;
  std::map<NodeId, OnlineFold> online_;  // sums with their maximum: of resident kernels
  bool has_strides_ = false;
  Mapping mapping_;
  BuiltKernel built_;
  GuardConditions guards_;

  TensorRef add_buffer(NodeId node, const MemoryLayout &layout, BufferRole role) {
    Kernel &k = built_.kernel;
    has_strides_ |= layout.strided;
    auto id = static_cast<BufferId>(k.buffers.size());
    std::vector<Index> shape = layout.is_scalar ? std::vector<Index>{} : extents_of(layout.shape);
    k.buffers.push_back({layout.name, g_.dtype(node), shape,
                         layout.is_scalar ? BufferRole::Scalar : role, layout.alignment, false,
                         layout.strided});
    if (layout.shifted) alignments_.shifted.insert(id);
    return {id, layout.shape, layout.strided, layout.name, layout.has_rows};
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

  /// One exchange between threads finds the maximum and the sum. A term relative to its thread's
  /// maximum is rounded once more: quotients must have room for that.
  void match_online() {
    for (const auto &[node, level] : reductions_.level) {
      std::optional<OnlineSum> match;
      if (level == 2) match = match_online_sum(g_, node);
      if (!match || match->weight != kNoNode || is_stored(match->exponential)) continue;
      auto maximum = reductions_.level.find(match->maximum);
      if (maximum == reductions_.level.end() || maximum->second != 1) continue;
      TermReaders readers = readers_of_terms(g_, node, *match, planned_.nodes);
      bool has_room = leeway_.approximable[match->exponential] ||
                      std::all_of(readers.quotients.begin(), readers.quotients.end(),
                                  [&](NodeId id) { return leeway_.rounded[id]; });
      if (!readers.others && has_room)
        online_[node] = {*match, !readers.quotients.empty(), readers.read_sum || is_stored(node)};
    }
  }

  bool is_stored(NodeId id) const {
    return std::find(planned_.stores.begin(), planned_.stores.end(), id) != planned_.stores.end();
  }

  bool is_online(NodeId node) const {
    return std::any_of(online_.begin(), online_.end(), [&](const auto &entry) {
      return entry.first == node || entry.second.sum.maximum == node;
    });
  }

  BodyBuilder begin() {
    built_.kernel.dims = domain_.dims;
    built_.kernel.values.clear();
    return BodyBuilder(g_, planned_, domain_, built_.kernel, tensors_, leeway_);
  }

  void draft(std::vector<Stmt> &body) {
    body.clear();
    BodyBuilder builder = begin();
    builder.outer = builder.inner = &body;
    reduce_levels(builder, [this](NodeId node) { return !is_online(node); }, true);
    for (NodeId id : planned_.stores) builder.store(id);
    finish(builder);
    reductions_.use.held_bytes = most_held_bytes(built_.kernel, domain_, body);
    reductions_.use.arriving_bytes = arriving_bytes(built_.kernel, domain_, body);
  }

  /// Reductions one after another, those that may go together together.
  template <class Predicate>
  void reduce_levels(BodyBuilder &builder, Predicate wanted, bool online) {
    int levels = online && !online_.empty() ? 1 : 0;
    for (const auto &[node, level] : reductions_.level)
      if (wanted(node)) levels = std::max(levels, level);
    for (int level = 1; level <= levels; ++level) {
      std::vector<NodeId> nodes;
      for (const auto &[node, l] : reductions_.level)
        if (l == level && wanted(node)) nodes.push_back(node);
      builder.reduce(nodes);
      if (online && level == 1)
        for (const auto &[sum, fold] : online_) builder.reduce_online(sum, fold);
      builder.cross_barrier();
    }
  }

  void finish(const BodyBuilder &builder) {
    FUSE_CHECK(builder.ok(), "kernel {} needs a reduction at two positions", planned_.name);
    guards_ = builder.guard_conditions();
  }

  void assemble(std::vector<Stmt> &draft_body) {
    built_.kernel.layouts = {mapping_.layout};
    built_.kernel.body = laid_out(std::move(draft_body));
    complete(planned_.name);
  }

  /// What follows from layouts and body.
  void complete(std::string name) {
    Kernel &k = built_.kernel;
    k.name = std::move(name);
    k.threads = mapping_.threads;
    k.cluster = mapping_.cluster;
    k.resident = mapping_.resident;
    built_.limits = mapping_.limits;
    k.index_bits = offsets_are_narrow() ? 32 : 64;
    set_vector_widths(k, k.body, k.layouts[0], guards_, sizes_, alignments_);
    record_assumptions();
  }

  std::vector<Stmt> laid_out(std::vector<Stmt> flat) {
    std::vector<Stmt> body;
    switch (mapping_.form) {
      case Form::Flat:
      case Form::Resident:
        if (has_loop(mapping_.layout))
          body.push_back(for_loop(kRowLoop, std::move(flat)));
        else
          body = std::move(flat);
        break;
      case Form::Streaming: stream(body); break;
      case Form::Split: split(body); break;
      case Form::SplitScan: break;
      case Form::Tiled:
        built_.kernel.layouts.push_back(mapping_.across);
        return stage_tiles(built_.kernel, mapping_, guards_, std::move(flat));
    }
    return {in_layout(0, std::move(body))};
  }

  /// What the layout takes for granted of the sizes.
  void record_assumptions() {
    built_.kernel.divisors = sizes_.divisors();
    built_.kernel.minima = sizes_.minima();
    for (Limit &limit : sizes_.limits()) built_.limits.push_back(std::move(limit));
    for (Limit &limit : limits_of_empty_axes(built_.kernel, g_.symbols))
      built_.limits.push_back(std::move(limit));
    built_.ranges = sizes_.ranges();
  }

  /// Strides may be large, and sizes and positions that are not known as well, unless the launch
  /// makes sure that they are not.
  bool offsets_are_narrow() {
    const Kernel &k = built_.kernel;
    bool narrow = !has_strides_;
    std::vector<Limit> limits;
    auto require = [&](const Index &value, std::int64_t max) {
      std::optional<std::int64_t> constant = value.constant();
      narrow &= constant ? *constant <= max : options_.narrow_offsets;
      if (!constant) limits.push_back({Limit::Kind::Offsets, value, max, "offsets in 32 bits"});
    };
    for (const Buffer &b : k.buffers) require(product(b.shape), INT32_MAX);
    for (const Layout &layout : k.layouts)
      for (const Axis &axis : layout.axes) require(axis_span(axis), kMaxNarrowPositions);
    if (narrow) built_.limits.insert(built_.limits.end(), limits.begin(), limits.end());
    return narrow;
  }

  /// Iterations that no edge touches make no tests; there are edges where digits span more than
  /// the dims. Loops that hold rows are long enough as they are.
  Stmt row_loop(std::vector<Stmt> body) const {
    Stmt s = for_loop(kRowLoop, std::move(body));
    bool scans_rows = reductions_.use.scans > 0;
    s.reverse = scans_rows && reductions_.use.reverse && !domain_.has_columns();
    s.partition =
        !domain_.has_columns() && !scans_rows && has_edges(built_.kernel, mapping_.layout);
    return s;
  }

  void reduce_pass(BodyBuilder &builder, int pass, std::vector<Stmt> &body) {
    std::vector<Stmt> inner;
    builder.inner = &inner;
    // Rows beside columns are complete within the loop; no barrier follows what accumulates.
    reduce_levels(builder, [&](NodeId node) { return !is_looped(domain_, node); }, false);
    std::vector<NodeId> nodes;
    for (const auto &[node, p] : reductions_.pass)
      if (p == pass && is_looped(domain_, node) && !reductions_.is_folded_online(node))
        nodes.push_back(node);
    builder.reduce(nodes);
    if (pass == 1) {
      for (const auto &[sum, online] : reductions_.online) builder.reduce_online(sum, {online});
      store_all(builder, false);
    }
    if (domain_.has_columns()) issue_loads_first(inner);
    body.push_back(row_loop(std::move(inner)));
    builder.leave_loop();
  }

  /// Before the first barrier, so that a row arrives at once.
  static void issue_loads_first(std::vector<Stmt> &body) {
    std::stable_partition(body.begin(), body.end(), [](const Stmt &s) {
      return s.kind == StmtKind::Load && used_values(s).empty();
    });
  }

  /// Stores what depends on reductions over looped dims, or all else.
  void store_all(BodyBuilder &builder, bool finished) {
    for (NodeId id : planned_.stores)
      if (reductions_.finished.contains(id) == finished) builder.store(id);
  }

  void stream(std::vector<Stmt> &body) {
    BodyBuilder builder = begin();
    builder.outer = &body;
    for (int pass = 1; pass <= reductions_.use.levels; ++pass) reduce_pass(builder, pass, body);
    std::vector<Stmt> inner;
    builder.inner = &inner;
    store_all(builder, true);
    if (!inner.empty()) body.push_back(row_loop(std::move(inner)));
    finish(builder);
  }

  // --- Scans over several blocks -----------------------------------------------------------------

  /// The first kernel finds where the blocks of the second start.
  void assemble_split_scan() {
    domain_ = with_parts(std::move(domain_), mapping_);
    std::vector<NodeId> scans;
    for (const auto &[node, scan] : domain_.scans) scans.push_back(node);
    ScanStarts starts(g_, domain_, mapping_, scans);
    BuiltKernel second = built_;
    total_scans(scans, starts);
    std::swap(built_, second);
    scan_from(scans, starts);
    std::swap(built_, second);
    join_kernels(built_, std::move(second));
  }

  void total_scans(const std::vector<NodeId> &scans, ScanStarts &starts) {
    BodyBuilder builder = begin();
    std::vector<Stmt> body, inner;
    builder.outer = &body;
    builder.inner = &inner;
    std::vector<std::vector<ValueId>> totals;
    for (NodeId node : scans) totals.push_back(builder.total_of_scan(node));
    body.push_back(for_loop(kRowLoop, std::move(inner)));
    body.back().partition = has_edges(built_.kernel, mapping_.layout);
    built_.kernel.layouts = {mapping_.layout, mapping_.finish};
    starts.store(built_, builder, totals, body);
    finish(builder);
    built_.kernel.body = {in_layout(0, std::move(body))};
    complete(planned_.name + "_totals");
  }

  void scan_from(const std::vector<NodeId> &scans, const ScanStarts &starts) {
    BodyBuilder builder = begin();
    std::vector<Stmt> body, inner;
    builder.outer = &body;
    builder.inner = &inner;
    for (std::size_t n = 0; n < scans.size(); ++n)
      builder.start_scan_from(scans[n], starts.load(built_, builder, n, body));
    store_all(builder, true);
    body.push_back(row_loop(std::move(inner)));
    finish(builder);
    built_.kernel.layouts = {mapping_.layout};
    built_.kernel.body = {in_layout(0, std::move(body))};
    complete(planned_.name);
  }

  // --- Split reductions --------------------------------------------------------------------------

  std::vector<SplitFold> split_folds() const {
    std::vector<SplitFold> all;
    for (const auto &[node, pass] : reductions_.pass)
      if (is_looped(domain_, node) && !reductions_.online.count(node) &&
          !reductions_.is_folded_online(node))
        all.push_back({BodyBuilder::monoid_of(g_.node(node).op), {node}, {}});
    for (const auto &[sum, online] : reductions_.online)
      all.push_back({Monoid::Online, {online.maximum, sum}, {}});
    return all;
  }

  void split(std::vector<Stmt> &body) {
    BodyBuilder builder = begin();
    PartCombiner combiner(domain_, mapping_, built_, builder, split_folds());
    builder.outer = &body;
    reduce_pass(builder, 1, body);
    combiner.combine(body, [&] { store_all(builder, true); });
    finish(builder);
  }
};

}  // namespace

BuiltKernel build_kernel(const GraphData &graph, const PlannedKernel &planned,
                         const KernelMemory &memory, const Target &target,
                         const LowerOptions &options, const Leeway &leeway, int common_threads) {
  return Assembler(graph, planned, memory, target, options, leeway, common_threads).run();
}

}  // namespace fuse
