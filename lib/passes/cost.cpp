// Time of a kernel from its Work: the slowest pipe at the efficiency of a closed queue.
#include "passes/cost.h"

#include <algorithm>
#include <cmath>

namespace fuse {

namespace {

// Registers are granted to a warp in units of 256, that is, 8 a thread (occupancy calculator).
constexpr int kRegisterUnit = 8;

// Folding the partial results of a split reduction: arrival, fence, one dependent read and write.
constexpr double kFinishSeconds = 1.0e-6;

// What one block reads of the L2 cache (two 32-byte sectors a clock and SM, less latency).
constexpr double kBlockBytesPerSecond = 60e9;

std::array<double, kNumPipes> pipe_seconds(const Work &w, const Target &t) {
  double clocks = t.num_sms * t.clock_hz;
  double warp = 32;
  double instructions = w.ops.fma + w.ops.f64 + w.ops.integer + w.ops.mufu + w.accesses;
  std::array<double, kNumPipes> s{};
  auto set = [&](Pipe pipe, double seconds) { s[static_cast<std::size_t>(pipe)] = seconds; };
  set(Pipe::Hbm, w.hbm_bytes / t.hbm_bytes + (w.l2_bytes > 0 ? w.l2_bytes / t.l2_bytes : 0));
  set(Pipe::Fma, w.ops.fma / (clocks * t.fma_per_clock));
  set(Pipe::F64, w.ops.f64 / (clocks * t.f64_per_clock));
  set(Pipe::Int, w.ops.integer / (clocks * t.int_per_clock));
  set(Pipe::Mufu, w.ops.mufu / (clocks * t.mufu_per_clock));
  set(Pipe::Issue, instructions / (clocks * t.issue_per_clock * warp));
  return s;
}

// Instructions that a warp could have issued while it waits for one: a scheduler with w warps
// issues w / (w + kInstructionWait) of the time. Kernels bound by issue on an H200, with 2 to 16
// warps: 0.47, 0.63 (4), 0.78 (8), 0.81 (12), 0.83 (bench/results). The multi-function unit, which
// takes an instruction of a warp every eight clocks, is full with two warps.
constexpr double kInstructionWait = 2.3;

double issue_share(const Work &w, int resident, const Target &t) {
  double warps = resident * std::ceil(w.threads / 32.0) / t.issue_per_clock;
  return warps / (warps + kInstructionWait);
}

/// Time that a block spends off the binding pipe.
double off_pipe_seconds(const Work &w, const Target &t) {
  double barriers = w.phases - 1;
  double seconds = w.phases * t.block_latency_seconds;
  seconds += barriers * t.barrier_seconds * w.threads / 1000;
  if (w.cluster > 1) seconds += barriers * t.cluster_seconds;
  return seconds;
}

}  // namespace

std::string_view to_string(Pipe pipe) {
  switch (pipe) {
    case Pipe::Hbm: return "hbm";
    case Pipe::Fma: return "fma";
    case Pipe::F64: return "f64";
    case Pipe::Int: return "int";
    case Pipe::Mufu: return "mufu";
    case Pipe::Issue: return "issue";
    case Pipe::Latency: return "latency";
  }
  return "";
}

double closed_queue_efficiency(int customers, double service, double away) {
  if (service <= 0) return 1;
  double queue = 0, throughput = 0;
  for (int n = 1; n <= customers; ++n) {
    double response = service * (1 + queue);
    throughput = n / (response + away);
    queue = throughput * response;
  }
  return throughput * service;
}

int resident_blocks(const Work &w, const Target &t) {
  int unit = (static_cast<int>(w.registers) + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  int by_registers = t.registers_per_sm / (unit * w.threads);
  int by_threads = t.max_threads_per_sm / w.threads;
  return std::max(1, std::min({by_registers, by_threads, t.max_blocks_per_sm}));
}

Cost predict(const Work &w, const Target &t) {
  Cost cost;
  cost.pipe_seconds = pipe_seconds(w, t);
  cost.bytes = w.hbm_bytes;
  cost.moved_bytes = w.hbm_bytes + w.kept_bytes;
  double blocks = std::max(1.0, w.blocks);
  double sms = std::min<double>(t.usable_sms(w.cluster), blocks);
  double per_sm = std::ceil(blocks / sms);
  int resident = static_cast<int>(std::min<double>(resident_blocks(w, t), per_sm));
  std::array<double, kNumPipes> seconds = cost.pipe_seconds;
  seconds[static_cast<std::size_t>(Pipe::Issue)] /= issue_share(w, resident, t);
  auto slowest = std::max_element(seconds.begin(), seconds.end());
  cost.bound = static_cast<Pipe>(slowest - seconds.begin());

  double on_pipe = *slowest * t.num_sms / sms;
  double service = *slowest * t.num_sms / blocks;
  double away = off_pipe_seconds(w, t);
  cost.efficiency = closed_queue_efficiency(resident, service, away);

  double busy = service > 0 ? on_pipe / cost.efficiency : away;
  double waiting = w.launches * t.launch_seconds +
                   (w.finish ? kFinishSeconds + w.finish_bytes / kBlockBytesPerSecond : 0);
  if (busy - on_pipe + waiting > on_pipe) cost.bound = Pipe::Latency;
  cost.seconds = busy + waiting;
  return cost;
}

}  // namespace fuse
