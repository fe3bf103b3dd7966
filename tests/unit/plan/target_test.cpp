// The named machines are complete and plausible.
#include <fuse/error.h>
#include <fuse/target.h>

#include <gtest/gtest.h>

namespace {

using namespace fuse;

TEST(Target, EveryNamedTargetIsComplete) {
  for (const std::string &name : Target::names()) {
    Target t = Target::named(name);
    EXPECT_EQ(t.name, name);
    EXPECT_GE(t.sm, 80);
    EXPECT_GT(t.clock_hz, 1e9) << name;
    EXPECT_GT(t.l2_bytes, t.hbm_bytes) << name;
    EXPECT_GT(t.l2_capacity, 16 << 20) << name;
    EXPECT_GT(t.shared_per_sm, t.shared_per_block) << name;
    EXPECT_GT(t.launch_seconds, 0) << name;
    EXPECT_GT(t.block_latency_seconds, 0) << name;
    EXPECT_EQ(t.usable_sms(1), t.num_sms) << name;
  }
}

TEST(Target, OnlyTheH200IsMeasured) {
  for (const std::string &name : Target::names())
    EXPECT_EQ(Target::named(name).measured, name == "h200");
  EXPECT_DOUBLE_EQ(Target::named("h200").hbm_bytes, 4.27e12);
}

TEST(Target, ClustersLeaveSomeSmsIdle) {
  Target t = Target::named("h200");
  EXPECT_EQ(t.usable_sms(2), 132);
  EXPECT_EQ(t.usable_sms(4), 120);
  EXPECT_EQ(t.usable_sms(8), 120);
  EXPECT_EQ(t.usable_sms(16), 112);
}

TEST(Target, UnknownNamesAreErrorsThatListTheKnown) {
  try {
    Target::named("v100");
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(std::string(e.what()).find("rtx5090"), std::string::npos);
  }
}

}  // namespace
