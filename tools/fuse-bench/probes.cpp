// Texts of the probes. Extents are numbers but for those of loops, whose bodies the assembler would
// otherwise unroll.
#include "probes.h"

#include "text.h"

#include <algorithm>
#include <cmath>

namespace fuse::bench {

namespace {

// Blocks come in turns: an SM that is given fewer at first gets more of the rest.
constexpr int kThreads = 256, kResident = 4, kBlocksPerSm = 64;
constexpr int kChains = 8, kSteps = 32;             // of each thread and iteration
constexpr double kPipeSeconds = 2e-3;               // of a probe, if the target's rates are right
constexpr std::int64_t kFloats = INT64_C(1) << 29;  // of a memory probe

/// A chain of one pipe's instructions. In `step` {0} is the value before, {1} the one behind; %s
/// and %t are scalars, %x is what the chain begins with.
struct Chain {
  const char *name;
  const char *type;
  const char *step;
  const char *instruction;  // in PTX
  double per_step;          // how many of them
  double ends;              // instructions of the pipe at the two ends of a chain
  double rate;              // per SM and clock, as far as known
  const char *what;         // is counted
};

std::vector<Chain> chains(const Target &t) {
  return {
      {"fma", "f32", "{1} = fma {0}, %s, %t", "fma.rn.f32", 1, 2, t.fma_per_clock, "fma of f32"},
      {"f64", "f64", "{1} = fma {0}, %s, %t", "fma.rn.f64", 1, 2, t.f64_per_clock, "fma of f64"},
      {"integer", "i32", "{1}m = max {0}, %s\n{1} = xor {1}m, %t", "max.s32", 2, 1, t.int_per_clock,
       "max and xor of i32"},
      {"multiply", "i32", "{1}m = mul {0}, %s\n{1} = add {1}m, %t", "mad.lo.s32", 1, 0,
       t.int_per_clock, "multiply and add of i32"},
      {"exp2", "f32", "{1} = exp2 {0} approx", "ex2.approx.f32", 1, 0, t.mufu_per_clock, "exp2"},
      {"tanh", "f32", "{1} = tanh {0} approx", "tanh.approx.f32", 1, 0, t.mufu_per_clock, "tanh"},
      {"sigmoid", "f32", "{1} = sigmoid {0} approx", "rcp.approx.ftz.f32", 2, 0, t.mufu_per_clock,
       "exp2 and reciprocals in turn"},
      {"floor", "f32", "{1}f = floor {0}\n{1} = add {1}f, %t", "cvt.rmi.f32.f32", 1, 0,
       t.mufu_per_clock, "floor of f32"},
      {"to_int", "f32", "{1}i = cast {0} : i32\n{1} = bitcast {1}i : f32", "cvt.rzi.s32.f32", 1, 0,
       t.mufu_per_clock, "casts of f32 to i32, with their tests"},
      {"from_int", "i32", "{1}f = cast {0} : f32\n{1} = bitcast {1}f : i32", "cvt.rn.f32.s32", 1, 0,
       t.int_per_clock, "casts of i32 to f32"},
      {"bf16", "f32",
       "{1}h = cast {0} : bf16\n{1}k = keep reg {1}h\n{1}w = cast {1}k : f32\n"
       "{1} = fma {1}w, %s, %t",
       "cvt.rn.bf16x2.f32", 1, 0, t.int_per_clock, "casts of f32 to bf16, in pairs, and back"},
      {"shared", "f32", "{1} = add {0}, %k", "ld.volatile.shared", 1, 0, t.lsu_per_clock,
       "words read of shared memory"},
      {"issue", "f32",
       "{1}p = fma {0}, %s, %t\n{1}q = fma {1}p, %s, %t\n{1}r = fma {1}q, %s, %t\n"
       "{1} = max {1}r, %s",
       "max.NaN.f32", 4, 2, 32 * t.issue_per_clock, "three fma to a max"},
  };
}

std::string with_names(std::string_view step, const std::string &before, const std::string &after) {
  std::string text;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '{') {
      text += step[i] == '\n' ? std::string("\n      ") : std::string(1, step[i]);
      continue;
    }
    text += step[i + 1] == '0' ? before : after;
    i += 2;
  }
  return text;
}

