#include "trainer/adamw.h"

#include <algorithm>
#include <cmath>

using namespace fuse;

namespace {

constexpr double kFirst = 0.9, kSecond = 0.99, kEpsilon = 1e-8, kDecay = 0.01, kRate = 0.015;
constexpr const char *kState[] = {".master", ".first", ".second"};

}  // namespace

Graph adamw_graph(const std::vector<Parameter> &parameters) {
  Graph g("adamw");
  Value rate = g.scalar("rate", f32), first_correction = g.scalar("first_correction", f32),
        second_correction = g.scalar("second_correction", f32);
  for (const Parameter &p : parameters) {
    Value w = g.input(p.name + ".master", f32, p.shape);
    Value first = g.input(p.name + ".first", f32, p.shape);
    Value second = g.input(p.name + ".second", f32, p.shape);
    Value d = cast(g.input("d." + p.name, bf16, p.shape), f32);
    first = kFirst * first + (1 - kFirst) * d;
    second = kSecond * second + (1 - kSecond) * d * d;
    Value step = (first / first_correction) / (sqrt(second / second_correction) + kEpsilon);
    w = w - rate * (step + kDecay * w);
    g.output(p.name, cast(w, bf16));
    g.output(p.name + ".master.next", w);
    g.output(p.name + ".first.next", first);
    g.output(p.name + ".second.next", second);
  }
  return g;
}

std::vector<InPlacePair> state_of(const std::vector<Parameter> &parameters) {
  std::vector<InPlacePair> pairs;
  for (const Parameter &p : parameters)
    for (const char *part : kState) pairs.push_back({p.name + part, p.name + part + ".next"});
  return pairs;
}

AdamWScalars adamw_scalars(int step, int steps) {
  double warm = std::min(1.0, (step + 1) / 20.0);
  double cool = 0.5 + 0.5 * std::cos(std::acos(-1.0) * step / steps);
  auto correction = [&](double beta) { return static_cast<float>(1 - std::pow(beta, step + 1)); };
  return {static_cast<float>(kRate * warm * cool), correction(kFirst), correction(kSecond)};
}
