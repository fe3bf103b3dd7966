// Deduplicated compilation.
#include "runtime/variant_set.h"

#include "expect_error.h"
#include "programs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

using namespace fuse;

namespace {

const VariantClass kAligned(3), kUnaligned = {{false, 4}, {}, {}};

std::shared_ptr<const Variant> make(const VariantClass &arguments, const Bindings &sizes) {
  LowerOptions options;
  options.sizes = sizes;
  return std::make_shared<const Variant>(scale_program(options), arguments,
                                         machine_of(Target{}, Executor::None));
}

}  // namespace

TEST(VariantSet, CompilesEachClassOnceAndSaysWhy) {
  VariantSet set(make);
  auto first = set.start(kAligned, {});
  EXPECT_EQ(set.get(kAligned, {{"B", 5}}, "unused", true), first);
  auto second = set.get(kUnaligned, {{"B", 5}}, "x is aligned to 4 bytes", true);
  EXPECT_NE(second, first);
  EXPECT_EQ(set.get(kUnaligned, {{"B", 6}}, "unused", true), second);
  auto log = set.compilations();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].reason, "first compilation");
  EXPECT_EQ(log[1].reason, "x is aligned to 4 bytes");
  EXPECT_EQ(log[1].kernels, 1);
}

TEST(VariantSet, SizesBeyondALimitNeedAnotherVariant) {
  VariantSet set(make);
  auto first = set.start(kAligned, {});
  auto large = set.get(kAligned, {{"B", 100000}}, "unused", true);
  EXPECT_NE(large, first);
  EXPECT_EQ(set.compilations()[1].reason, "sizes beyond a limit: more than 65536 elements");
  EXPECT_EQ(set.get(kAligned, {{"B", 200000}}, "unused", true), large);
  EXPECT_EQ(set.get(kAligned, {{"B", 10}}, "unused", true), first);
  EXPECT_EQ(error_of(ErrorCode::Unsupported,
                     [&] { set.get(kAligned, {{"B", 1 << 20}}, "unused", true); }),
            "scale does not support these sizes: more than 65536 elements");
}

TEST(VariantSet, VariantsThatDoNotServeTheirSizesAreNotKept) {
  VariantSet set(make);
  set.start(kAligned, {});
  for (int i = 0; i < 3; ++i)
    error_of(ErrorCode::Unsupported, [&] { set.get(kAligned, {{"B", 1 << 20}}, "unused", true); });
  EXPECT_EQ(set.compilations().size(), 1u);
}

TEST(VariantSet, WaitersForSizesThatAreNotServedGetTheError) {
  VariantSet set([&](const VariantClass &arguments, const Bindings &sizes) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return make(arguments, sizes);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      error_of(ErrorCode::Unsupported,
               [&] { set.get(kAligned, {{"B", 1 << 20}}, "unused", true); });
    });
  for (std::thread &t : threads) t.join();
}

TEST(VariantSet, KeepsTheFirstAndTheLatestVariants) {
  VariantSet set(make);
  auto first = set.start(kAligned, {});
  auto get = [&](int alignment) {
    return set.get({{false, alignment}, {}, {}}, {{"B", 5}}, "why", true);
  };
  std::weak_ptr<const Variant> oldest = get(1000);
  for (int i = 1; i <= static_cast<int>(VariantSet::kMaxVariants); ++i) get(1000 + i);
  EXPECT_TRUE(oldest.expired());
  EXPECT_EQ(set.get(kAligned, {{"B", 5}}, "unused", true), first);
  std::size_t compiled = set.compilations().size();
  get(1001);
  EXPECT_EQ(set.compilations().size(), compiled);
  get(1000);
  EXPECT_EQ(set.compilations().size(), compiled + 1);
}

TEST(VariantSet, RefusesToCompileWhereItMayNot) {
  VariantSet set(make);
  set.start(kAligned, {});
  error_of(ErrorCode::Unsupported,
           [&] { set.get(kUnaligned, {{"B", 5}}, "x is aligned to 4 bytes", false); });
  EXPECT_EQ(set.compilations().size(), 1u);
}

TEST(VariantSet, ConcurrentFirstCallsCompileOnce) {
  std::atomic<int> builds{0};
  VariantSet set([&](const VariantClass &arguments, const Bindings &sizes) {
    ++builds;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return make(arguments, sizes);
  });
  std::vector<std::shared_ptr<const Variant>> results(8);
  std::vector<std::thread> threads;
  for (auto &result : results)
    threads.emplace_back([&] { result = set.get(kAligned, {{"B", 5}}, "why", true); });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(builds, 1);
  for (auto &result : results) EXPECT_EQ(result, results[0]);
}

