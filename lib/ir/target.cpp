// The named machines.
//
// Published figures come from the vendor's data sheets and architecture papers, named beside each
// row. Bandwidths and latencies of the H200 were measured by this project; a machine that nobody
// measured gets kPublishedCopyShare of its published bandwidth and the H200's latencies.
#include <fuse/target.h>

#include "ir/format.h"

FUSE_BEGIN_NAMESPACE

namespace {

// The H200 copies 4.27 of its published 4.8 TB/s, 0.89; other machines are taken to reach as much.
constexpr double kPublishedCopyShare = 0.89;

/// Figures that are alike from Ampere to Blackwell (CUDA programming guide, "Technical
/// specifications per compute capability" and "Arithmetic instructions").
Target common(const char *name, int sm, int ptx) {
  Target t;
  t.name = name;
  t.sm = sm;
  t.ptx = ptx;
  // Parameters of 32,764 bytes need PTX 8.1 and compute capability 7.0.
  t.parameter_bytes = 32764;
  // Measured on the H200: an empty kernel costs 1.1 us when replayed from a graph and 4.4 us of the
  // host when launched; kernels in a busy stream start about 1.5 us apart.
  t.launch_seconds = 1.5e-6;
  // Fitted to 26 measured softmax lines of the H200 (median error 8 %): three phases of a row
  // kernel spend 1.4 us off the memory pipe; a cluster adds 1.0 us to its two reductions. The
  // number of threads had no influence that the fit could see.
  t.block_latency_seconds = 0.5e-6;
  t.barrier_seconds = 0;
  t.cluster_seconds = 0.55e-6;
  return t;
}

/// A100 SXM 80 GB (NVIDIA A100 architecture paper, data sheet: 2,039 GB/s, 9.7 and 19.5 TFLOP/s).
Target a100() {
  Target t = common("a100", 80, 81);
  t.num_sms = 108;
  t.clock_hz = 1.41e9;
  t.hbm_bytes = kPublishedCopyShare * 2.039e12;
  t.l2_bytes = 5120 * 1.41e9;  // 5,120 bytes a clock
  t.l2_capacity = 40 << 20;
  t.fma_per_clock = 64;
  t.f64_per_clock = 32;
  t.shared_per_sm = 164 << 10;
  t.shared_per_block = 163 << 10;
  return t;
}

/// H100 SXM (NVIDIA H100 architecture paper, data sheet: 3.35 TB/s, 34 and 67 TFLOP/s).
Target h100() {
  Target t = common("h100", 90, 81);
  t.num_sms = 132;
  t.clock_hz = 1.9e9;  // as measured on the H200, the same die
  t.hbm_bytes = kPublishedCopyShare * 3.35e12;
  t.l2_bytes = 5.5e12;  // two halves of 48 slices, 32 bytes a clock each, one crossing in two
  t.l2_capacity = 50 << 20;
  t.shared_per_sm = 228 << 10;
  t.shared_per_block = 227 << 10;
  t.max_cluster = 16;
  return t;
}

/// H200 SXM (data sheet: 4.8 TB/s). Measured: copy of 4.27 TB/s, read and written; 45 us for one
/// multi-function operation on each of 180 M elements, which is 16 an SM and clock at 1.9 GHz.
Target h200() {
  Target t = h100();
  t.name = "h200";
  t.hbm_bytes = 4.27e12;
  t.measured = true;
  return t;
}

/// B200 (NVIDIA Blackwell data sheet: 8 TB/s, 37 and 75 TFLOP/s).
Target b200() {
  Target t = common("b200", 100, 86);
  t.num_sms = 148;
  t.clock_hz = 1.9e9;
  t.hbm_bytes = kPublishedCopyShare * 8e12;
  t.l2_bytes = 10e12;
  t.l2_capacity = 126 << 20;
  t.shared_per_sm = 228 << 10;
  t.shared_per_block = 227 << 10;
  t.max_cluster = 16;
  return t;
}

/// B100: the die of the B200 at 60 TFLOP/s of f32 (NVIDIA Blackwell data sheet).
Target b100() {
  Target t = b200();
  t.name = "b100";
  t.clock_hz = 1.58e9;
  t.l2_bytes = 8.3e12;
  return t;
}

/// GeForce RTX 4090 (NVIDIA Ada architecture paper: 128 SMs, 2.52 GHz, 1,008 GB/s).
Target rtx4090() {
  Target t = common("rtx4090", 89, 81);
  t.num_sms = 128;
  t.clock_hz = 2.52e9;
  t.hbm_bytes = kPublishedCopyShare * 1.008e12;
  t.l2_bytes = 5e12;
  t.l2_capacity = 72 << 20;
  t.f64_per_clock = 2;
  t.max_threads_per_sm = 1536;
  t.max_blocks_per_sm = 24;
  t.shared_per_sm = 100 << 10;
  t.shared_per_block = 99 << 10;
  return t;
}

/// GeForce RTX 5090 (NVIDIA RTX Blackwell architecture paper: 170 SMs, 2.407 GHz, 1,792 GB/s).
Target rtx5090() {
  Target t = common("rtx5090", 120, 87);
  t.num_sms = 170;
  t.clock_hz = 2.407e9;
  t.hbm_bytes = kPublishedCopyShare * 1.792e12;
  t.l2_bytes = 7e12;
  t.l2_capacity = 96 << 20;
  t.f64_per_clock = 2;
  t.int_per_clock = 128;
  t.max_threads_per_sm = 1536;
  t.max_blocks_per_sm = 24;
  t.shared_per_sm = 100 << 10;
  t.shared_per_block = 99 << 10;
  return t;
}

/// Runs the H200's mapping on the CPU; its predictions are those of the H200.
Target host() {
  Target t = h200();
  t.name = "host";
  t.measured = false;
  return t;
}

constexpr std::pair<std::string_view, Target (*)()> kTargets[] = {
    {"a100", a100}, {"h100", h100},       {"h200", h200},       {"b100", b100},
    {"b200", b200}, {"rtx4090", rtx4090}, {"rtx5090", rtx5090}, {"host", host}};

}  // namespace

// A cluster lies within one GPC, and what its size leaves of a GPC stays idle. Counted on the H200:
// 132 SMs carry clusters of 1 or 2, 120 clusters of 4 or 8, 112 clusters of 16.
int Target::usable_sms(int cluster) const {
  if (cluster <= 2) return num_sms;
  return num_sms * (cluster <= 8 ? 120 : 112) / 132;
}

Target Target::named(std::string_view name) {
  for (const auto &[known, make] : kTargets)
    if (known == name) return make();
  std::string known;
  for (const auto &[n, make] : kTargets) known += (known.empty() ? "" : ", ") + std::string(n);
  fail(ErrorCode::InvalidArgument, "target '{}' is not known; known are {}", name, known);
}

std::vector<std::string> Target::names() {
  std::vector<std::string> names;
  for (const auto &[name, make] : kTargets) names.emplace_back(name);
  return names;
}

FUSE_END_NAMESPACE
