// The minimum cut against all sets, on random graphs with random prices.
#include "partition/min_cut.h"

#include <gtest/gtest.h>

#include <random>

namespace fuse {
namespace {

CutProblem random_problem(std::mt19937 &random, std::size_t values) {
  CutProblem problem;
  auto below = [&](std::size_t n) { return random() % n; };
  for (std::size_t v = 0; v < values; ++v) {
    bool is_input = v < 2;
    std::vector<std::size_t> operands;
    for (std::size_t i = 0; !is_input && i < 1 + below(2); ++i) operands.push_back(below(v));
    problem.operands.push_back(operands);
    CutPrice price{double(1 + below(20)), is_input ? kNever : double(below(12))};
    if (!is_input && below(6) == 0) price.save = kNever;
    problem.prices.push_back(price);
    problem.needed.push_back(below(3) == 0);
  }
  return problem;
}

/// The price of saving the set, and computing again what is needed besides; kNever where a value
/// would have to be that must not.
double price_of(const CutProblem &problem, const std::vector<bool> &save) {
  std::vector<bool> needed = problem.needed;
  double price = 0;
  for (std::size_t v = needed.size(); v-- > 0;) {
    if (!needed[v]) continue;
    double own = save[v] ? problem.prices[v].save : problem.prices[v].repeat;
    if (own >= kNever) return kNever;
    price += own;
    if (save[v]) continue;
    for (std::size_t o : problem.operands[v]) needed[o] = true;
  }
  return price;
}

TEST(MinCut, IsTheCheapestOfAllSets) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    CutProblem problem = random_problem(random, 9);
    double least = kNever;
    for (unsigned set = 0; set < 1u << 9; ++set) {
      std::vector<bool> save(9);
      for (std::size_t v = 0; v < 9; ++v) save[v] = set >> v & 1;
      least = std::min(least, price_of(problem, save));
    }
    EXPECT_NEAR(price_of(problem, min_cut(problem)), least, 1e-6) << "problem " << i;
  }
}

TEST(MinCut, ChainsOfManyValues) {
  CutProblem problem;
  for (std::size_t v = 0; v < 20000; ++v) {
    problem.prices.push_back({v == 7000 ? 1.0 : 3.0, v ? 2.0 : kNever});
    problem.operands.push_back(v ? std::vector<std::size_t>{v - 1} : std::vector<std::size_t>{});
    problem.needed.push_back(v + 1 == 20000);
  }
  std::vector<bool> save = min_cut(problem);
  EXPECT_TRUE(save[19999]);
  EXPECT_FALSE(save[7000]);
}

}  // namespace
}  // namespace fuse
