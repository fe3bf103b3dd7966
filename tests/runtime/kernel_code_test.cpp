// Code of kernels, each by itself, on the fake GPU.
#include "runtime/kernel_code.h"
#include "expect_error.h"
#include "fake_cuda.h"
#include "programs.h"
#include "runtime/worker.h"

using namespace fuse;
using ::testing::HasSubstr;

namespace {

class KernelCode : public ::testing::Test {
 protected:
  KernelCode() : context(context_of(nullptr, 0)), scope(context.handle) { fake_cuda().reset(); }
  ~KernelCode() override { fake_cuda().reset(); }

  Context context;
  ContextScope scope;
};

std::vector<GpuCode> codes(const std::vector<std::string> &ptx) {
  std::vector<GpuCode> all;
  for (const std::string &text : ptx) all.push_back({text, {}});
  return all;
}

}  // namespace

TEST_F(KernelCode, ModulesHoldAKernelEach) {
  Program program = staged_program({});
  for (unsigned threads : {1u, 4u}) {
    Making making{threads};
    std::vector<std::string> ptx;
    run_on_worker([&] { ptx = ptx_of(program.kernels, Target::named("h200"), making); });
    ASSERT_EQ(ptx.size(), 2u);
    EXPECT_THAT(ptx[0], HasSubstr(".entry first("));
    EXPECT_THAT(ptx[1], HasSubstr(".entry second("));
    EXPECT_FALSE(making.from_disk);
  }
}

TEST_F(KernelCode, CubinsAreMadeWhereThereAreNone) {
  std::vector<GpuCode> kernels = codes({"one", "two", "three"});
  kernels[1].cubins.push_back({90, 1, "made before"});
  for (int round = 0; round < 2; ++round) {
    std::vector<const std::string *> images = cubins_of(kernels, context, 8);
    ASSERT_EQ(images.size(), 3u);
    EXPECT_THAT(*images[0], HasSubstr("one"));
    EXPECT_EQ(*images[1], "made before");
    EXPECT_THAT(*images[2], HasSubstr("three"));
  }
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 2);
}

TEST_F(KernelCode, TheFirstKernelThatIsRefusedIsTold) {
  std::vector<GpuCode> kernels = codes({"one", "reject two", "reject three"});
  EXPECT_THAT(error_of(ErrorCode::Driver, [&] { cubins_of(kernels, context, 0); }),
              HasSubstr("rejected"));
  EXPECT_EQ(fake_cuda().count("cuLinkDestroy"), 3) << "all are tried";
}
