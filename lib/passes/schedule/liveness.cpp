// One walk over the statements each; a value lives from where it is made to its last use.
#include "passes/schedule/liveness.h"

#include "passes/cost.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace fuse {

namespace {

/// By value, the position of the last statement that uses it; 0 where none does.
std::vector<std::size_t> last_uses(const Kernel &kernel, const std::vector<Stmt> &body) {
  std::vector<std::size_t> last(kernel.values.size(), 0);
  for (std::size_t i = 0; i < body.size(); ++i)
    for (ValueId v : used_values(body[i])) last[v] = i;
  return last;
}

std::set<ValueId> used_once(const Stmt &stmt) {
  std::vector<ValueId> used = used_values(stmt);
  return {used.begin(), used.end()};
}

/// Threads meet, and hold what they need behind it.
bool is_fold(StmtKind kind) { return kind == StmtKind::Reduce || kind == StmtKind::Scan; }

bool is_access(StmtKind kind) { return kind == StmtKind::Load || kind == StmtKind::Store; }

/// Bytes of a value that depends on folded dims; 0 of others.
int element_bytes(const Kernel &kernel, const Domain &domain, ValueId id) {
  const KernelValue &value = kernel.values[id];
  bool is_element = std::any_of(value.dims.begin(), value.dims.end(),
                                [&](DimId d) { return domain.is_folded(d); });
  return is_element ? static_cast<int>(size_of(value.dtype)) : 0;
}

}  // namespace

int most_held_bytes(const Kernel &kernel, const Domain &domain, const std::vector<Stmt> &body) {
  std::vector<std::size_t> last = last_uses(kernel, body);
  auto bytes = [&](ValueId v) { return element_bytes(kernel, domain, v); };
  // What only the folds right behind this one use: threads meet once they all have folded.
  auto folded_next = [&](std::size_t i) {
    std::set<ValueId> folded;
    for (std::size_t n = i + 1;
         n < body.size() && is_fold(body[n - 1].kind) && is_fold(body[n].kind); ++n)
      for (ValueId v : used_once(body[n]))
        if (last[v] == n) folded.insert(v);
    return std::accumulate(folded.begin(), folded.end(), 0,
                           [&](int sum, ValueId v) { return sum + bytes(v); });
  };
  int most = 0, held = 0, in_flight = 0;
  bool has_stored = false, has_reduced = false;
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (ValueId v : used_once(body[i]))
      if (last[v] == i) held -= bytes(v);
    StmtKind kind = body[i].kind;
    has_stored = has_stored || kind == StmtKind::Store;
    has_reduced = has_reduced || is_fold(kind);
    if (kind == StmtKind::Load && !has_reduced) in_flight += bytes(body[i].results[0]);
    if (is_fold(kind)) most = std::max({most, held - folded_next(i), in_flight});
    for (ValueId v : body[i].results)
      if (last[v] > i) held += bytes(v);
    // A load that all elements share is issued once: held elements need not stay live for it.
    bool is_shared_load = kind == StmtKind::Load && bytes(body[i].results[0]) == 0;
    bool parts_run = is_fold(kind) || (has_stored && is_access(kind) && !is_shared_load);
    if (parts_run) most = std::max(most, held - folded_next(i));
  }
  return most;
}

int arriving_bytes(const Kernel &kernel, const Domain &domain, const std::vector<Stmt> &body) {
  auto is_reduce = [](const Stmt &s) { return is_fold(s.kind); };
  auto behind = std::find_if(body.rbegin(), body.rend(), is_reduce).base();
  std::set<ValueId> used, arriving;
  for (auto s = behind; s != body.end(); ++s) used.merge(used_once(*s));
  for (auto s = body.begin(); s != behind; ++s)
    for (ValueId v : s->results)
      if (used.contains(v)) arriving.insert(v);
  auto runs_along_all = [&](ValueId v) {
    return kernel.values[v].dims.size() == domain.dims.size();
  };
  for (auto s = behind; s != body.end() && s->kind != StmtKind::Store; ++s)
    if (s->kind == StmtKind::Load && runs_along_all(s->results[0])) arriving.insert(s->results[0]);
  int bytes = 0;
  for (ValueId v : arriving) bytes += element_bytes(kernel, domain, v);
  return bytes;
}

int registers_of_functions(const Kernel &kernel, const Domain &domain,
                           const std::vector<Stmt> &body) {
  std::uint32_t functions = 0;
  for (const Stmt &s : body) {
    if (s.kind != StmtKind::Compute) continue;
    const KernelValue &value = kernel.values[s.results[0]];
    if (value.dims.size() == domain.dims.size())
      functions |= long_function(s.op, value.dtype, s.approximate);
  }
  return function_registers(functions);
}

std::int64_t most_live(const Kernel &kernel, const std::vector<Stmt> &body) {
  std::vector<std::size_t> last = last_uses(kernel, body);
  auto registers = [&](ValueId v) -> std::int64_t {
    const KernelValue &value = kernel.values[v];
    return value.dims.empty() || is_bool(value.dtype) ? 0 : size_of(value.dtype) > 4 ? 2 : 1;
  };
  std::int64_t live = 0, most = 1;
  for (std::size_t i = 0; i < body.size(); ++i) {
    for (ValueId v : used_once(body[i]))
      if (last[v] == i) live -= registers(v);
    for (ValueId v : body[i].results)
      if (last[v] > i) live += registers(v);
    most = std::max(most, live);
  }
  return most;
}

}  // namespace fuse
