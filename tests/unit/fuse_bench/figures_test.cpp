// Figures that made up times give back, and the text that carries them.
#include "figures.h"

#include "ir/target_text.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace fuse;
using namespace fuse::bench;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

constexpr double kClock = 1.5e9;

/// What probes would take on a machine that has the target's rates at another clock.
Calibration ideal(const Target &t) {
  Calibration c;
  auto add = [&](const Probe &p, double seconds) { c.samples.push_back({p, seconds, kClock}); };
  for (const Probe &p : memory_probes(t)) add(p, p.amount / (p.name == "l2" ? 5e12 : 4e12));
  for (const Probe &p : pipe_probes(t)) {
    double rate = p.name == "f64" ? 64 : p.name == "exp2" ? 16 : 128;
    add(p, p.amount / (rate * t.num_sms * kClock));
  }
  for (const Probe &p : row_probes(t)) {
    double off = 3 * 0.4e-6 + 2 * (0.1e-6 * p.threads / 1000 + (p.cluster > 1 ? 0.5e-6 : 0));
    add(p, p.amount * (off + p.row_bytes * t.num_sms / 4e12));
  }
  c.launch = {1.25, 1.0, 2.0};
  c.usable_sms = {{2, 132}, {16, 112}};
  return c;
}

double value(const std::vector<Figure> &figures, const std::string &name) {
  auto it =
      std::find_if(figures.begin(), figures.end(), [&](const Figure &f) { return f.name == name; });
  return it == figures.end() ? -1 : it->measured;
}

TEST(Figures, AreThoseThatTheTimesWereMadeOf) {
  Target target = Target::named("h200");
  std::vector<Figure> figures = figures_of(ideal(target), target);
  const std::pair<const char *, double> expected[] = {
      {"clock_hz", kClock},      {"hbm_bytes", 4e12},         {"l2_bytes", 5e12},
      {"fma_per_clock", 128},    {"f64_per_clock", 64},       {"mufu_per_clock", 16},
      {"issue_per_clock", 4},    {"launch_seconds", 1.25e-6}, {"block_latency_seconds", 0.4e-6},
      {"barrier_seconds", 1e-7}, {"cluster_seconds", 5e-7},   {"read_bytes", 4e12},
      {"usable_sms(16)", 112},   {"row_cluster_8", 2.2256e-6}};
  for (const auto &[name, figure] : expected)
    EXPECT_NEAR(value(figures, name) / figure, 1, 1e-9) << name;
}

TEST(Figures, WithoutAProbeThereIsNone) {
  Target target = Target::named("a100");
  Calibration calibration = ideal(target);
  std::erase_if(calibration.samples, [](const Sample &s) { return s.probe.name == "f64"; });
  std::vector<Figure> figures = figures_of(calibration, target);
  EXPECT_EQ(value(figures, "f64_per_clock"), -1);
  EXPECT_EQ(value(figures, "cluster_seconds"), -1);
  EXPECT_TRUE(figures_of({}, target).empty());
}

TEST(TargetText, ReadsBackWithTheFigures) {
  Target target = Target::named("h200");
  std::string text = target_text(figures_of(ideal(target), target), target, "// head\n");
  EXPECT_THAT(text, HasSubstr("// head\nname = h200\n"));
  EXPECT_THAT(text, HasSubstr("// built in 1.9e+09, -21.1 %; median"));
  EXPECT_THAT(text, HasSubstr("// read_bytes = 4e+12"));
  Target read = parse_target(text, "text");
  EXPECT_EQ(read.clock_hz, kClock);
  EXPECT_EQ(read.fma_per_clock, 128);
  EXPECT_EQ(read.shared_per_sm, target.shared_per_sm);
  EXPECT_TRUE(read.measured);
}

TEST(TargetText, WithoutFiguresIsTheTarget) {
  Target target = Target::named("rtx4090");
  Target read = parse_target(target_text({}, target, ""), "text");
  target.measured = true;
  EXPECT_EQ(to_string(read), to_string(target));
}

}  // namespace
