// The search against all sets of values, on graphs of few candidates.
#include "partition/search.h"
#include "unit/partition/parts.h"

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

/// A few operations on large values, rows of them, and a sum now and then.
Graph random_joint(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](std::size_t n) { return random() % n; };
  auto build = [&](Graph &g) {
    std::vector<Value> values = {g.input("x", f32, {8192, 4096}), g.input("w", f32, {8192, 4096})};
    for (int i = 0; i < 5; ++i) {
      Value a = values[below(values.size())], b = values[below(values.size())];
      switch (below(6)) {
        case 0: values.push_back(a * b); break;
        case 1: values.push_back(sigmoid(a)); break;
        case 2: values.push_back(lgamma(atan(a))); break;
        case 3: values.push_back(a - sum(b, {1}, true)); break;
        case 4: values.push_back(sin(a) + b); break;
        default: values.push_back(tan(lgamma(a))); break;
      }
    }
    return values.back() * values[2];
  };
  return joint_of(build, {"x", "w"});
}

class AllSets : public testing::TestWithParam<unsigned> {};

TEST_P(AllSets, NoneIsFaster) {
  Graph canonical = canonicalize(random_joint(GetParam()));
  for (const char *target : {"h200", "b200"}) {
    PartitionOptions options;
    options.target = Target::named(target);
    Joint joint = read_joint(canonical, options);
    Pricer found_by(joint, options), all_by(joint, options);
    Search search(joint, found_by, {}), all(joint, all_by, {});
    if (search.candidates().size() > 14) return;  // too many sets
    double found = search.find().seconds, best = all.exhaustive().seconds;
    EXPECT_LE(found, best * (1 + 1.01 * kEqualTime)) << target << "\n" << to_string(canonical);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AllSets, testing::Range(0u, 24u));

}  // namespace
}  // namespace fuse
