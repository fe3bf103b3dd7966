// The cost model: the time of one kernel from what it does.
//
// A Work counts bytes, instructions and blocks; the planner estimates it from a set of nodes
// (plan_work.cpp). Rates and latencies are the Target's.
//
// Time is that of a closed queue: the resident blocks of an SM share the binding pipe, and each
// block spends `off_pipe` elsewhere (latency, barriers) while only the others keep the pipe busy.
// Likewise a scheduler issues for its resident warps, each of which waits for what it has issued.
#pragma once

#include <fuse/graph.h>
#include <fuse/target.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace fuse {

enum class Pipe : std::uint8_t { Hbm, Fma, F64, Int, Mufu, Issue, Latency };
inline constexpr std::size_t kNumPipes = 7;

/// "hbm", "fma", ...
std::string_view to_string(Pipe pipe);

/// Instructions per evaluated element, and statements that the compiler sees.
struct OpCost {
  double fma = 0, f64 = 0, integer = 0, mufu = 0;
  double statements = 1;

  OpCost &operator+=(const OpCost &o) {
    fma += o.fma;
    f64 += o.f64;
    integer += o.integer;
    mufu += o.mufu;
    statements += o.statements;
    return *this;
  }
  OpCost operator*(double factor) const {
    return {fma * factor, f64 * factor, integer * factor, mufu * factor, statements * factor};
  }
};

/// Cost of an elementwise, view or reduction op for operands of the dtype; `approximate`: in the
/// form that it takes where its readers leave room (tolerance.h).
OpCost op_cost(Op op, DType type, bool approximate = false);

/// A bit of its own for each function whose code is long, 0 for other operations; as op_cost().
std::uint32_t long_function(Op op, DType type, bool approximate = false);

/// Registers that such functions take in a thread, whose compiler has several elements in work.
int function_registers(std::uint32_t functions);

/// What a kernel does. Totals are for the whole grid.
struct Work {
  double hbm_bytes = 0;   // read and written in device memory, each once
  double l2_bytes = 0;    // served by the L2 cache
  double kept_bytes = 0;  // of these, values that kernels leave there for others
  OpCost ops;             // instructions
  double accesses = 0;    // load and store instructions per thread, summed over threads

  double blocks = 1;
  int threads = 256;
  int cluster = 1;
  double registers = 32;  // per thread
  int phases = 1;         // loads, and each reduction that the next depends on
  int launches = 1;
  bool finish = false;      // the last block folds partial results
  double finish_bytes = 0;  // that it reads, if they are many
};

struct Cost {
  double seconds = 0;
  std::array<double, kNumPipes> pipe_seconds{};  // each pipe alone, the whole machine busy
  Pipe bound = Pipe::Latency;
  double bytes = 0;        // of device memory
  double moved_bytes = 0;  // and what the L2 cache keeps of other kernels
  double efficiency = 1;   // of the binding pipe, on the SMs in use
};

/// Throughput of a queue that n customers circulate in: one served at a time for `service`, each
/// away for `away` between services; as a share of the server's rate. Mean value analysis.
double closed_queue_efficiency(int customers, double service, double away);

/// Blocks of the Work that one SM holds at a time.
int resident_blocks(const Work &work, const Target &target);

Cost predict(const Work &work, const Target &target);

}  // namespace fuse
