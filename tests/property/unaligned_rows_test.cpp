// Rows of odd lengths with tensors that all rows share: vectors of these start anywhere. Memory
// ends where a page does, or begins where one does, and nobody may touch the pages around it.
#include "ir/evaluate.h"
#include "passes/passes.h"
#include "property/random_graph.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <cstring>
#include <memory>
#include <string>

namespace fuse {
namespace {

constexpr const char *kNorm = R"(graph @norm(%x: T[R, C], %w: T[C], %b: T[C]) {
  %y = layer_norm %x, %w, %b axes=[1]
  return %y as y
})";

// More arithmetic on the shared operand than rows have, a column apart, and in a narrower type.
constexpr const char *kFlat = R"(graph @flat(%x: T[R, C], %w: T[C1], %v: u8[C]) {
  %0 = slice %w [1:C1]
  %1 = cast %v : T
  %2 = add %x, %0
  %y = mul %2, %1
  return %y as y
})";

// What all rows share is folded: elements behind the row must be left out.
constexpr const char *kDot = R"(graph @dot(%x: T[R, C], %w: T[C]) {
  %0 = mul %x, %w
  %1 = exp %w
  %s = sum %0 axes=[1]
  %m = max %1 axes=[0]
  %y = mul %s, %m
  return %y as y
})";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string with_sizes(const char *text, const std::string &type, std::int64_t rows,
                       std::int64_t columns) {
  std::string all = replaced(text, ": T", ": " + type);
  all = replaced(all, "C1", std::to_string(columns + 1));
  all = replaced(all, "[R", "[" + std::to_string(rows));
  all = replaced(all, ", C]", ", " + std::to_string(columns) + "]");
  return replaced(all, "[C]", "[" + std::to_string(columns) + "]");
}

/// Memory between two pages that fault, at the end of what lies between or at its begin.
class FencedMemory {
 public:
  FencedMemory(std::size_t bytes, bool at_end) {
    std::size_t inner = (bytes + kPage - 1) / kPage * kPage;
    size_ = inner + 2 * kPage;
    base_ = static_cast<std::byte *>(
        ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(::mprotect(base_ + kPage, inner, PROT_READ | PROT_WRITE), 0);
    data_ = base_ + kPage + (at_end ? inner - bytes : 0);
  }
  FencedMemory(const FencedMemory &) = delete;
  FencedMemory &operator=(const FencedMemory &) = delete;
  ~FencedMemory() { ::munmap(base_, size_); }

  std::byte *data() const { return data_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::byte *base_, *data_;
  std::size_t size_;
};

void expect_rows(const std::string &text, bool at_end) {
  Graph graph = parse(text);
  const GraphData &g = graph.data();
  CompileOptions options;
  options.executor = Executor::Host;
  Executable executable = compile(graph, options);
  Entropy entropy(3);
  std::vector<Tensor> inputs;
  std::vector<std::unique_ptr<FencedMemory>> memory;
  std::vector<Arg> arguments;
  for (NodeId id : g.inputs) {
    inputs.push_back(random_tensor(entropy, g.dtype(id), evaluate(g.shape(id), {}), false));
    std::vector<std::byte> &bytes = inputs.back().bytes;
    memory.push_back(std::make_unique<FencedMemory>(bytes.size(), at_end));
    std::memcpy(memory.back()->data(), bytes.data(), bytes.size());
    arguments.push_back(tensor(memory.back()->data(), inputs.back().shape));
  }
  NodeId result = g.outputs[0].node;
  Tensor y(g.dtype(result), evaluate(g.shape(result), {}));
  memory.push_back(std::make_unique<FencedMemory>(y.bytes.size(), at_end));
  arguments.push_back(tensor(memory.back()->data(), y.shape));
  executable.launch(nullptr, arguments.data(), arguments.size());
  std::memcpy(y.bytes.data(), memory.back()->data(), y.bytes.size());
  Comparison c = compare(evaluate(canonicalize(graph).data(), inputs, {}).outputs[0], y);
  EXPECT_TRUE(c.passed()) << text << to_string(c);
}

}  // namespace

class UnalignedRows : public testing::TestWithParam<const char *> {};

TEST_P(UnalignedRows, AreRightWhereverMemoryLies) {
  for (auto [type, columns] :
       {std::pair("bf16", 513), {"bf16", 4095}, {"f16", 4097}, {"f32", 7169}})
    for (bool at_end : {false, true}) expect_rows(with_sizes(GetParam(), type, 2, columns), at_end);
}

INSTANTIATE_TEST_SUITE_P(Texts, UnalignedRows, testing::Values(kNorm, kFlat, kDot));

TEST(UnalignedLongRows, AreRightOverAClusterAndInALoop) {
  for (std::int64_t columns : {50257, 200001})
    expect_rows(with_sizes(kNorm, "bf16", 1, columns), true);
}

}  // namespace fuse
