// The runtime: keys of the cache, and processes and threads that share it.
#include "cases/case_run.h"

#include "codegen/codegen.h"
#include "passes/passes.h"
#include "runtime/variant.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

namespace fuse::cases {

namespace fs = std::filesystem;

namespace {

/// A program as a key of the cache sees it.
struct Keyed {
  std::string text;
  std::string target = "h200";
  LowerOptions options = {};
};

/// Neighbours differ in one thing.
std::vector<Keyed> keyed_programs() {
  auto map = [](const std::string &body) {
    return "graph @k(%x: f32[N, 6]) {\n" + body + "\nreturn %y }";
  };
  std::vector<Keyed> all = {
      {map("%y = mul %x, 0.5")},
      {map("%y = mul %x, 0.25")},
      {map("%y = pad %x, 0.0 lo=[0, 1] hi=[0, 0]")},
      {map("%y = pad %x, 0x80000000 lo=[0, 1] hi=[0, 0]")},
      {map("%y = pad %x, 1.0 lo=[0, 1] hi=[0, 0]")},
      {map("%y = sum %x axes=[0]")},
      {map("%y = sum %x axes=[1]")},
      {"graph @k(%x: f16[N, 6]) { %y = mul %x, 0.5 return %y }"},
      {"graph @k(%x: f32[7, 6]) { %y = mul %x, 0.5 return %y }"},
      {"graph @k(%x: f32[N, 6]) { %y = mul %x, 0.5 %z = neg %x return %y, %z }"},
      {"graph @k(%x: f32[N, 6]) { %y = mul %x, 0.5 %z = neg %x return %z, %y }"},
      {map("%y = mul %x, 0.5"), "a100"},
      {map("%y = mul %x, 0.5"), "b200"},
      {"graph @k(%x: bf16[N, 6]) { %a = exp %x %y = mul %a, %x return %y }"},
      {"graph @k(%x: bf16[N, 6]) { %a = exp %x %y = mul %a, %x return %y }"},
      {map("%y = mul %x, 0.5")},
      {map("%y = mul %x, 0.5")},
  };
  all[14].options.strict = true;
  all[15].options.inputs = {{false, 4}};
  all[16].options.inputs = {{true, 4}};
  return all;
}

/// Every program, through the cache and without it.
void check_cached_code() {
  for (const Keyed &k : keyed_programs()) {
    Target target = Target::named(k.target);
    Program program = lower(parse(k.text), target, k.options);
    Making making;
    std::vector<std::string> ptx = ptx_of(program.kernels, target, making);
    for (std::size_t i = 0; i < ptx.size(); ++i)
      EXPECT_EQ(ptx[i], emit_ptx({&program.kernels[i]}, target)) << k.text;
  }
}

class CacheFolder {
 public:
  CacheFolder() {
    std::string pattern = (fs::temp_directory_path() / "fuse_cases_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~CacheFolder() { fs::remove_all(path_); }

  const fs::path &path() const { return path_; }

  /// Names of its files and their inodes: a file that is written again gets another.
  std::map<std::string, ino_t> files() const {
    std::map<std::string, ino_t> all;
    for (const auto &entry : fs::directory_iterator(path_)) {
      struct stat status{};
      ::stat(entry.path().c_str(), &status);
      all[entry.path().filename()] = status.st_ino;
    }
    return all;
  }

 private:
  fs::path path_;
};

/// Starts this program again for one test, with a cache folder of its own.
pid_t start(const char *test, const fs::path &cache) {
  pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("FUSE_CACHE_DIR", cache.c_str(), 1);
  std::string filter = std::string("--gtest_filter=") + test;
  ::execl("/proc/self/exe", "cases_test", filter.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", static_cast<char *>(nullptr));
  ::_exit(127);
}

bool succeeds(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Run in processes of their own by the tests below.
constexpr const char *kCachedCode = "RuntimeCases.DISABLED_CachedCodeIsRight";
constexpr const char *kThreads = "RuntimeCases.DISABLED_CachedCodeIsRightOnThreads";

}  // namespace

TEST(RuntimeCases, DISABLED_CachedCodeIsRight) { check_cached_code(); }

TEST(RuntimeCases, DISABLED_CachedCodeIsRightOnThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back(check_cached_code);
  for (std::thread &t : threads) t.join();
}

// cubecl 1455
TEST(RuntimeCases, KeysOfTheCacheLeaveNothingOut) {
  CacheFolder folder;
  ASSERT_TRUE(succeeds(start(kCachedCode, folder.path())));
  auto first = folder.files();
  EXPECT_EQ(first.size(), keyed_programs().size());
  ASSERT_TRUE(succeeds(start(kCachedCode, folder.path())));
  EXPECT_EQ(folder.files(), first) << "the second process compiled something";
}

TEST(RuntimeCases, ProgramsThatDifferInOneThingRunSideBySide) {
  for (auto [literal, value] :
       {std::pair{"0.5", 0.5}, {"0.25", 0.25}, {"0.0", 0.0}, {"-0.0", -0.0}})
    run_case(std::string("graph @k(%x: f32[5]) {\n%y = mul %x, ") + literal + "\nreturn %y }",
             {floats(f32, {5}, {3})}, {exact(f32, {5}, {3 * value})});
}

// triton 11512, 4295; DeepGEMM 301
TEST(RuntimeCases, ProcessesFillOneCacheTogether) {
  for (int round = 0; round < 2; ++round) {
    CacheFolder folder;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) children.push_back(start(kCachedCode, folder.path()));
    for (pid_t child : children) EXPECT_TRUE(succeeds(child));
    EXPECT_EQ(folder.files().size(), keyed_programs().size()) << "temporary files are left";
  }
}

TEST(RuntimeCases, AnUnusableCacheOnlyCostsTime) {
  CacheFolder folder;
  fs::path file = folder.path() / "no_folder";
  ASSERT_EQ(::system(("touch " + file.string()).c_str()), 0);
  EXPECT_TRUE(succeeds(start(kCachedCode, file)));
  EXPECT_TRUE(succeeds(start(kCachedCode, "/proc/fuse")));
}

TEST(RuntimeCases, ThreadsFillOneCacheTogether) {
  CacheFolder folder;
  EXPECT_TRUE(succeeds(start(kThreads, folder.path())));
  EXPECT_EQ(folder.files().size(), keyed_programs().size());
}

}  // namespace fuse::cases
