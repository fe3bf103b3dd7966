// The kernels that --calibrate times, as kernel texts with what each of them does.
//
// A probe of a pipe runs many independent chains of one instruction in each thread, so that its
// throughput shows and not its latency. Rows show what a block waits for (lib/passes/cost).
#pragma once

#include <fuse/shape.h>
#include <fuse/target.h>

#include <string>
#include <vector>

namespace fuse::bench {

struct Probe {
  enum class Kind : unsigned char {
    Pipe,    // amount: instructions of threads
    Memory,  // amount: bytes
    Rows,    // amount: rows that each block takes one after another
  };

  std::string name;  // of the kernel too
  Kind kind = Kind::Pipe;
  std::string text;  // of the kernel
  Bindings sizes;    // of its symbols
  double amount = 0;

  // Pipe: what is counted, in words, and what its PTX shows, so many times.
  std::string what, instruction;
  int count = 0;

  // Rows.
  int threads = 0, cluster = 1;
  double row_bytes = 0;  // read and written by a block for each row
};

/// Probes for a machine with the target's numbers of SMs and sizes of caches; the target's rates
/// decide how long they run. Clusters of blocks only where the target has them.
std::vector<Probe> pipe_probes(const Target &target);
std::vector<Probe> memory_probes(const Target &target);
std::vector<Probe> row_probes(const Target &target);

/// A kernel of one block that does next to nothing.
std::string empty_kernel();

}  // namespace fuse::bench
