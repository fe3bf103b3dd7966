// One walk over the steps finds the edges; arranging is Kahn's algorithm, least number first.
#include "passes/schedule/step_order.h"

#include "ir/format.h"
#include "ir/instances.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

namespace fuse {

namespace {

using Place = std::pair<Binding::Kind, std::size_t>;

std::vector<bool> written_by(const Program &program, const Step &step) {
  std::vector<bool> written;
  if (step.is_extern) {
    for (std::size_t i = 0; i < step.bindings.size(); ++i)
      written.push_back(i >= step.num_operands);
    return written;
  }
  const Kernel &kernel = program.kernels[step.kernel];
  for (const LaunchBuffer &at : launch_buffers(kernel)) {
    BufferRole role = kernel.buffers[at.buffer].role;
    written.push_back(role == BufferRole::Output || role == BufferRole::Workspace);
  }
  return written;
}

}  // namespace

StepOrder::StepOrder(const Program &program,
                     std::span<const std::pair<std::size_t, std::size_t>> in_place)
    : levels_(program.steps.size()), users_(program.steps.size()) {
  std::map<std::size_t, std::size_t> input_of;  // by output
  for (const auto &[input, output] : in_place) input_of[output] = input;
  std::map<Place, Memory> memory;
  auto at = [&](const Binding &b) -> Memory & {
    auto shared = b.kind == Binding::Kind::Output ? input_of.find(b.index) : input_of.end();
    if (shared != input_of.end()) return memory[{Binding::Kind::Input, shared->second}];
    return memory[{b.kind, b.index}];
  };
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const std::vector<Binding> &bindings = program.steps[s].bindings;
    std::vector<bool> written = written_by(program, program.steps[s]);
    for (std::size_t i = 0; i < bindings.size(); ++i)
      if (!written[i]) read(s, at(bindings[i]));
    for (std::size_t i = 0; i < bindings.size(); ++i)
      if (written[i]) write(s, at(bindings[i]));
  }
  for (std::size_t s = 0; s < levels_.size(); ++s)
    if (users_[s].empty()) levels_[s] = levels_.size();
}

void StepOrder::add_edge(std::size_t from, std::size_t to) {
  if (from == SIZE_MAX || from == to) return;
  users_[from].push_back(to);
  levels_[to] = std::max(levels_[to], levels_[from] + 1);
}

void StepOrder::read(std::size_t step, Memory &memory) {
  add_edge(memory.writer, step);
  memory.readers.push_back(step);
}

void StepOrder::write(std::size_t step, Memory &memory) {
  add_edge(memory.writer, step);
  for (std::size_t reader : memory.readers) add_edge(reader, step);
  memory.readers.clear();
  memory.writer = step;
}

std::vector<std::size_t> StepOrder::arrange(const std::vector<std::size_t> &group) const {
  std::size_t count = group.size();
  std::vector<std::vector<std::size_t>> members(count);
  for (std::size_t s = 0; s < count; ++s) members[group[s]].push_back(s);
  std::vector<std::size_t> waits(count, 0);  // by group: edges from others
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t user : users_[s]) ++waits[group[user]];
  // By the last member; groups and steps run as early as that.
  using Entry = std::pair<std::size_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto offer = [&](std::size_t g) {
    if (waits[g] == 0 && !members[g].empty()) ready.emplace(members[g].back(), g);
  };
  for (std::size_t g = 0; g < count; ++g) offer(g);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    std::size_t g = ready.top().second;
    ready.pop();
    order.push_back(g);
    for (std::size_t s : members[g])
      for (std::size_t user : users_[s])
        if (--waits[group[user]] == 0) offer(group[user]);
  }
  FUSE_CHECK(std::all_of(waits.begin(), waits.end(), [](std::size_t w) { return w == 0; }),
             "steps that wait for one another are in one group");
  return order;
}

}  // namespace fuse