TEST(VariantSet, WaitersGetTheErrorAndTheNextCallTriesAgain) {
  std::atomic<int> builds{0}, errors{0};
  VariantSet set([&](const VariantClass &arguments, const Bindings &sizes) {
    if (++builds > 1) return make(arguments, sizes);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw Error(ErrorCode::Unsupported, "not today");
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      try {
        set.get(kAligned, {{"B", 5}}, "why", true);
      } catch (const Error &error) {
        EXPECT_STREQ(error.what(), "not today");
        ++errors;
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_GE(errors, 1);
  EXPECT_NO_THROW(set.get(kAligned, {{"B", 5}}, "why", true));
  EXPECT_EQ(builds, 2);
}

namespace {

/// Sizes that scale_program() has two programs for: up to 65,536, and beyond.
std::vector<VariantSet::Request> requests(std::initializer_list<std::int64_t> sizes) {
  std::vector<VariantSet::Request> all;
  for (std::int64_t size : sizes)
    all.push_back({kAligned, {{"B", size}}, "prepared for B = " + std::to_string(size)});
  return all;
}

void use_nothing(const Variant &, unsigned) {}

}  // namespace

TEST(VariantSet, PreparesTheFewestVariants) {
  for (unsigned threads : {1u, 2u, 5u, 0u}) {
    VariantSet set(make);
    auto all = requests({5, 100000, 6, 200000, 7});
    std::vector<Compilation> done = set.prepare(all, threads, use_nothing);
    ASSERT_EQ(done.size(), 2u) << threads;
    EXPECT_EQ(done[0].reason, "prepared for B = 5");
    EXPECT_EQ(done[1].reason, "prepared for B = 100000");
    EXPECT_EQ(set.compilations().size(), 2u);
    EXPECT_TRUE(set.prepare(all, threads, use_nothing).empty());
    for (const VariantSet::Request &r : all)
      EXPECT_NO_THROW(set.get(r.arguments, r.sizes, "unused", false));
  }
}

TEST(VariantSet, PreparesAtOnceOnSoManyThreads) {
  std::atomic<int> running{0}, most{0};
  VariantSet set([&](const VariantClass &arguments, const Bindings &sizes) {
    most = std::max(most.load(), ++running);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --running;
    return make(arguments, sizes);
  });
  std::vector<VariantSet::Request> all;
  for (int i = 0; i < 9; ++i) all.push_back({{{false, 1000 + i}, {}, {}}, {{"B", 5}}, "why"});
  EXPECT_EQ(set.prepare(all, 3, use_nothing).size(), 9u);
  EXPECT_EQ(most, 3);
}

TEST(VariantSet, UsesWhatServesWhetherItWasThereOrNot) {
  VariantSet set(make);
  auto first = set.start(kAligned, {});
  std::atomic<int> used{0};
  set.prepare(requests({5, 6, 100000}), 2, [&](const Variant &, unsigned) { ++used; });
  EXPECT_EQ(used, 2);
}

/// Builds that take long enough for others to come meanwhile.
struct SlowBuilds {
  std::atomic<int> builds{0};
  std::atomic<bool> started{false};

  auto builder() {
    return [this](const VariantClass &arguments, const Bindings &sizes) {
      ++builds;
      started = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return ::make(arguments, sizes);
    };
  }

  void await() const {
    while (!started) std::this_thread::yield();
  }
};

TEST(VariantSet, LaunchesWaitForWhatIsPrepared) {
  SlowBuilds slow;
  VariantSet set(slow.builder());
  std::thread launches([&] {
    slow.await();
    set.get(kAligned, {{"B", 100000}}, "a launch", true);
    set.get(kAligned, {{"B", 6}}, "a launch", true);
  });
  set.prepare(requests({5, 100000}), 2, use_nothing);
  launches.join();
  EXPECT_EQ(slow.builds, 2);
  EXPECT_EQ(set.compilations().size(), 2u);
}

TEST(VariantSet, PreparingWaitsForLaunches) {
  SlowBuilds slow;
  VariantSet set(slow.builder());
  std::thread launch([&] { set.get(kAligned, {{"B", 6}}, "a launch", true); });
  slow.await();
  EXPECT_TRUE(set.prepare(requests({5, 7}), 2, use_nothing).empty());
  launch.join();
  EXPECT_EQ(slow.builds, 1);
}

TEST(VariantSet, AFailureLeavesTheOthersPrepared) {
  VariantSet set(make);
  EXPECT_EQ(error_of(ErrorCode::Unsupported,
                     [&] { set.prepare(requests({1 << 20, 5}), 2, use_nothing); }),
            "scale does not support these sizes: more than 65536 elements");
  EXPECT_EQ(set.compilations().size(), 1u);
  EXPECT_NO_THROW(set.get(kAligned, {{"B", 5}}, "unused", false));
  EXPECT_EQ(error_of(ErrorCode::Io,
                     [&] {
                       set.prepare(requests({100000}), 2, [](const Variant &, unsigned) {
                         throw Error(ErrorCode::Io, "cannot be used");
                       });
                     }),
            "cannot be used");
  EXPECT_EQ(set.prepare(requests({100000}), 2, use_nothing).size(), 1u);
}

TEST(VariantSet, KeepsAllThatIsPrepared) {
  VariantSet set(make);
  std::vector<VariantSet::Request> all;
  for (std::size_t i = 0; i <= VariantSet::kMaxVariants + 1; ++i)
    all.push_back({{{false, 1000 + static_cast<int>(i)}, {}, {}}, {{"B", 5}}, "why"});
  set.prepare(all, 2, use_nothing);
  set.get(kUnaligned, {{"B", 5}}, "a launch", true);
  for (const VariantSet::Request &r : all)
    EXPECT_NO_THROW(set.get(r.arguments, r.sizes, "unused", false));
}