std::string chain_text(const Chain &c, std::int64_t blocks) {
  std::string type = c.type, text;
  std::int64_t n = blocks * kThreads * kChains;
  append(text,
         "kernel @{0}(%x: {1}[{2}] align 16, %s0: {1}[] scalar, %t0: {1}[] scalar) -> "
         "(%y: {1}[{2}] align 16) threads {3} cluster 1 resident {4} index 32 {{\n"
         "  dims i: {2}, k: K\n"
         "  layout L: i = grid {5} . reg {6} . thread {3}; k = loop:k K\n"
         "  in L {{\n"
         "    %s = load %s0[0]\n    %t = load %t0[0]\n    %a = load %x[i]\n",
         c.name, type, n, kThreads, kResident, blocks, kChains);
  if (std::string(c.name) == "shared") text += "    %k = keep shared %a\n";
  append(text, "    for k {{\n      %n = index k : i32\n");
  if (type != "i32") append(text, "      %f = cast %n : {}\n", type);
  // Not a sum of integers: what is linear in the iteration is not computed anew in each.
  text += type == "i32" ? "      %c0 = xor %a, %n\n" : "      %c0 = add %a, %f\n";
  for (int i = 0; i < kSteps; ++i)
    append(text, "      {}\n", with_names(c.step, formatted("%c{}", i), formatted("%c{}", i + 1)));
  append(text, "      %r = reduce sum(%c{}) over k\n    }}\n    store %y[i], %r\n  }}\n}}\n",
         kSteps);
  return text;
}

Probe probe_of(std::string name, Probe::Kind kind, std::string text) {
  Probe probe;
  probe.name = std::move(name);
  probe.kind = kind;
  probe.text = std::move(text);
  return probe;
}

Probe chain_probe(const Chain &c, const Target &target) {
  std::int64_t blocks = target.num_sms * kBlocksPerSm;
  double per_thread = kChains * (kSteps * c.per_step + c.ends);
  double per_iteration = per_thread * kThreads * static_cast<double>(blocks);
  double wanted = kPipeSeconds * target.clock_hz * target.num_sms * c.rate;
  std::int64_t iterations = std::max<std::int64_t>(1, std::llround(wanted / per_iteration));
  Probe probe = probe_of(c.name, Probe::Kind::Pipe, chain_text(c, blocks));
  probe.sizes["K"] = iterations;
  probe.what = c.what;
  probe.amount = per_iteration * static_cast<double>(iterations);
  probe.instruction = c.instruction;
  bool is_of_pairs = probe.instruction.find("bf16x2") != std::string::npos;
  probe.count = kChains * kSteps / (is_of_pairs ? 2 : 1);
  return probe;
}

Probe memory_probe(const char *name, std::string text, double bytes) {
  Probe probe = probe_of(name, Probe::Kind::Memory, std::move(text));
  probe.amount = bytes;
  return probe;
}

std::string copy_text() {
  return formatted(
      R"(kernel @copy(%x: f32[{0}] align 16) -> (%y: f32[{0}] align 16) threads 256 cluster 1 index 64 {{
  dims i: {0}
  layout L: i = grid {1} . thread 256 . vec 4
  in L {{
    %a = load.4 %x[i]
    store.4 %y[i], %a
  }}
}}
)",
      kFloats, kFloats / 1024);
}

std::string read_text() {
  return formatted(
      R"(kernel @read(%x: f32[{0}] align 16) -> (%y: f32[{1}]) threads 256 cluster 1 index 64 {{
  dims b: {1}, i: 8192
  layout L: b = grid {1}; i = reg 8 . thread 256 . vec 4
  in L {{
    %a = load.4 %x[b*8192 + i]
    %s = reduce sum(%a) over i
    store %y[b], %s
  }}
}}
)",
      kFloats, kFloats / 8192);
}

std::string write_text() {
  return formatted(
      R"(kernel @write(%s: f32[] scalar) -> (%y: f32[{0}] align 16) threads 256 cluster 1 index 64 {{
  dims i: {0}
  layout L: i = grid {1} . thread 256 . vec 4
  in L {{
    %a = load %s[0]
    store.4 %y[i], %a
  }}
}}
)",
      kFloats, kFloats / 1024);
}

constexpr std::int64_t kChunk = 4096;  // floats that a block of the L2 probe reads at a time

