// The disk cache and everything that may be wrong with a folder.
#include "runtime/disk_cache.h"
#include "runtime/hash.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

namespace fs = std::filesystem;
using fuse::DiskCache;

namespace {

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "fuse_cache_XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~DiskCacheTest() override {
    fs::permissions(folder, fs::perms::owner_all);
    fs::remove_all(folder);
  }

  fs::path entry(const std::string &key) const {
    return folder / (fuse::to_string(fuse::hash128(key)) + ".fusecache");
  }
  std::size_t num_files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  void write(const fs::path &path, const std::string &data) const {
    std::ofstream(path, std::ios::binary) << data;
  }
  std::string read(const fs::path &path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder;
};

}  // namespace

TEST_F(DiskCacheTest, GivesBackWhatWasStored) {
  DiskCache cache(folder / "made" / "on demand");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", std::string("pay\0load", 8));
  EXPECT_EQ(cache.load("key"), std::string("pay\0load", 8));
  cache.store("key", "");
  EXPECT_EQ(cache.load("key"), "");
}

TEST_F(DiskCacheTest, AnEmptyFolderNameHoldsNothing) {
  DiskCache cache("");
  cache.store("key", "payload");
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(DiskCacheTest, EveryTornOrChangedFileIsAMiss) {
  DiskCache cache(folder);
  cache.store("key", "payload");
  const std::string whole = read(entry("key"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write(entry("key"), whole.substr(0, n));
    EXPECT_EQ(cache.load("key"), std::nullopt) << n << " bytes";
    std::string changed = whole;
    changed[n] ^= 0x20;
    write(entry("key"), changed);
    EXPECT_EQ(cache.load("key"), std::nullopt) << "byte " << n;
  }
  write(entry("key"), whole + "x");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  write(entry("key"), whole);
  EXPECT_EQ(cache.load("key"), "payload");
}

TEST_F(DiskCacheTest, AnotherKeyWithTheSameHashIsAMiss) {
  DiskCache cache(folder);
  cache.store("one", "payload");
  fs::rename(entry("one"), entry("two"));
  EXPECT_EQ(cache.load("two"), std::nullopt);
}

TEST_F(DiskCacheTest, AFolderInPlaceOfAnEntryIsAMiss) {
  DiskCache cache(folder);
  fs::create_directory(entry("key"));
  EXPECT_EQ(cache.load("key"), std::nullopt);
  cache.store("key", "payload");
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeDropsEntries) {
  write(folder / "file", "");
  DiskCache cache(folder / "file" / "below");
  cache.store("key", "payload");
  EXPECT_EQ(cache.load("key"), std::nullopt);
}

TEST_F(DiskCacheTest, AReadOnlyFolderStillServesItsEntries) {
  DiskCache cache(folder);
  cache.store("old", "payload");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  cache.store("new", "payload");
  EXPECT_EQ(cache.load("old"), "payload");
  EXPECT_EQ(cache.load("new").has_value(), ::geteuid() == 0);  // root may write anywhere
}

TEST_F(DiskCacheTest, AFullDiskLeavesNoTornEntryBehind) {
  // A limit on the size of files stands for the full disk: writes stop in the middle.
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small{4096, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  DiskCache cache(folder);
  cache.store("key", std::string(100000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(cache.load("key"), std::nullopt);
  EXPECT_EQ(num_files(), 0u);
}

TEST_F(DiskCacheTest, ConcurrentWritersOfOneKeyLeaveOneWholeEntry) {
  DiskCache cache(folder);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      DiskCache own(folder);
      for (int i = 0; i < 50; ++i) own.store("key", std::string(5000, static_cast<char>('a' + t)));
    });
  for (int i = 0; i < 200; ++i) {
    std::optional<std::string> seen = cache.load("key");
    EXPECT_TRUE(!seen || *seen == std::string(5000, seen->at(0)));
  }
  for (std::thread &t : threads) t.join();
  EXPECT_TRUE(cache.load("key"));
  EXPECT_EQ(num_files(), 1u);
}

TEST_F(DiskCacheTest, EvictsTheOldestEntriesFirst) {
  DiskCache cache(folder, 10000);
  auto age = [&](const std::string &key, int hours) {
    fs::last_write_time(entry(key), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  cache.store("a", std::string(4000, 'a'));
  age("a", 3);
  cache.store("b", std::string(4000, 'b'));
  age("b", 2);
  EXPECT_TRUE(cache.load("a"));  // used just now: younger than b
  cache.store("c", std::string(4000, 'c'));
  EXPECT_TRUE(cache.load("a"));
  EXPECT_FALSE(cache.load("b"));
  EXPECT_TRUE(cache.load("c"));
}

TEST_F(DiskCacheTest, EvictionSparesForeignFiles) {
  write(folder / "precious.txt", std::string(50000, 'p'));
  DiskCache cache(folder, 1000);
  cache.store("a", std::string(4000, 'a'));
  EXPECT_TRUE(fs::exists(folder / "precious.txt"));
  EXPECT_FALSE(cache.load("a"));
}
