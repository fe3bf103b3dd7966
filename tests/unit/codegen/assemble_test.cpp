// Assembles PTX with ptxas, where the machine has it, for every generation of devices: the kernels
// written by hand, the programs of the examples and golden tests, every operation on every dtype,
// and random graphs. Spills are printed, and bounded.
#include "codegen/codegen.h"
#include "ir/build.h"
#include "ir/bulk.h"
#include "ir/op.h"
#include "passes/passes.h"
#include "property/random_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fuse {
namespace {

namespace fs = std::filesystem;

constexpr long kMaxSpill = 512;  // bytes a thread: more than a few values is a fault of a mapping

struct CommandResult {
  bool ok = false;
  std::string text;  // both streams
};

CommandResult run_command(const std::string &command) {
  CommandResult result;
  FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) result.text.append(buffer, n);
  int status = ::pclose(pipe);
  result.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

/// The assembler; empty where there is none.
const std::string &ptxas() {
  static const std::string path = [] {
    for (const char *candidate : {"ptxas", "/usr/local/cuda/bin/ptxas"})
      if (run_command(std::string(candidate) + " --version").ok) return std::string(candidate);
    return std::string();
  }();
  return path;
}

bool ptxas_knows(int sm) {
  static const std::string help = run_command(ptxas() + " --help").text;
  return help.find("'sm_" + std::to_string(sm) + "'") != std::string::npos;
}

/// What follows `.target `: the name of the device.
std::string device_of(const std::string &ptx) {
  const std::string word = ".target ";
  std::size_t start = ptx.find(word) + word.size();
  return ptx.substr(start, ptx.find_first_of(", \n", start) - start);
}

class TextFile {
 public:
  explicit TextFile(const std::string &text) {
    path_ = (fs::temp_directory_path() / "fuse_assemble_XXXXXX").string();
    ::close(::mkstemp(path_.data()));
    std::ofstream(path_) << text;
  }
  ~TextFile() { fs::remove(path_); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

/// "12 bytes spill stores": the most of any kernel, and which.
struct Spill {
  long bytes = 0;
  std::string kernel;
};

Spill worst_spill(const std::string &log) {
  Spill worst;
  std::string kernel;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (std::size_t at = line.find("Compiling entry function '"); at != std::string::npos)
      kernel = line.substr(at + 26, line.find('\'', at + 26) - at - 26);
    std::size_t at = line.find(" bytes spill stores");
    if (at == std::string::npos) continue;
    long bytes = std::atol(line.c_str() + line.rfind(' ', at - 1));
    if (bytes > worst.bytes) worst = {bytes, kernel};
  }
  return worst;
}

std::string read(const fs::path &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> files_of(const std::string &folder, const std::string &extension) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::recursive_directory_iterator(fs::path(FUSE_SOURCE_DIR) / folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool is_computed(Op op) {
  OpKind kind = info(op).kind;
  return info(op).is_elementwise() || kind == OpKind::Reduce || kind == OpKind::Scan;
}

std::vector<NodeId> operands_of(GraphData &g, Op op, DType type) {
  std::size_t count = 1;
  if (info(op).kind == OpKind::Binary || info(op).kind == OpKind::Compare) count = 2;
  if (info(op).kind == OpKind::Ternary) count = 3;
  std::vector<NodeId> operands;
  for (std::size_t k = 0; k < count; ++k)
    operands.push_back(build_input(g, "x" + std::to_string(k),
                                   op == Op::Select && k == 0 ? DType::Bool : type, {30, 700},
                                   false));
  return operands;
}

/// The operation alone; a conversion to every dtype, a reduction over each axis.
Graph graph_of(Op op, DType type) {
  Graph graph("op");
  GraphData &g = graph.data();
  std::vector<NodeId> x = operands_of(g, op, type);
  auto output = [&](NodeId y) { add_output(g, "y" + std::to_string(g.outputs.size()), y); };
  if (info(op).kind == OpKind::Reduce) {
    for (int axis : {0, 1}) output(build_reduce(g, op, x[0], {axis}, false));
  } else if (info(op).kind == OpKind::Scan) {
    for (int axis : {0, 1})
      for (bool reverse : {false, true})
        output(build_scan(g, op, x[0], {axis, axis == 0, reverse}));
  } else if (op == Op::Bitcast) {
    output(build_convert(g, op, x[0], type));
  } else if (info(op).kind == OpKind::Convert) {
    for (int to = 0; to < kNumDTypes; ++to)
      output(build_convert(g, op, x[0], static_cast<DType>(to)));
  } else {
    output(build_elementwise(g, op, x));
  }
  return graph;
}

/// Kernels that become one module.
class Module {
 public:
  explicit Module(const char *target) : target_(Target::named(target)) {}

  /// Why nothing can be assembled; empty if it can.
  std::string reason_to_skip() const {
    if (ptxas().empty()) return "no ptxas on this machine";
    return ptxas_knows(target_.sm) ? "" : "ptxas does not know sm_" + std::to_string(target_.sm);
  }

  void add(Kernel kernel, const std::string &prefix) {
    if (kernel.cluster > target_.max_cluster) return;
    if (dynamic_shared_bytes(kernel) > 0 && target_.sm < 90) return;  // bulk copies
    kernel.name = prefix + "_" + std::to_string(kernels_.size());
    std::replace_if(
        kernel.name.begin(), kernel.name.end(), [](char c) { return !std::isalnum(c); }, '_');
    kernels_.push_back(std::move(kernel));
  }

  void add(const Graph &graph, const std::string &prefix, const LowerOptions &options = {}) {
    for (Kernel &kernel : lower(graph, target_, options).kernels) add(std::move(kernel), prefix);
  }

  /// What the assembler says.
  std::string assemble() const {
    std::vector<const Kernel *> pointers;
    for (const Kernel &kernel : kernels_) pointers.push_back(&kernel);
    std::string ptx = emit_ptx(pointers, target_);
    TextFile file(ptx);
    CommandResult result =
        run_command(ptxas() + " -v -arch=" + device_of(ptx) + " -o /dev/null " + file.path());
    EXPECT_TRUE(result.ok) << result.text.substr(0, 4000);
    Spill spill = worst_spill(result.text);
    std::printf("%s: %zu kernels, worst spill %ld bytes%s\n", device_of(ptx).c_str(),
                kernels_.size(), spill.bytes, (spill.bytes ? " in " + spill.kernel : "").c_str());
    EXPECT_LE(spill.bytes, kMaxSpill) << spill.kernel;
    return result.text;
  }

 private:
  Target target_;
  std::vector<Kernel> kernels_;
};

class Assemble : public testing::TestWithParam<const char *> {
 protected:
  void SetUp() override {
    if (std::string why = module_.reason_to_skip(); !why.empty()) GTEST_SKIP() << why;
  }
  Module module_{GetParam()};
};

TEST_P(Assemble, KernelsByHand) {
  for (const fs::path &path : files_of("tests/kernels", ".kernel"))
    module_.add(parse_kernel(read(path), path.string()), path.stem());
  module_.assemble();
}

/// A copy of the table would lie in local memory.
TEST_P(Assemble, TablesOfInstancesStayInParameters) {
  for (const char *name : {"adam_many", "row_sums_many", "scaled_sums_many"})
    module_.add(parse_kernel(read(fs::path(FUSE_SOURCE_DIR) / "tests/kernels" /
                                  (std::string(name) + ".kernel"))),
                name);
  Graph sums("sums");
  for (std::int64_t rows = 1; rows < 600; ++rows) {
    std::string number = std::to_string(rows);
    Value x = sums.input("x" + number, bf16, {rows, 640});
    sums.output("y" + number, cast(sum(cast(x, f32), {1}), bf16));
  }
  module_.add(sums, "sums");
  std::string log = module_.assemble();
  EXPECT_THAT(log, testing::HasSubstr("0 bytes stack frame"));
  EXPECT_THAT(log, testing::Not(testing::ContainsRegex("[1-9][0-9]* bytes stack frame")));
}

TEST_P(Assemble, Programs) {
  for (const char *folder : {"examples", "tests/golden"})
    for (const fs::path &path : files_of(folder, ".fuse"))
      if (path.parent_path().filename() != "errors")
        module_.add(parse(read(path), path.string()), path.stem());
  module_.assemble();
}

TEST_P(Assemble, RandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Entropy entropy(seed);
    module_.add(random_graph(entropy).graph, "random" + std::to_string(seed));
  }
  module_.assemble();
}

class AssembleOperations : public testing::TestWithParam<std::tuple<const char *, DType>> {};

TEST_P(AssembleOperations, EachInAKernel) {
  auto [target, type] = GetParam();
  Module module(target);
  if (std::string why = module.reason_to_skip(); !why.empty()) GTEST_SKIP() << why;
  LowerOptions options;
  options.strict = true;
  for (int i = 0; i < kNumOps; ++i)
    if (auto op = static_cast<Op>(i); is_computed(op) && accepts(info(op).types, type))
      module.add(graph_of(op, type), std::string(info(op).name), options);
  module.assemble();
}

std::vector<DType> all_dtypes() {
  std::vector<DType> all;
  for (int i = 0; i < kNumDTypes; ++i) all.push_back(static_cast<DType>(i));
  return all;
}

const auto kTargets = testing::Values("a100", "h200", "b200", "rtx5090");

INSTANTIATE_TEST_SUITE_P(Targets, Assemble, kTargets,
                         [](const auto &info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(Targets, AssembleOperations,
                         testing::Combine(kTargets, testing::ValuesIn(all_dtypes())),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::string(to_string(std::get<1>(info.param)));
                         });

}  // namespace
}  // namespace fuse