/// Blocks walk around a ring of chunks that the L2 cache holds, each from a place of its own, so
/// that an SM does not find in its L1 cache what it reads.
std::string l2_text(std::int64_t blocks, std::int64_t chunks) {
  std::int64_t stride = chunks * 5 / 13 | 1;
  return formatted(
      R"(kernel @l2(%x: f32[{0}] align 16) -> (%y: f32[{1}]) threads 256 cluster 1 index 64 {{
  dims b: {1}, k: K, j: {2}
  layout L: b = grid {1}; k = loop:k K; j = reg 4 . thread 256 . vec 4
  in L {{
    for k {{
      %a = load.4.no_allocate %x[((b*{3} + k) % {4})*{2} + j]
      %s = reduce sum(%a) over k, j
    }}
    store %y[b], %s
  }}
}}
)",
      chunks * kChunk, blocks, kChunk, stride, chunks);
}

Probe l2_probe(const Target &t) {
  std::int64_t blocks = t.num_sms * 8;
  std::int64_t chunks = std::max<std::int64_t>(64, t.l2_capacity / 4 / (4 * kChunk));
  double per_iteration = 4.0 * kChunk * static_cast<double>(blocks);
  std::int64_t iterations =
      std::max<std::int64_t>(1, std::llround(kPipeSeconds * t.l2_bytes / per_iteration));
  Probe probe =
      memory_probe("l2", l2_text(blocks, chunks), per_iteration * static_cast<double>(iterations));
  probe.sizes["K"] = iterations;
  return probe;
}

/// A softmax of one row after another, a block or a cluster to each.
std::string row_text(const std::string &name, std::int64_t groups, int threads, int cluster) {
  int columns = threads * cluster * 8;
  std::string cta = cluster > 1 ? formatted("cta {} . ", cluster) : "";
  return formatted(
      R"(kernel @{0}(%x: bf16[K*{1}, {2}] align 16) -> (%y: bf16[K*{1}, {2}] align 16) threads {3} cluster {4} index 64 {{
  dims i: K*{1}, r: {2}
  layout L: i = loop:k K . grid {1}; r = {5}thread {3} . vec 8
  in L {{
    for k {{
      %a = load.8 %x[i*{2} + r]
      %b = cast %a : f32
      %m = reduce max(%b) over r
      %d = sub %b, %m
      %e = exp2 %d approx
      %s = reduce sum(%e) over r
      %q = div %e, %s approx
      %h = cast %q : bf16
      store.8 %y[i*{2} + r], %h
    }}
  }}
}}
)",
      name, groups, columns, threads, cluster, cta);
}

Probe row_probe(const std::string &name, int threads, int cluster, const Target &target) {
  constexpr std::int64_t kRows = 128;
  std::int64_t groups = target.usable_sms(cluster) / cluster;
  Probe probe = probe_of(name, Probe::Kind::Rows, row_text(name, groups, threads, cluster));
  probe.sizes["K"] = kRows;
  probe.amount = kRows;
  probe.threads = threads;
  probe.cluster = cluster;
  probe.row_bytes = 2.0 * threads * 8 * 2;
  return probe;
}

}  // namespace

std::vector<Probe> pipe_probes(const Target &target) {
  std::vector<Probe> probes;
  for (const Chain &c : chains(target)) probes.push_back(chain_probe(c, target));
  return probes;
}

std::vector<Probe> memory_probes(const Target &target) {
  double bytes = 4.0 * kFloats;
  return {memory_probe("copy", copy_text(), 2 * bytes),
          memory_probe("read", read_text(), bytes + bytes / 8192),
          memory_probe("write", write_text(), bytes), l2_probe(target)};
}

std::vector<Probe> row_probes(const Target &target) {
  std::vector<Probe> probes = {row_probe("row_128", 128, 1, target),
                               row_probe("row_1024", 1024, 1, target)};
  for (int cluster : {2, 4, 8, 16})
    if (cluster <= target.max_cluster)
      probes.push_back(row_probe(formatted("row_cluster_{}", cluster), 128, cluster, target));
  return probes;
}

std::string empty_kernel() {
  return R"(kernel @empty(%s: f32[] scalar) -> (%y: f32[1]) threads 32 cluster 1 index 32 {
  dims i: 1
  layout L: i = thread 32
  in L {
    %a = load %s[0]
    store %y[i], %a
  }
}
)";
}

}  // namespace fuse::bench
