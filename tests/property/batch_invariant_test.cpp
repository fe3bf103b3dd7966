// batch_invariant: the bits of a row do not depend on how many rows there are, nor on which it is.
#include "ir/evaluate.h"
#include "property/memory.h"
#include "property/random_graph.h"

#include <fuse/compile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

namespace fuse {
namespace {

/// A function of rows [B, length] whose first output has as many rows; %w has their length.
struct Rows {
  const char *name;
  const char *body;
  DType dtype = DType::F32;
  bool folds_rows = false;
};

constexpr Rows kRows[] = {
    {"softmax", "  %y = softmax %x axis=1\n  return %y as y", DType::BF16},
    {"softmax_f32", "  %y = softmax %x axis=1\n  return %y as y"},
    {"layer_norm", "  %y = layer_norm %x axes=[1]\n  return %y as y"},
    {"row_sum", "  %y = sum %x axes=[1] keep\n  return %y as y"},
    {"row_sum_16", "  %y = sum %x axes=[1] keep\n  return %y as y", DType::BF16},
    {"scaled_max",
     "  %m = max %x axes=[1] keep\n  %s = sum %x axes=[1] keep\n  %y = mul %m, %s\n  return %y as "
     "y"},
    {"rows_and_columns",
     "  %n = layer_norm %x axes=[1]\n  %e = exp %n\n  %c = sum %e axes=[0]\n"
     "  return %e as y, %c as c",
     DType::F32, true},
    {"running_sum", "  %y = cumsum %x axis=1\n  return %y as y"},
    {"running_log_sum", "  %y = logcumsumexp %x axis=1 exclusive reverse\n  return %y as y"},
    {"row_and_total",
     "  %n = softmax %x axis=1\n  %s = sum %n axes=[0, 1]\n  %t = sum %x axes=[1] keep\n"
     "  %y = add %n, %t\n  return %y as y, %s as s",
     DType::F32, true},
};

constexpr std::int64_t kLengths[] = {1, 64, 1000, 4097, 16384, 70001};
constexpr std::int64_t kBatches[] = {2, 7, 1000};

Graph graph_of(const Rows &rows, const std::string &batch, const std::string &length) {
  std::string text = std::string("graph @") + rows.name +
                     "(%x: " + std::string(to_string(rows.dtype)) + "[" + batch + ", " + length +
                     "]) {\n";
  if (batch == "B") text += "  symbol B min=1\n";
  if (length == "C") text += "  symbol C min=1\n";
  return parse(text + rows.body + "\n}");
}

CompileOptions options_for(bool batch_invariant, const Bindings &sizes = {}) {
  CompileOptions options;
  options.executor = Executor::Host;
  options.batch_invariant = batch_invariant;
  options.expected_sizes = sizes;
  return options;
}

/// What a launch gives for a batch of rows of the input: its first output, by row.
std::vector<std::string> run(const Executable &exe, const Tensor &x, std::int64_t first,
                             std::int64_t batch) {
  std::int64_t length = x.shape[1];
  std::size_t row = static_cast<std::size_t>(length) * size_of(x.dtype);
  DeviceBuffer in = DeviceBuffer::host(static_cast<std::size_t>(batch) * row);
  in.copy_from_host(x.bytes.data() + static_cast<std::size_t>(first) * row, in.size());
  Dims dims = exe.symbols().empty()       ? Dims()
              : exe.symbols().size() == 1 ? Dims(std::vector<std::int64_t>{batch})
                                          : Dims(std::vector<std::int64_t>{batch, length});
  std::vector<DeviceBuffer> outputs;
  std::vector<Arg> arguments = {tensor(in.data(), {batch, length})};
  std::vector<std::vector<std::int64_t>> shapes = exe.output_shapes(dims);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::size_t bytes = size_of(exe.outputs()[i].dtype);
    for (std::int64_t extent : shapes[i]) bytes *= static_cast<std::size_t>(extent);
    outputs.push_back(DeviceBuffer::host(bytes));
    arguments.push_back(tensor(outputs[i].data(), shapes[i]));
  }
  exe.launch(nullptr, arguments.data(), arguments.size());
  std::string all(static_cast<const char *>(outputs[0].data()), outputs[0].size());
  std::vector<std::string> result;
  std::size_t bytes = all.size() / static_cast<std::size_t>(batch);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i)
    result.push_back(all.substr(i * bytes, bytes));
  return result;
}

/// Rows of any values; as many as fit in a little time.
Tensor random_rows(const Rows &rows, std::int64_t length) {
  Entropy entropy(static_cast<std::uint64_t>(length));
  std::int64_t count = std::clamp<std::int64_t>((1 << 18) / length, 7, 1000);
  return random_tensor(entropy, rows.dtype, {count, length}, false);
}

