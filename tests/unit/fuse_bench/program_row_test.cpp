// Rows of files: their sizes are all there and all known.
#include "program_row.h"
#include "options.h"

#include <fuse/error.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

using namespace fuse;
using namespace fuse::bench;
using ::testing::HasSubstr;

namespace {

constexpr const char *kGraph = R"(graph @scale(%x: f32[R, 4]) {
  symbol R min=2 max=1048576 divisor=2
  %0 = mul 2.0, %x
  return %0 as y
}
)";

constexpr const char *kKernel =
    R"(kernel @twice(%x: f32[N]) -> (%y: f32[N]) threads 128 cluster 1 index 64 {
  dims i: N
  layout L: i = grid ceil(N / 128) . thread 128
  in L {
    %a = load %x[i]
    %b = add %a, %a
    store %y[i], %b
  }
}
)";

class ProgramRow : public testing::Test {
 protected:
  std::string write(const std::string &name, const std::string &text) {
    std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::string refused(const std::string &path, const Bindings &sizes) {
    try {
      row_of_file(path, sizes);
    } catch (const UsageError &e) {
      return e.what();
    }
    return "nothing is wrong";
  }
};

TEST_F(ProgramRow, SmallGraphsAreCheckedWhole) {
  std::string path = write("scale.fuse", kGraph);
  Row row = row_of_file(path, {{"R", 8}});
  EXPECT_EQ(row.name, "scale R=8");
  EXPECT_TRUE(row.check && row.is_whole && !row.repeats);
  EXPECT_EQ(row.check, row.sizes);
  EXPECT_FALSE(row_of_file(path, {{"R", 1048576}}).check);
}

TEST_F(ProgramRow, KernelsAreNotChecked) {
  Row row = row_of_file(write("twice.kernel", kKernel), {{"N", 8}});
  EXPECT_TRUE(row.is_kernel() && !row.check);
}

TEST_F(ProgramRow, EverySymbolHasASizeAndEverySizeASymbol) {
  std::string graph = write("scale.fuse", kGraph), kernel = write("twice.kernel", kKernel);
  EXPECT_THAT(refused(graph, {}),
              HasSubstr("scale.fuse has no size: give it one, as --dim=R=4096"));
  EXPECT_THAT(refused(kernel, {}), HasSubstr("--dim=N=4096"));
  EXPECT_THAT(refused(kernel, {{"N", 4}, {"M", 4}}), HasSubstr("--dim: M is no symbol of"));
  EXPECT_EQ(refused(graph, {{"R", 3}}), "--dim: R = 3 is not a multiple of 2");
  EXPECT_EQ(refused(graph, {{"R", 0}}), "--dim: R = 0 is outside its bounds [2, 1048576]");
}

TEST_F(ProgramRow, FilesThatAreNoProgramsAreErrors) {
  EXPECT_THROW(row_of_file("/no/x.fuse", {}), Error);
  EXPECT_THROW(row_of_file(write("bad.fuse", "graph"), {}), Error);
  EXPECT_THROW(row_of_file(write("bad.kernel", "graph"), {}), Error);
}

}  // namespace
