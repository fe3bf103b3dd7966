// Plans on disk: what finds them, what does not, and what a bad entry or folder does.
#include "runtime/plan_cache.h"
#include "ir/program_text.h"
#include "runtime/hash.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

namespace fs = std::filesystem;
using namespace fuse;

namespace {

constexpr std::string_view kGraph = R"(graph @softmax(%x: bf16[B, 4097]) {
  symbol B min=1 max=100000
  %shifted = sub %x, 1.0
  %y = softmax %shifted axis=1
  return %y as y
})";

const Target kTarget = Target::named("h200");

class PlanCacheTest : public ::testing::Test {
 protected:
  PlanCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "fuse_plans_XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~PlanCacheTest() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  /// As a process that starts now would see it.
  Lowered lower_anew(const LowerOptions &options = {}) {
    DiskCache cache(folder);
    return lower_cached(graph, kTarget, options, cache);
  }
  std::string key() const { return plan_key(graph, kTarget, {}); }

  fs::path folder;
  Graph graph = parse(kGraph);
};

std::string key_of(std::string text, const LowerOptions &options = {}) {
  return plan_key(parse(text), kTarget, options);
}

std::string replaced(std::string_view from, std::string_view to) {
  std::string text(kGraph);
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_F(PlanCacheTest, TheSecondTimeIsReadFromDisk) {
  Lowered first = lower_anew(), second = lower_anew();
  EXPECT_FALSE(first.from_disk);
  EXPECT_TRUE(second.from_disk);
  EXPECT_EQ(to_string(second.program), to_string(first.program));
  EXPECT_FALSE(second.program.plan.decisions.empty());
}

TEST_F(PlanCacheTest, InstancesAreReadFromDisk) {
  graph = parse(R"(graph @many(%x: f32[B, 5], %y: f32[7], %z: f32[B]) {
  symbol B min=1 max=1000
  %a = exp %x
  %b = exp %y
  %c = exp %z
  return %a, %b, %c
})");
  Lowered first = lower_anew(), second = lower_anew();
  EXPECT_TRUE(second.from_disk);
  ASSERT_EQ(first.program.kernels.size(), 1u);
  EXPECT_EQ(second.program.kernels[0].instances, 3);
  EXPECT_EQ(to_string(second.program), to_string(first.program));
}

TEST_F(PlanCacheTest, AStoredProgramIsNotPlannedAgain) {
  Program program = lower(graph, kTarget, {});
  program.plan.decisions = {{"this entry", "read", "nothing was planned", 0, ""}};
  DiskCache(folder).store(key(), to_string(program));
  Lowered lowered = lower_anew();
  ASSERT_EQ(lowered.program.plan.decisions.size(), 1u);
  EXPECT_EQ(lowered.program.plan.decisions[0].about, "this entry");
}

TEST_F(PlanCacheTest, LayoutAndPlaceOfTheTextDoNotCount) {
  EXPECT_EQ(key_of("// a comment\n\n" + std::string(kGraph)), key_of(std::string(kGraph)));
  EXPECT_EQ(key_of(replaced("sub %x, 1.0", "sub %x, 1.0e0")), key_of(std::string(kGraph)));
}

TEST_F(PlanCacheTest, WhateverChangesTheProgramChangesTheKey) {
  std::vector<std::string> keys = {
      key(),
      key_of(replaced("4097", "4098")),
      key_of(replaced("bf16", "f16")),
      key_of(replaced("1.0", "2.0")),
      key_of(replaced("max=100000", "max=100001")),
      key_of(replaced("axis=1", "axis=0")),
      key_of(replaced("as y", "as z")),
      key_of(replaced("@softmax", "@other")),
      key_of(replaced("sub %x, 1.0", "sub %x, 1.0 : bf16[B, 4097] stored")),
  };
  auto add = [&](const std::function<void(LowerOptions &)> &change) {
    LowerOptions options;
    change(options);
    keys.push_back(plan_key(graph, kTarget, options));
  };
  add([](LowerOptions &o) { o.strict = true; });
  add([](LowerOptions &o) { o.batch_invariant = true; });
  add([](LowerOptions &o) { o.inputs = {{false, 16}}; });
  add([](LowerOptions &o) { o.inputs = {{true, 16}}; });
  add([](LowerOptions &o) { o.inputs = {{false, 4}}; });
  add([](LowerOptions &o) { o.outputs = {{false, 4}}; });
  add([](LowerOptions &o) { o.sizes = {{"B", 4}}; });
  add([](LowerOptions &o) { o.in_place = {{0, 0}}; });
  add([](LowerOptions &o) { o.fixed = {{"B", 0}}; });
  add([](LowerOptions &o) { o.divisors = {{"B", 4}}; });
  add([](LowerOptions &o) { o.narrow_offsets = true; });
  add([](LowerOptions &o) { o.inputs = {{true, 16, true}}; });
  add([](LowerOptions &o) { o.inputs = {{false, 4, false, true}}; });
  keys.push_back(plan_key(graph, Target::named("a100"), {}));
  Target slower = kTarget;
  slower.hbm_bytes *= 1 - 1e-15;
  keys.push_back(plan_key(graph, slower, {}));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST_F(PlanCacheTest, NamesThatDecisionsShowCount) {
  EXPECT_NE(key_of(replaced("%shifted = sub %x, 1.0\n  %y = softmax %shifted",
                            "%moved = sub %x, 1.0\n  %y = softmax %moved")),
            key());
}

TEST_F(PlanCacheTest, AnEntryThatCannotBeReadIsPlannedAnewAndReplaced) {
  std::string good = to_string(lower(graph, kTarget, {}));
  for (const std::string &bad : {std::string(), std::string("program"), good + "x",
                                 good.substr(0, good.size() / 2), std::string(1000, '\0')}) {
    DiskCache(folder).store(key(), bad);
    Lowered lowered = lower_anew();
    EXPECT_FALSE(lowered.from_disk);
    EXPECT_EQ(to_string(lowered.program), good);
    EXPECT_EQ(DiskCache(folder).load(key()), good);
  }
}

TEST_F(PlanCacheTest, ATornFileIsPlannedAnew) {
  lower_anew();
  fs::path entry = folder / (to_string(hash128(key())) + ".fusecache");
  fs::resize_file(entry, fs::file_size(entry) - 1);
  EXPECT_FALSE(lower_anew().from_disk);
  EXPECT_TRUE(lower_anew().from_disk);
}

TEST_F(PlanCacheTest, AReadOnlyFolderServesWhatItHas) {
  lower_anew();
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(lower_anew().from_disk);
  LowerOptions strict;
  strict.strict = true;
  EXPECT_FALSE(lower_anew(strict).from_disk);
  EXPECT_EQ(lower_anew(strict).from_disk, ::geteuid() == 0);  // root may write anywhere
}

TEST_F(PlanCacheTest, WithoutAFolderEverythingIsPlanned) {
  DiskCache none("");
  EXPECT_FALSE(lower_cached(graph, kTarget, {}, none).from_disk);
  EXPECT_FALSE(lower_cached(graph, kTarget, {}, none).from_disk);
}

TEST_F(PlanCacheTest, ConcurrentWritersAgree) {
  const std::string expected = to_string(lower(graph, kTarget, {}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Graph own = parse(kGraph);
      DiskCache cache(folder);
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(to_string(lower_cached(own, kTarget, {}, cache).program), expected);
    });
  for (std::thread &t : threads) t.join();
  EXPECT_TRUE(lower_anew().from_disk);
}
