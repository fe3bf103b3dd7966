// Sizes of 0 where a symbolic kernel would leave stores out or divide by an extent, and sizes at
// which a slice is longer than its axis.
#include "ir/evaluate.h"
#include "ir/graph_data.h"

#include <fuse/compile.h>
#include <fuse/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fuse {
namespace {

Executable compiled(const char *text) {
  CompileOptions options;
  options.executor = Executor::Host;
  return compile(parse(text), options);
}

TEST(EmptySizes, OutputsThatDoNotDependOnAnEmptyAxis) {
  Executable exe = compiled(
      "graph @r(%x: f32[Y, Z], %r: f32[Z]) {\n  symbol Y min=0\n  symbol Z min=0\n"
      "  %e = exp %r\n  %m = mul %x, %e\n  return %m as m, %e as e\n}\n");
  std::vector<float> r(500, 0), e(500, -1), none(1);
  exe.launch(nullptr, {tensor(none.data(), {0, 500}), tensor(r.data(), {500}),
                       tensor(none.data(), {0, 500}), tensor(e.data(), {500})});
  for (float x : e) ASSERT_EQ(x, 1);
  std::vector<float> x(1500, 2), m(1500, -1);
  exe.launch(nullptr, {tensor(x.data(), {3, 500}), tensor(r.data(), {500}),
                       tensor(m.data(), {3, 500}), tensor(e.data(), {500})});
  for (float y : m) ASSERT_EQ(y, 2);
}

TEST(EmptySizes, OffsetsThatDivideByAnExtent) {
  Executable exe = compiled(
      "graph @r(%x: f32[Y, Z]) {\n  symbol Y min=0\n  symbol Z min=0\n"
      "  %t = transpose %x perm=[1, 0]\n  %f = flip %t axes=[0]\n  %p = sum %f axes=[0, 1]\n"
      "  %q = prod %t axes=[0, 1]\n  return %p as p, %q as q\n}\n");
  for (auto [rows, columns] : {std::pair<int, int>{0, 5}, {5, 0}, {0, 0}, {2, 3}}) {
    std::vector<float> x(6, 2);
    float p = -1, q = -1;
    exe.launch(nullptr, {tensor(x.data(), {rows, columns}), tensor(&p, {}), tensor(&q, {})});
    EXPECT_EQ(p, 2.0F * static_cast<float>(rows * columns));
    EXPECT_EQ(q, std::pow(2.0F, static_cast<float>(rows * columns)));
  }
}

TEST(EmptySizes, SlicesThatAreLongerThanTheirAxis) {
  const char *text =
      "graph @n(%x: f32[B, N]) {\n  symbol B min=0\n  %a = slice %x [0:B, 16:N]\n"
      "  %b = sum %a axes=[1]\n  return %b as s\n}\n";
  Executable exe = compiled(text);
  try {
    exe.workspace_bytes({3, 9});
    FAIL() << "-7 columns";
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Shape);
    EXPECT_NE(std::string(e.what()).find("the extent N - 16 of"), std::string::npos) << e.what();
  }
  std::vector<float> x(3 * 16, 1), s(3, -1);
  exe.launch(nullptr, {tensor(x.data(), {3, 16}), tensor(s.data(), {3})});
  for (float y : s) EXPECT_EQ(y, 0);
}

}  // namespace
}  // namespace fuse
