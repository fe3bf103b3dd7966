// Memory blocks.
#include <fuse/buffer.h>

#include "expect_error.h"
#include "fake_cuda.h"

#include <cstdlib>
#include <vector>

using namespace fuse;

namespace {

class BufferTest : public ::testing::Test {
 protected:
  BufferTest() { fake_cuda().reset(); }
  ~BufferTest() override { fake_cuda().reset(); }
};

void round_trip(DeviceBuffer buffer) {
  const std::vector<int> sent = {1, 2, 3, 4};
  std::vector<int> received(4);
  buffer.fill_zero();
  buffer.copy_from_host(sent.data(), 8, 4);
  buffer.copy_to_host(received.data(), 16);
  EXPECT_EQ(received, (std::vector<int>{0, 1, 2, 0}));
  EXPECT_EQ(error_of(ErrorCode::InvalidArgument, [&] { buffer.copy_to_host(&received, 8, 12); }),
            "8 bytes at offset 12 exceed a buffer of 16 bytes");
}

}  // namespace

TEST_F(BufferTest, CopiesToAndFromTheDevice) {
  long long before = fake_cuda().live_bytes;
  round_trip(DeviceBuffer::device(16));
  EXPECT_EQ(fake_cuda().count("cuMemAlloc(16)"), 1);
  EXPECT_EQ(fake_cuda().count("cuMemFree"), 1);
  EXPECT_EQ(fake_cuda().live_bytes, before);
}

TEST_F(BufferTest, CopiesToAndFromTheHost) {
  round_trip(DeviceBuffer::host(16));
  EXPECT_TRUE(fake_cuda().calls.empty());
}

TEST_F(BufferTest, EmptyBuffersNeedNoMemory) {
  DeviceBuffer buffer = DeviceBuffer::device(0);
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_NO_THROW(buffer.fill_zero());
  EXPECT_EQ(fake_cuda().count("cuMemAlloc"), 0);
}

TEST_F(BufferTest, CopiesShareTheMemory) {
  DeviceBuffer a = DeviceBuffer::device(64);
  DeviceBuffer b = a;
  a = {};
  EXPECT_EQ(fake_cuda().count("cuMemFree"), 0);
  EXPECT_NE(b.data(), nullptr);
}

TEST_F(BufferTest, OutOfMemoryIsItsOwnCode) {
  fake_cuda().failing_call = "cuMemAlloc";
  fake_cuda().failing_result = 2;
  error_of(ErrorCode::OutOfMemory, [] { DeviceBuffer::device(16); });
}

TEST_F(BufferTest, FreeingAfterTheDriverShutDownIsSilent) {
  DeviceBuffer buffer = DeviceBuffer::device(16);
  fake_cuda().failing_call = "cuMemFree";
  fake_cuda().failing_result = cuda::CUDA_ERROR_DEINITIALIZED;
  EXPECT_NO_THROW(buffer = {});
  DeviceBuffer other = DeviceBuffer::device(16);
  fake_cuda().failing_call = "cuCtxPushCurrent";
  EXPECT_NO_THROW(other = {});
}

TEST_F(BufferTest, AnAllocatorIsAskedInstead) {
  int allocated = 0, freed = 0;
  Allocator allocator{[&](std::size_t bytes) {
                        ++allocated;
                        return std::malloc(bytes);
                      },
                      [&](void *address, std::size_t) {
                        ++freed;
                        std::free(address);
                      }};
  {
    DeviceBuffer buffer = DeviceBuffer::device(16, 0, allocator);
  }
  {
    DeviceBuffer buffer = DeviceBuffer::host(16, allocator);
  }
  EXPECT_EQ(allocated, 2);
  EXPECT_EQ(freed, 2);
  EXPECT_EQ(fake_cuda().count("cuMemAlloc"), 0);
  allocator.allocate = [](std::size_t) -> void * { return nullptr; };
  error_of(ErrorCode::OutOfMemory, [&] { DeviceBuffer::device(16, 0, allocator); });
}
