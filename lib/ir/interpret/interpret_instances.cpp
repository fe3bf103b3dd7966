// A launch with instances: that of the body once for each, with the buffers and sizes of its own.
#include "ir/format.h"
#include "ir/instances.h"
#include "ir/interpret/interpreter.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace fuse {

namespace {

void check_buffers(const Kernel &kernel, const InterpreterLaunch &launch) {
  std::size_t wanted = launch_buffers(kernel).size();
  if (launch.buffers.size() != wanted)
    fail(ErrorCode::InvalidArgument, "kernel {} takes {} buffers, {} are given", kernel.name,
         wanted, launch.buffers.size());
}

InterpreterLaunch launch_of(const Kernel &kernel, const InterpreterLaunch &launch, int instance) {
  InterpreterLaunch own{{}, sizes_of(kernel, instance, launch.symbols), launch.seed};
  std::vector<LaunchBuffer> buffers = launch_buffers(kernel);
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (!kernel.buffers[buffers[i].buffer].each || buffers[i].instance == instance)
      own.buffers.push_back(launch.buffers[i]);
  return own;
}

void add(AccessStats &sum, const AccessStats &more) {
  sum.stmt = more.stmt;
  sum.vector_accesses += more.vector_accesses;
  sum.element_accesses += more.element_accesses;
  sum.sectors += more.sectors;
  sum.ideal_sectors += more.ideal_sectors;
  sum.bank_cycles += more.bank_cycles;
  sum.ideal_bank_cycles += more.ideal_bank_cycles;
}

std::vector<AccessStats> run_instance(const Kernel &kernel, const InterpreterLaunch &launch,
                                      int instance) {
  InterpreterLaunch own = launch_of(kernel, launch, instance);
  try {
    return Interpreter(kernel, own).run();
  } catch (const Error &e) {
    fail(e.code(), "instance {}: {}", instance, e.what());
  }
}

std::vector<int> order_of(int instances, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(instances));
  std::iota(order.begin(), order.end(), 0);
  if (seed != 0) std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  return order;
}

}  // namespace

std::vector<AccessStats> interpret(const Kernel &kernel, const InterpreterLaunch &launch) {
  check_buffers(kernel, launch);
  if (kernel.instances == 0) return Interpreter(kernel, launch).run();
  std::vector<AccessStats> sums;
  for (int instance : order_of(kernel.instances, launch.seed)) {
    std::vector<AccessStats> stats = run_instance(kernel, launch, instance);
    sums.resize(stats.size());
    for (std::size_t i = 0; i < stats.size(); ++i) add(sums[i], stats[i]);
  }
  return sums;
}

}  // namespace fuse
