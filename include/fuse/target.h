// What the compiler knows of a machine: plain data, so that every decision can be reproduced
// anywhere.
#pragma once

#include <fuse/config.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

FUSE_BEGIN_NAMESPACE

/// Rates are per second for the whole device unless said otherwise; each named target's figures
/// carry their source in lib/ir/target.cpp. `measured` is true where bandwidths were measured by
/// this project, false where they are published figures or come from the driver's attributes.
struct FUSE_API Target {
  std::string name;  ///< "h200"
  int sm = 90;       ///< compute capability, major * 10 + minor
  int ptx = 0;       ///< PTX ISA version * 10; 0: the least that the sm needs
  bool measured = false;

  int num_sms = 132;
  double clock_hz = 0;           ///< sustained SM clock
  double hbm_bytes = 0;          ///< copy bandwidth of device memory, read + written
  double l2_bytes = 0;           ///< bandwidth of the L2 cache
  std::int64_t l2_capacity = 0;  ///< bytes
  double launch_seconds = 0;     ///< a kernel in a stream after another

  // Per SM and clock.
  double fma_per_clock = 128;  ///< f32 results
  double f64_per_clock = 64;
  double int_per_clock = 64;
  double mufu_per_clock = 16;  ///< exp2, log2, rcp, rsqrt, tanh, sin, cos
  double lsu_per_clock = 32;   ///< 4-byte shared-memory or L1 words
  double issue_per_clock = 4;  ///< warp instructions

  // Limits.
  int max_threads_per_sm = 2048;
  int max_blocks_per_sm = 32;
  int max_threads_per_block = 1024;
  int registers_per_sm = 65536;
  int max_registers = 255;              ///< per thread
  std::int64_t shared_per_sm = 0;       ///< bytes
  std::int64_t shared_per_block = 0;    ///< bytes, opted in
  int max_cluster = 1;                  ///< blocks; 1: no clusters
  std::int64_t parameter_bytes = 4096;  ///< of a launch; 32,764 from PTX 8.1 and sm_70 on

  // Closed-queue model of a kernel (lib/passes/cost): time of a block off its binding pipe.
  double block_latency_seconds = 0;  ///< per phase
  double barrier_seconds = 0;        ///< per barrier and 1,000 threads
  double cluster_seconds = 0;        ///< per cluster-wide phase

  /// SMs that blocks of a cluster of this size can use.
  int usable_sms(int cluster) const;

  /// "a100", "h100", "h200", "b100", "b200", "rtx4090", "rtx5090" or "host" (runs on the CPU with
  /// the mapping of h200). Throws InvalidArgument naming the known ones.
  static Target named(std::string_view name);
  static std::vector<std::string> names();
};

FUSE_END_NAMESPACE
