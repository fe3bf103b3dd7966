// Internal errors leave a file that reads as the input did; other errors leave none.
#include "reproducer.h"

#include "files.h"
#include "options.h"

#include <fuse/graph.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

using namespace fuse;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSource = "graph @g(%x: f32[4]) {\n  %0 = exp %x\n  return %0 as y\n}\n";

class ReproducerTest : public ::testing::Test {
 protected:
  ReproducerTest()
      : folder_(fs::path(::testing::TempDir()) /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ReproducerTest() override { fs::remove_all(folder_); }

  std::vector<fs::path> files() const {
    return {fs::directory_iterator(folder_), fs::directory_iterator()};
  }

  int run(const std::function<int()> &function) const {
    return with_reproducer(kSource, {"g.fuse", "--emit=ptx"}, function, folder_);
  }

  /// What the function's failure says after it went through the reproducer.
  Error failure(const std::function<int()> &function) const {
    try {
      run(function);
    } catch (const Error &error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(ErrorCode::Io, "");
  }

  fs::path folder_;
};

}  // namespace

TEST_F(ReproducerTest, AnInternalErrorLeavesItsInput) {
  Error error = failure([]() -> int { throw Error(ErrorCode::Internal, "two and two are 5"); });
  EXPECT_EQ(error.code(), ErrorCode::Internal);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_THAT(error.what(), HasSubstr("two and two are 5"));
  EXPECT_THAT(error.what(), HasSubstr("; " + files()[0].string() + " reproduces it"));
  std::string text = read_file(files()[0]);
  EXPECT_THAT(text, HasSubstr("two and two are 5"));
  EXPECT_THAT(text, HasSubstr("fuse-opt g.fuse --emit=ptx"));
  EXPECT_TRUE(parse(text) == parse(kSource));
}

TEST_F(ReproducerTest, TheSameErrorLeavesOneFile) {
  auto function = []() -> int { throw Error(ErrorCode::Internal, "a line\nand another"); };
  failure(function);
  failure(function);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_TRUE(parse(read_file(files()[0])) == parse(kSource));
}

TEST_F(ReproducerTest, AnExceptionOfTheStandardLibraryIsInternal) {
  Error error = failure([]() -> int { return std::vector<int>().at(3); });
  EXPECT_EQ(error.code(), ErrorCode::Internal);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ReproducerTest, ErrorsOfTheUserLeaveNothing) {
  EXPECT_EQ(failure([]() -> int { throw Error(ErrorCode::Shape, "no"); }).code(), ErrorCode::Shape);
  EXPECT_THROW(run([]() -> int { throw UsageError("no"); }), UsageError);
  EXPECT_EQ(run([] { return 3; }), 3);
  EXPECT_TRUE(files().empty());
}

TEST_F(ReproducerTest, AFolderThatTakesNoFileIsSaid) {
  fs::remove_all(folder_);
  Error error = failure([]() -> int { throw Error(ErrorCode::Internal, "broken"); });
  EXPECT_THAT(error.what(), HasSubstr("broken; no file reproduces it: cannot write"));
}
