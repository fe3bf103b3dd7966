// Parts lie side by side in workspace: [part, kept dims, and the row dims of a column's result].
#include "passes/schedule/split_parts.h"

#include "passes/schedule/loops.h"

#include <algorithm>

namespace fuse {

namespace {

constexpr LayoutId kFinish = 1, kGroupFinish = 2;

}  // namespace

PartCombiner::PartCombiner(const Domain &domain, const Mapping &mapping, BuiltKernel &built,
                           BodyBuilder &builder, std::vector<SplitFold> folds)
    : domain_(domain),
      mapping_(mapping),
      built_(built),
      builder_(builder),
      folds_(std::move(folds)) {
  Kernel &k = built_.kernel;
  bool two_steps = mapping_.group != kNone;
  k.dims.push_back({"split", mapping_.parts});
  k.dims.push_back({"part", two_steps ? mapping_.groups : mapping_.parts});
  k.dims.push_back({"tile", mapping_.tiles});
  k.layouts.push_back(mapping_.finish);
  if (!two_steps) return;
  k.dims.push_back({"group", mapping_.groups});
  k.dims.push_back({"member", mapping_.members});
  k.layouts.push_back(mapping_.group_finish);
}

void PartCombiner::combine(std::vector<Stmt> &body, const std::function<void()> &store_results) {
  store_parts(Index::dim(mapping_.split), mapping_.parts, body);
  if (mapping_.group != kNone) combine_groups(body);
  std::vector<Stmt> finish;
  enter(kFinish, finish);
  read_parts(Index::dim(mapping_.part), mapping_.part, kPartLoop, finish);
  store_results();
  body.push_back(last_block(Index::dim(mapping_.tile), mapping_.tiles, mapping_.parts, kFinish,
                            std::move(finish)));
}

/// The last block of each group combines the group's parts to one.
void PartCombiner::combine_groups(std::vector<Stmt> &body) {
  std::vector<Stmt> finish;
  enter(kGroupFinish, finish);
  Index group = Index::dim(mapping_.group);
  read_parts(group * mapping_.members + Index::dim(mapping_.member), mapping_.member, kMemberLoop,
             finish);
  store_parts(group, mapping_.groups, finish);
  body.push_back(last_block(Index::dim(mapping_.tile) * mapping_.groups + group,
                            mapping_.tiles * mapping_.groups, mapping_.members, kGroupFinish,
                            std::move(finish)));
}

void PartCombiner::enter(LayoutId layout, std::vector<Stmt> &body) {
  builder_.leave_layout();
  builder_.layout = layout;
  builder_.outer = builder_.inner = &body;
}

Stmt PartCombiner::last_block(const Index &counter, const Index &counters, const Index &blocks,
                              LayoutId layout, std::vector<Stmt> body) {
  Stmt last;
  last.kind = StmtKind::LastBlock;
  std::string name = "counter" + std::to_string(built_.kernel.buffers.size());
  last.buffer = add_workspace(name, DType::U32, {counters}, KernelArgument::Kind::Counter);
  last.index = counter;
  last.count = blocks;
  last.body = {in_layout(layout, std::move(body))};
  return last;
}

PartCombiner::Slot PartCombiner::slot_of(const std::vector<DimId> &dims) const {
  Slot slot;
  slot.count = 1;
  std::vector<Index> position, extents;
  for (DimId d = 0; d < domain_.dims.size(); ++d) {
    // Each tile has parts of its own, even of a state that is the same in all.
    bool varies = std::binary_search(dims.begin(), dims.end(), d);
    if (domain_.roles[d] != DimRole::Kept && !varies) continue;
    slot.dims.push_back(d);
    position.push_back(Index::dim(d));
    extents.push_back(domain_.dims[d].extent);
    slot.count = slot.count * extents.back();
  }
  slot.offset = linearize(position, extents);
  return slot;
}

BufferId PartCombiner::add_workspace(const std::string &name, DType dtype, std::vector<Index> shape,
                                     KernelArgument::Kind kind) {
  Index bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const Index &e : shape) bytes = bytes * e;
  built_.kernel.buffers.push_back({name, dtype, std::move(shape), BufferRole::Workspace, 16, true});
  built_.arguments.push_back({kind, kNoNode, 0, bytes});
  return static_cast<BufferId>(built_.kernel.buffers.size() - 1);
}

void PartCombiner::store_parts(const Index &number, const Index &parts, std::vector<Stmt> &body) {
  for (SplitFold &fold : folds_) {
    fold.buffers.clear();
    for (NodeId node : fold.nodes) {
      for (ValueId v : builder_.reduced(node)) {
        Slot slot = slot_of(built_.kernel.values[v].dims);
        std::string name = "part" + std::to_string(built_.kernel.buffers.size());
        fold.buffers.push_back(add_workspace(name, built_.kernel.values[v].dtype,
                                             {parts, slot.count}, KernelArgument::Kind::Part));
        Stmt s;
        s.kind = StmtKind::Store;
        s.buffer = fold.buffers.back();
        s.index = number * slot.count + slot.offset;
        s.operands = {v};
        body.push_back(std::move(s));
      }
    }
  }
}

/// Reads the parts back and folds them; the finished states replace the block's own.
void PartCombiner::read_parts(const Index &number, DimId part, const char *name,
                              std::vector<Stmt> &body) {
  Stmt loop = for_loop(name, {});
  for (const SplitFold &fold : folds_) read_fold(fold, number, part, loop.body);
  body.push_back(std::move(loop));
}

void PartCombiner::read_fold(const SplitFold &fold, const Index &number, DimId part,
                             std::vector<Stmt> &body) {
  Stmt reduce;
  reduce.kind = StmtKind::Reduce;
  reduce.monoid = fold.monoid;
  reduce.axes = {part};
  std::vector<ValueId> states;
  for (NodeId node : fold.nodes)
    for (ValueId v : builder_.reduced(node)) states.push_back(v);
  for (std::size_t i = 0; i < states.size(); ++i) {
    DType dtype = built_.kernel.values[states[i]].dtype;
    Slot slot = slot_of(built_.kernel.values[states[i]].dims);
    Stmt load;
    load.kind = StmtKind::Load;
    load.buffer = fold.buffers[i];
    load.index = number * slot.count + slot.offset;
    std::vector<DimId> dims = load.index.dims();
    load.results = {builder_.add_value(dtype, dims)};
    std::erase(dims, part);
    reduce.operands.push_back(load.results[0]);
    reduce.results.push_back(builder_.add_value(dtype, std::move(dims)));
    body.push_back(std::move(load));
  }
  for (std::size_t i = 0; i < fold.nodes.size(); ++i)
    builder_.set_reduced(fold.nodes[i], fold.nodes.size() == 1
                                            ? reduce.results
                                            : std::vector<ValueId>{reduce.results[i]});
  body.push_back(std::move(reduce));
}

}  // namespace fuse
