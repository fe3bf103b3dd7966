// Run by hand: the worst error of every inexact function, in units in the last place of its type,
// against libquadmath. Options: f32 or f64, --on=gpu, --count=N a range, then names of operations.
#include "run/quad_functions.h"

#include "ir/float_bits.h"
#include "ir/op.h"

#include <fuse/buffer.h>
#include <fuse/compile.h>
#include <fuse/graph.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace fuse;

struct Settings {
  DType type = DType::F64;
  Executor executor = Executor::Host;
  std::int64_t count = 20000;
  std::vector<std::string> names;
};

Settings parse_arguments(int argc, char **argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    if (a == "f32" || a == "f64")
      s.type = a == "f32" ? DType::F32 : DType::F64;
    else if (a == "--on=gpu")
      s.executor = Executor::Gpu;
    else if (a.rfind("--count=", 0) == 0)
      s.count = std::atoll(a.c_str() + 8);
    else
      s.names.push_back(a);
  }
  return s;
}

struct Range {
  double low, high;
};

/// Where functions change their method, or their results pass through zero or out of range.
const Range kRanges[] = {
    {-1e-9, 1e-9}, {-1e-3, 1e-3},  {-0.3, 0.3},   {-1, 1},           {-2.5, 2.5},
    {0.5, 1.5},    {1, 2},         {1.5, 3.5},    {-8, 8},           {8, 30},
    {-30, 0},      {-110, 110},    {-760, 760},   {0.999, 1},        {1, 1.001},
    {-1, -0.999},  {1.57, 1.5716}, {3.14, 3.143}, {-200000, 200000}, {-1e10, 1e10}};

/// After the ranges: any bits, neighbours of multiples of pi/2, neighbours of integers.
enum : std::size_t { kAnyBits = std::size(kRanges), kNearAngles, kNearIntegers, kSamples };

double draw(DType type, std::size_t kind, std::mt19937_64 &random) {
  if (kind < kAnyBits)
    return std::uniform_real_distribution<double>(kRanges[kind].low, kRanges[kind].high)(random);
  if (kind == kAnyBits) return decode_float(type, type == DType::F32 ? random() >> 32 : random());
  if (kind == kNearAngles) return M_PI_2 * double(random() >> (random() % 63 + 1));
  double offset = std::ldexp(1.0, -int(random() % 60)) * (random() % 2 ? 1 : -1);
  return double(random() % 60) - 50 + offset;
}

std::vector<double> sample(DType type, std::size_t kind, std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed * 100 + kind);
  std::vector<double> x(static_cast<std::size_t>(count));
  for (double &v : x) v = decode_float(type, encode_float(type, draw(type, kind, random)));
  return x;
}

std::vector<char> pack(DType type, const std::vector<double> &x) {
  std::vector<char> bytes(x.size() * size_of(type));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint64_t bits = encode_float(type, x[i]);
    std::memcpy(bytes.data() + i * size_of(type), &bits, size_of(type));
  }
  return bytes;
}

std::vector<double> unpack(DType type, const std::vector<char> &bytes) {
  std::vector<double> x(bytes.size() / size_of(type));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size_of(type), size_of(type));
    x[i] = decode_float(type, bits);
  }
  return x;
}

Executable compile_op(Op op, const Settings &s) {
  std::string type(to_string(s.type)), name(info(op).text);
  bool binary = info(op).kind == OpKind::Binary;
  std::string text = "graph @f(%x: " + type + "[N]" + (binary ? ", %y: " + type + "[N]" : "") +
                     ") {\n  %r = " + name + " %x" + (binary ? ", %y" : "") + "\n  return %r\n}\n";
  CompileOptions options;
  options.executor = s.executor;
  return compile(parse(text), options);
}

class Runner {
 public:
  Runner(Op op, const Settings &s)
      : s_(s), binary_(info(op).kind == OpKind::Binary), executable_(compile_op(op, s)) {}

  std::vector<double> operator()(const std::vector<double> &x, const std::vector<double> &y) {
    std::vector<std::vector<char>> operands = {pack(s_.type, x)};
    if (binary_) operands.push_back(pack(s_.type, y));
    operands.emplace_back(operands[0].size());
    std::vector<DeviceBuffer> buffers;
    std::vector<Arg> arguments;
    for (const std::vector<char> &bytes : operands) {
      buffers.push_back(s_.executor == Executor::Gpu ? DeviceBuffer::device(bytes.size())
                                                     : DeviceBuffer::host(bytes.size()));
      buffers.back().copy_from_host(bytes.data(), bytes.size());
      arguments.push_back(tensor(buffers.back().data(), {std::int64_t(x.size())}));
    }
    executable_.launch(nullptr, arguments.data(), arguments.size());
    buffers.back().copy_to_host(operands.back().data(), operands.back().size());
    return unpack(s_.type, operands.back());
  }

 private:
  const Settings &s_;
  bool binary_;
  Executable executable_;
};

struct Worst {
  double ulps = 0, x = 0, y = 0, actual = 0;
};

Worst sweep(Op op, const Settings &s, Runner &run, std::size_t range) {
  std::vector<double> x = sample(s.type, range, s.count, 1);
  std::vector<double> y = sample(s.type, range, s.count, 2);
  std::vector<double> actual = run(x, y);
  Worst worst;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double ulps = error_in_ulps(op, s.type, x[i], quad_function(op, x[i], y[i]), actual[i]);
    if (ulps > worst.ulps) worst = {ulps, x[i], y[i], actual[i]};
  }
  return worst;
}

void report(Op op, const Settings &s) {
  Runner run(op, s);
  Worst worst;
  for (std::size_t range = 0; range < kSamples; ++range) {
    Worst of_range = sweep(op, s, run, range);
    if (of_range.ulps > worst.ulps) worst = of_range;
  }
  std::printf("%-8s bound %d worst %6.3f at %.17g, %.17g: %.17g%s\n", info(op).text.data(),
              info(op).max_ulp, worst.ulps, worst.x, worst.y, worst.actual,
              worst.ulps > info(op).max_ulp ? "  BEYOND" : "");
  std::fflush(stdout);
}

bool is_wanted(Op op, const Settings &s) {
  if (info(op).is(Exact) || !accepts(info(op).types, s.type)) return false;
  if (info(op).kind != OpKind::Unary && info(op).kind != OpKind::Binary) return false;
  return s.names.empty() ||
         std::find(s.names.begin(), s.names.end(), info(op).text) != s.names.end();
}

}  // namespace

int main(int argc, char **argv) {
  Settings settings = parse_arguments(argc, argv);
  for (int i = 0; i < kNumOps; ++i)
    if (is_wanted(static_cast<Op>(i), settings)) report(static_cast<Op>(i), settings);
}
