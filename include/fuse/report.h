// What was decided and what it costs: plain data, for people and for tests.
#pragma once

#include <fuse/config.h>

#include <cstdint>
#include <string>

FUSE_BEGIN_NAMESPACE

/// One decision with its price; shown by explain().
struct Decision {
  std::string about;        ///< "boundary k0/k1", "store %12"
  std::string chosen;       ///< "one kernel", "stored", "recomputed"
  std::string why;          ///< in words, with the best rejected option
  double gain_seconds = 0;  ///< by how much it won; 0 where nothing else was legal
};

/// One kernel of a compiled graph.
struct KernelReport {
  std::string name;
  double predicted_us = 0;
  std::string bound;       ///< the pipe that binds: "hbm", "mufu", "fma", ...
  std::int64_t bytes = 0;  ///< of the buffers it reads and writes, each counted once
  std::uint64_t grid = 0;  ///< blocks
  int threads = 0;         ///< per block
  int registers = -1;      ///< per thread; -1: not loaded on a device
  int spills = -1;         ///< bytes of local memory per thread; -1: not loaded on a device
  int blocks_per_sm = -1;  ///< resident; -1: not loaded on a device
  std::string text;        ///< the kernel in its text format
  std::string llvm;        ///< after optimisation
  std::string ptx;
};

/// One compilation and what made it necessary.
struct Compilation {
  std::string reason;  ///< "first compilation", "x is strided", ...
  int kernels = 0;
  double milliseconds = 0;
};

FUSE_END_NAMESPACE
