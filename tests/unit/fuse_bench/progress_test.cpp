#include "progress.h"

#include <gtest/gtest.h>

using fuse::bench::Progress;

namespace {

TEST(Progress, AFileThatIsNoTerminalGetsNothing) {
  std::FILE *file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    Progress progress(2, file);
    progress.next("one");
    progress.clear();
    progress.next("two");
  }
  EXPECT_EQ(std::ftell(file), 0);
  std::fclose(file);
}

}  // namespace
