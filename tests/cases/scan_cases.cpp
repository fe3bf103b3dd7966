// Scans: infinities and NaN in running maxima and logarithms of sums, through one block and many.
#include "cases/case_run.h"

#include <cmath>

namespace fuse::cases {

namespace {

/// The row, the row as a column, and the row repeated in both, each sample with what it gives.
void run_both_ways(const char *op, const std::vector<double> &x, const std::vector<double> &wanted,
                   Within tolerance) {
  auto n = static_cast<std::int64_t>(x.size());
  std::string text = std::string("graph @scan(%x: f32[A, N], %t: f32[N, A]) {\n%rows = ") + op +
                     " %x axis=1\n%columns = " + op + " %t axis=0\nreturn %rows, %columns }";
  std::vector<Sample> samples;
  for (std::int64_t copies : {1, 3, 70}) {
    std::vector<double> columns, results;
    for (std::int64_t i = 0; i < n * copies; ++i) {
      columns.push_back(x[static_cast<std::size_t>(i / copies)]);
      results.push_back(wanted[static_cast<std::size_t>(i / copies)]);
    }
    samples.push_back({{floats(f32, {copies, n}, x), floats(f32, {n, copies}, columns)},
                       {within(f32, {copies, n}, wanted, tolerance),
                        within(f32, {n, copies}, results, tolerance)},
                       {{"A", copies}, {"N", n}}});
  }
  run_samples(parse(text), samples);
}

/// The first element 10,000 times, then what follows it: over several blocks of a row.
std::vector<double> behind_many(double first, std::initializer_list<double> rest) {
  std::vector<double> values(10000, first);
  values.insert(values.end(), rest);
  return values;
}

}  // namespace

// pytorch 52213; tensorflow 127513, 115610
TEST(ScanCases, LogarithmsOfRunningSumsOfInfinities) {
  constexpr Within kNear{.rel = 1e-6};
  auto run = [&](const std::vector<double> &x, const std::vector<double> &wanted) {
    run_both_ways("logcumsumexp", x, wanted, kNear);
  };
  run({-kInf, 1}, {-kInf, 1});
  run({2, -kInf, -kInf, 1, 3}, {2, 2, 2, 2.3132617, 3.4076060});
  run({1, kNaN, 2}, {1, kNaN, kNaN});
  run({kInf, kInf, 1}, {kInf, kInf, kInf});
  run({-kInf, kInf, -kInf, 5}, {-kInf, kInf, kInf, kInf});
  run(behind_many(-kInf, {0}), behind_many(-kInf, {0}));
  run(behind_many(-kInf, {kInf, 0}), behind_many(-kInf, {kInf, kInf}));
}

// tensorflow 115610
TEST(ScanCases, RunningMaximaOfNan) {
  auto run = [&](const std::vector<double> &x, const std::vector<double> &wanted) {
    run_both_ways("cummax", x, wanted, {});
  };
  run({1, kNaN, 3}, {1, kNaN, kNaN});
  run({-kInf, -kInf, 2, 1}, {-kInf, -kInf, 2, 2});
  run(behind_many(7, {kNaN, 9}), behind_many(7, {kNaN, kNaN}));
}

TEST(ScanCases, DifferencesOfMagnitudeNeitherOverflowNorVanish) {
  run_both_ways("logcumsumexp", {-3e38, 3e38, -3e38}, {-3e38, 3e38, 3e38}, {.rel = 1e-6});
  run_both_ways("logcumsumexp", {88, 89, 500, 0}, {88, 89.3132617, 500, 500}, {.rel = 1e-6});
  run_both_ways("logcumsumexp", {-200, -200.5, -201}, {-200, -199.525923, -199.3197301},
                {.rel = 1e-6});
}

}  // namespace fuse::cases