/// How many rows of batches differ from the same rows alone. `exe` makes the Executable for a
/// batch.
template <class Make>
int differing_rows(const Tensor &x, Make exe) {
  std::int64_t count = x.shape[0];
  std::vector<std::string> alone;
  for (std::int64_t i = 0; i < count; ++i) alone.push_back(run(exe(1), x, i, 1)[0]);
  int differing = 0;
  for (std::int64_t batch : kBatches) {
    batch = std::min(batch, count);
    for (std::int64_t first : {std::int64_t{0}, count - batch}) {
      std::vector<std::string> together = run(exe(batch), x, first, batch);
      for (std::size_t i = 0; i < together.size(); ++i)
        differing += together[i] != alone[static_cast<std::size_t>(first) + i];
    }
  }
  return differing;
}

/// Makes what belongs to a batch when it is first asked for.
std::function<const Executable &(std::int64_t)> once(std::function<Executable(std::int64_t)> make) {
  auto all = std::make_shared<std::map<std::int64_t, Executable>>();
  return [=](std::int64_t batch) -> const Executable & {
    auto found = all->find(batch);
    return (found == all->end() ? all->emplace(batch, make(batch)).first : found)->second;
  };
}

}  // namespace

/// One program for all numbers of rows.
TEST(BatchInvariant, OneExecutableForAllBatches) {
  for (const Rows &rows : kRows)
    for (std::int64_t length : kLengths) {
      Executable exe = compile(graph_of(rows, "B", std::to_string(length)), options_for(true));
      EXPECT_EQ(differing_rows(random_rows(rows, length), [&](std::int64_t) { return exe; }), 0)
          << rows.name << " " << length;
    }
}

/// Programs that were planned for other numbers of rows, and for rows of any length.
TEST(BatchInvariant, WhateverBatchIsExpected) {
  for (const Rows &rows : kRows)
    for (std::int64_t length : {1000, 4097, 70001}) {
      Graph graph = graph_of(rows, "B", "C");
      auto exe = once([&](std::int64_t batch) {
        return compile(graph, options_for(true, {{"B", batch}, {"C", length}}));
      });
      EXPECT_EQ(differing_rows(random_rows(rows, length), exe), 0) << rows.name << " " << length;
    }
}

/// Graphs whose number of rows is a literal. One row is not folded over rows, but is its own sum.
TEST(BatchInvariant, GraphsOfFixedBatches) {
  for (const Rows &rows : kRows)
    for (std::int64_t length : {1000, 4096, 70001}) {
      if (rows.folds_rows) continue;
      auto exe = once([&](std::int64_t batch) {
        return compile(graph_of(rows, std::to_string(batch), std::to_string(length)),
                       options_for(true));
      });
      EXPECT_EQ(differing_rows(random_rows(rows, length), exe), 0) << rows.name << " " << length;
    }
}

/// Without the option, the number of rows and the place of a row may be seen in its bits.
TEST(BatchInvariant, IsNotSoWithoutTheOption) {
  Rows rows = kRows[3];
  Executable odd = compile(graph_of(rows, "B", "4097"), options_for(false));
  EXPECT_GT(differing_rows(random_rows(rows, 4097), [&](std::int64_t) { return odd; }), 0);
  auto exe = once([&](std::int64_t batch) {
    return compile(graph_of(rows, "B", "70000"), options_for(false, {{"B", batch}}));
  });
  EXPECT_GT(differing_rows(random_rows(rows, 70000), exe), 0);
}

TEST(BatchInvariant, ThePriceIsShown) {
  CompileOptions options = options_for(true, {{"B", 1}});
  options.executor = Executor::None;
  options.target = Target::named("h200");
  Graph graph = graph_of(kRows[3], "B", "70000");
  Executable exe = compile(graph, options);
  std::vector<Decision> decisions = exe.decisions();
  auto price = std::find_if(decisions.begin(), decisions.end(),
                            [](const Decision &d) { return d.about == "batch_invariant"; });
  ASSERT_NE(price, decisions.end());
  EXPECT_EQ(price->chosen, "rows alike");
  EXPECT_EQ(price->rejected, "any mapping");
  EXPECT_LT(price->gain_seconds, 0) << "few long rows are split over more blocks without it";
  EXPECT_THAT(price->why, ::testing::HasSubstr("decisions are those for B = 4096"));
  options.batch_invariant = false;
  EXPECT_NEAR(
      1e6 * price->gain_seconds,
      compile(graph, options).overview().fused.predicted_us - exe.overview().fused.predicted_us,
      1e-6);
  EXPECT_THAT(exe.explain({1}), ::testing::HasSubstr("batch_invariant"));
}

}  // namespace fuse
