// Totals and starts lie side by side in workspace: [part, kept dims].
#include "passes/schedule/split_scan.h"

#include "passes/schedule/loops.h"

#include <algorithm>
#include <set>

namespace fuse {

namespace {

constexpr LayoutId kFinish = 1;

void collect_buffers(const std::vector<Stmt> &body, std::set<BufferId> &used) {
  for (const Stmt &s : body) {
    if (s.buffer != kNone) used.insert(s.buffer);
    collect_buffers(s.body, used);
  }
}

void rename_buffers(std::vector<Stmt> &body, const std::vector<BufferId> &name) {
  for (Stmt &s : body) {
    if (s.buffer != kNone) s.buffer = name[s.buffer];
    rename_buffers(s.body, name);
  }
}

/// Inputs, outputs, workspace is the order of parameters.
int rank_of(BufferRole role) {
  return role == BufferRole::Output ? 1 : role == BufferRole::Workspace ? 2 : 0;
}

void drop_unused_buffers(BuiltKernel &built) {
  Kernel &k = built.kernel;
  std::set<BufferId> used;
  collect_buffers(k.body, used);
  for (const Layout &layout : k.layouts)
    for (const Axis &axis : layout.axes)
      if (axis.align.buffer != kNone) used.insert(axis.align.buffer);
  std::vector<BufferId> order(used.begin(), used.end()), name(k.buffers.size(), kNone);
  std::stable_sort(order.begin(), order.end(), [&](BufferId a, BufferId b) {
    return rank_of(k.buffers[a].role) < rank_of(k.buffers[b].role);
  });
  std::vector<Buffer> buffers;
  std::vector<KernelArgument> arguments;
  for (BufferId b : order) {
    name[b] = static_cast<BufferId>(buffers.size());
    buffers.push_back(std::move(k.buffers[b]));
    arguments.push_back(std::move(built.arguments[b]));
  }
  k.buffers = std::move(buffers);
  built.arguments = std::move(arguments);
  rename_buffers(k.body, name);
  for (Layout &layout : k.layouts)
    for (Axis &axis : layout.axes)
      if (axis.align.buffer != kNone) axis.align.buffer = name[axis.align.buffer];
}

}  // namespace

Domain with_parts(Domain domain, const Mapping &mapping) {
  domain.dims.push_back({"split", mapping.parts});
  domain.dims.push_back({"part", mapping.parts});
  domain.dims.push_back({"tile", mapping.tiles});
  domain.roles.resize(domain.dims.size(), DimRole::Kept);
  return domain;
}

/// Other names than those of arguments.
std::string ScanStarts::name_of(const char *what, std::size_t scan, std::size_t component) const {
  return prefix_ + what + std::to_string(scan) + "_" + std::to_string(component);
}

void ScanStarts::choose_prefix(const Kernel &kernel) {
  auto is_taken = [&](const Buffer &b) { return b.name.starts_with(prefix_); };
  prefix_ = "scan_";
  while (std::any_of(kernel.buffers.begin(), kernel.buffers.end(), is_taken)) prefix_ += "_";
}

Index ScanStarts::num_slots() const {
  Index count = 1;
  for (DimId d = 0; d < mapping_.split; ++d)
    if (domain_.roles[d] == DimRole::Kept) count = count * domain_.dims[d].extent;
  return count;
}

Index ScanStarts::slot_of(const Index &part) const {
  std::vector<Index> position = {part}, extents = {mapping_.parts};
  for (DimId d = 0; d < mapping_.split; ++d) {
    if (domain_.roles[d] != DimRole::Kept) continue;
    position.push_back(Index::dim(d));
    extents.push_back(domain_.dims[d].extent);
  }
  return linearize(position, extents);
}

BufferId ScanStarts::add_buffer(BuiltKernel &built, const std::string &name, DType dtype,
                                BufferRole role) const {
  bool is_shared = role == BufferRole::Input;
  Index bytes = mapping_.parts * num_slots() * static_cast<std::int64_t>(size_of(dtype));
  built.kernel.buffers.push_back(
      {name, dtype, {mapping_.parts, num_slots()}, role, 16, !is_shared});
  auto kind = is_shared ? KernelArgument::Kind::Shared : KernelArgument::Kind::Part;
  built.arguments.push_back({kind, kNoNode, 0, bytes});
  return static_cast<BufferId>(built.kernel.buffers.size() - 1);
}

ValueId ScanStarts::load(BodyBuilder &builder, BufferId buffer, DType dtype, const Index &part,
                         std::vector<Stmt> &body) const {
  Stmt s;
  s.kind = StmtKind::Load;
  s.buffer = buffer;
  s.index = slot_of(part);
  s.results = {builder.add_value(dtype, s.index.dims())};
  body.push_back(s);
  return s.results[0];
}

Stmt ScanStarts::store(BufferId buffer, ValueId value, const Index &part) const {
  Stmt s;
  s.kind = StmtKind::Store;
  s.buffer = buffer;
  s.index = slot_of(part);
  s.operands = {value};
  return s;
}

Stmt ScanStarts::last_block(BuiltKernel &built, std::vector<Stmt> body) const {
  built.kernel.buffers.push_back(
      {prefix_ + "counter", DType::U32, {mapping_.tiles}, BufferRole::Workspace, 16, true});
  built.arguments.push_back({KernelArgument::Kind::Counter, kNoNode, 0,
                             mapping_.tiles * static_cast<std::int64_t>(sizeof(std::uint32_t))});
  Stmt last;
  last.kind = StmtKind::LastBlock;
  last.buffer = static_cast<BufferId>(built.kernel.buffers.size() - 1);
  last.index = Index::dim(mapping_.tile);
  last.count = mapping_.parts;
  last.body = {in_layout(kFinish, std::move(body))};
  return last;
}

void ScanStarts::store(BuiltKernel &built, BodyBuilder &builder,
                       const std::vector<std::vector<ValueId>> &totals, std::vector<Stmt> &body) {
  const Kernel &k = built.kernel;
  choose_prefix(k);
  std::vector<std::vector<BufferId>> parts, starts;
  for (std::size_t n = 0; n < totals.size(); ++n) {
    states_.emplace_back();
    parts.emplace_back();
    starts.emplace_back();
    for (std::size_t i = 0; i < totals[n].size(); ++i) {
      DType dtype = k.values[totals[n][i]].dtype;
      states_[n].push_back(dtype);
      parts[n].push_back(add_buffer(built, name_of("total", n, i), dtype, BufferRole::Workspace));
      starts[n].push_back(add_buffer(built, name_of("start", n, i), dtype, BufferRole::Workspace));
      body.push_back(store(parts[n][i], totals[n][i], Index::dim(mapping_.split)));
    }
  }
  builder.leave_layout();
  builder.layout = kFinish;
  Stmt loop = for_loop(kPartLoop, {});
  loop.reverse = g_.attr<ScanAttr>(scans_[0]).reverse;
  Index part = Index::dim(mapping_.part);
  for (std::size_t n = 0; n < totals.size(); ++n) {
    Stmt scan;
    scan.kind = StmtKind::Scan;
    scan.monoid = monoid_of_scan(g_.node(scans_[n]).op);
    scan.exclusive = true;
    scan.reverse = loop.reverse;
    scan.axes = {mapping_.part};
    for (std::size_t i = 0; i < states_[n].size(); ++i)
      scan.operands.push_back(load(builder, parts[n][i], states_[n][i], part, loop.body));
    for (DType dtype : states_[n])
      scan.results.push_back(builder.add_value(dtype, k.values[scan.operands[0]].dims));
    std::vector<ValueId> results = scan.results;
    loop.body.push_back(std::move(scan));
    for (std::size_t i = 0; i < results.size(); ++i)
      loop.body.push_back(store(starts[n][i], results[i], part));
  }
  body.push_back(last_block(built, {std::move(loop)}));
}

std::vector<ValueId> ScanStarts::load(BuiltKernel &built, BodyBuilder &builder, std::size_t n,
                                      std::vector<Stmt> &body) const {
  std::vector<ValueId> state;
  for (std::size_t i = 0; i < states_[n].size(); ++i) {
    BufferId start = add_buffer(built, name_of("start", n, i), states_[n][i], BufferRole::Input);
    state.push_back(load(builder, start, states_[n][i], Index::dim(mapping_.split), body));
  }
  return state;
}

void join_kernels(BuiltKernel &first, BuiltKernel second) {
  drop_unused_buffers(first);
  drop_unused_buffers(second);
  const std::vector<Buffer> &left = first.kernel.buffers;
  for (std::size_t i = 0; i < second.arguments.size(); ++i) {
    if (second.arguments[i].kind != KernelArgument::Kind::Shared) continue;
    auto named = [&](const Buffer &b) { return b.name == second.kernel.buffers[i].name; };
    second.arguments[i].output =
        static_cast<std::size_t>(std::find_if(left.begin(), left.end(), named) - left.begin());
  }
  first.next.push_back(std::move(second));
}

}  // namespace fuse
