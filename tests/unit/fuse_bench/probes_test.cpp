// Probes do what they are counted for: their PTX shows it, and they run.
#include "probes.h"

#include "codegen/codegen.h"
#include "ir/kernel_verify.h"
#include "runtime/kernel_program.h"

#include <gtest/gtest.h>

#include <map>

using namespace fuse;
using namespace fuse::bench;

namespace {

std::vector<Probe> all_probes(const Target &target) {
  std::vector<Probe> probes;
  for (auto *make : {pipe_probes, memory_probes, row_probes})
    for (Probe &p : make(target)) probes.push_back(p);
  return probes;
}

std::string ptx_of(const std::string &text, const Target &target) {
  Kernel kernel = parse_kernel(text);
  verify(kernel);
  return emit_ptx({&kernel}, target);
}

int count(const std::string &text, const std::string &word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Probes, PtxHasEveryInstructionThatIsCounted) {
  Target target = Target::named("h200");
  for (const Probe &p : pipe_probes(target))
    EXPECT_EQ(count(ptx_of(p.text, target), p.instruction), p.count) << p.name;
}

TEST(Probes, AreKernelsOfEveryTarget) {
  for (const std::string &name : Target::names())
    for (const Probe &p : all_probes(Target::named(name)))
      EXPECT_NO_THROW(verify(parse_kernel(p.text))) << p.name << " of " << name;
  Target target = Target::named("a100");
  for (const Probe &p : all_probes(target)) EXPECT_NO_THROW(ptx_of(p.text, target)) << p.name;
  EXPECT_NO_THROW(ptx_of(empty_kernel(), Target::named("a100")));
}

TEST(Probes, ClustersOnlyWhereTheTargetHasThem) {
  EXPECT_EQ(row_probes(Target::named("a100")).size(), 2);
  EXPECT_EQ(row_probes(Target::named("h200")).size(), 6);
}

TEST(Probes, AmountsFollowFromSizesAndLoops) {
  Target target = Target::named("h200");
  std::map<std::string, double> of_a_thread;  // and iteration
  for (const Probe &p : pipe_probes(target)) {
    double iterations = static_cast<double>(p.sizes.at("K"));
    of_a_thread[p.name] = p.amount / (target.num_sms * 64 * 256 * iterations);
  }
  EXPECT_EQ(of_a_thread["fma"], 8 * (32 + 2));
  EXPECT_EQ(of_a_thread["exp2"], 8 * 32);
  EXPECT_EQ(of_a_thread["sigmoid"], 8 * 64);
  EXPECT_EQ(of_a_thread["integer"], 8 * (64 + 1));
  EXPECT_EQ(memory_probes(target)[0].amount, 8.0 * (1 << 29));
}

TEST(Probes, PipesRunOnTheHost) {
  Target target = Target::named("host");
  target.num_sms = 1;
  CompileOptions options;
  options.executor = Executor::Host;
  for (const Probe &p : pipe_probes(target)) {
    Executable exe = compile_kernel(parse_kernel(p.text), options);
    auto n = static_cast<std::size_t>(64 * 256 * 8);
    std::vector<double> x(n), y(n, -1);  // of eight bytes at most
    double s = 0, t = 0;
    Launcher launcher = exe.bind(Dims(Bindings{{"K", 1}}));
    launcher(nullptr, {x.data(), &s, &t, y.data()});
  }
}

}  // namespace
