// Workspaces that the library keeps, and those of the caller.
#include "runtime/workspace.h"

#include "expect_error.h"
#include "fake_cuda.h"

#include <algorithm>
#include <thread>
#include <vector>

using namespace fuse;

namespace {

class WorkspaceTest : public ::testing::Test {
 protected:
  WorkspaceTest() : context(context_of(nullptr, 0)), scope(context.handle) { fake_cuda().reset(); }
  ~WorkspaceTest() override { fake_cuda().reset(); }

  static cuda::CUstream stream(std::uintptr_t id) { return reinterpret_cast<cuda::CUstream>(id); }

  Context context;
  ContextScope scope;
  WorkspacePool pool{Allocator{}};
};

bool all_zero(const char *data, std::int64_t bytes) {
  return std::all_of(data, data + bytes, [](char c) { return c == 0; });
}

}  // namespace

TEST_F(WorkspaceTest, CountersStartAtZero) {
  WorkspaceMemory memory = pool.acquire(context, stream(1), {256, 512});
  EXPECT_TRUE(all_zero(memory.counters, 256));
  EXPECT_EQ(memory.data, memory.counters + 256);
  EXPECT_EQ(fake_cuda().count("cuMemsetD8Async(256)"), 1);
}

TEST_F(WorkspaceTest, OneForEachStreamAndThread) {
  char *first = pool.acquire(context, stream(1), {0, 512}).data;
  EXPECT_EQ(pool.acquire(context, stream(1), {0, 256}).data, first);
  EXPECT_NE(pool.acquire(context, stream(2), {0, 512}).data, first);
  std::thread([&] {
    ContextScope own(context.handle);
    EXPECT_NE(pool.acquire(context, stream(1), {0, 512}).data, first);
  }).join();
  Context other{context.handle, context.id + 1};
  EXPECT_NE(pool.acquire(other, stream(1), {0, 512}).data, first);
}

TEST_F(WorkspaceTest, OneForEachCapture) {
  char *outside = pool.acquire(context, stream(1), {0, 512}).data;
  fake_cuda().capture_id = 1;
  char *first = pool.acquire(context, stream(1), {0, 512}).data;
  EXPECT_NE(first, outside);
  EXPECT_EQ(pool.acquire(context, stream(1), {0, 512}).data, first);
  EXPECT_NE(pool.acquire(context, stream(2), {0, 512}).data, first);
  fake_cuda().capture_id = 2;
  EXPECT_NE(pool.acquire(context, stream(1), {0, 512}).data, first);
  fake_cuda().capture_id = 0;
  EXPECT_EQ(pool.acquire(context, stream(1), {0, 512}).data, outside);
}

TEST_F(WorkspaceTest, GrowsAndKeepsWhatIsInFlight) {
  char *small = pool.acquire(context, stream(1), {256, 1024}).data;
  WorkspaceMemory large = pool.acquire(context, stream(1), {256, 1280});
  EXPECT_NE(large.data, small);
  EXPECT_TRUE(all_zero(large.counters, 256));
  EXPECT_EQ(fake_cuda().count("cuMemAlloc(1792)"), 1);  // 256 + 1024 * 3 / 2
  EXPECT_EQ(fake_cuda().count("cuMemFree"), 0);
  EXPECT_EQ(pool.acquire(context, stream(1), {256, 1536}).data, large.data);
}

TEST_F(WorkspaceTest, NothingIsAllocatedForNothing) {
  pool.acquire(context, stream(1), {0, 0});
  EXPECT_EQ(fake_cuda().count("cuMemAlloc"), 0);
}

TEST_F(WorkspaceTest, FreesAllWithThePool) {
  long long before = fake_cuda().live_bytes;
  {
    WorkspacePool own{Allocator{}};
    for (std::uintptr_t i = 1; i < 5; ++i) own.acquire(context, stream(i), {256, 256});
    EXPECT_GT(fake_cuda().live_bytes, before);
  }
  EXPECT_EQ(fake_cuda().live_bytes, before);
}

TEST_F(WorkspaceTest, TheCallersIsClearedUnlessItIsZeroed) {
  alignas(256) static char memory[1024];
  std::fill(std::begin(memory), std::end(memory), 'x');
  use_workspace({memory, 1024, true}, {256, 512}, nullptr, false);
  EXPECT_EQ(memory[0], 'x');
  WorkspaceMemory used = use_workspace({memory, 1024, false}, {256, 512}, nullptr, false);
  EXPECT_TRUE(all_zero(used.counters, 256));
  EXPECT_EQ(used.data[0], 'x');
  EXPECT_EQ(fake_cuda().count("cuMemsetD8Async(256)"), 1);
}

TEST_F(WorkspaceTest, TheCallersMustBeLargeEnoughAndAligned) {
  alignas(256) static char memory[1024];
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { use_workspace({memory, 767, false}, {256, 512}, nullptr, true); }),
            "the workspace has 767 bytes: these sizes need 768");
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument,
                     [&] { use_workspace({memory + 16, 900, false}, {256, 512}, nullptr, true); }),
            "the workspace is not aligned to 256 bytes");
}
