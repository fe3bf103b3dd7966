// Processes that share a cache folder: the second one plans nothing, generates no code and
// assembles none. The test starts itself again as the process that compiles, on the fake driver.
#include "fake_cuda.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// What the compiling process prints: reasons, modules assembled, and all that was decided.
int compile_and_tell() {
  fuse::Graph graph = fuse::parse(R"(graph @softmax(%x: bf16[B, 4097]) {
  %y = softmax %x axis=1
  %m = max %x axes=[0]
  return %y as y, %m as m
})");
  fuse::CompileOptions options;
  options.executor = fuse::Executor::Gpu;
  fuse::Executable executable = fuse::compile(graph, options);
  for (const fuse::Compilation &c : executable.compilations()) std::puts(c.reason.c_str());
  std::printf("%d assembled\n", fake_cuda().count("cuLinkAddData"));
  for (const fuse::KernelReport &k : executable.kernels({8}))
    std::printf("%s %a %s\n%s%s", k.name.c_str(), k.predicted_us, k.bound.c_str(), k.text.c_str(),
                k.ptx.c_str());
  for (const fuse::Decision &d : executable.decisions())
    std::printf("%s: %s, %s %a\n", d.about.c_str(), d.chosen.c_str(), d.why.c_str(),
                d.gain_seconds);
  return 0;
}

struct Told {
  std::string reason, assembled, decided;
};

/// A process of its own with the cache folder.
Told run_process(const std::string &folder) {
  std::string command = "FUSE_CACHE_DIR='" + folder + "' FUSE_LIBCUDA='" FAKE_CUDA "' '" +
                        fs::read_symlink("/proc/self/exe").string() + "' --compile";
  FILE *pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << text;
  Told told;
  auto take_line = [&] {
    std::string line = text.substr(0, text.find('\n'));
    text.erase(0, line.size() + 1);
    return line;
  };
  told.reason = take_line();
  told.assembled = take_line();
  told.decided = text;
  return told;
}

class SecondProcessTest : public ::testing::Test {
 protected:
  SecondProcessTest() {
    std::string pattern = (fs::temp_directory_path() / "fuse_processes_XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~SecondProcessTest() override { fs::remove_all(folder); }
  fs::path folder;
};

}  // namespace

TEST_F(SecondProcessTest, NeitherPlansNorCompiles) {
  Told first = run_process(folder), second = run_process(folder);
  EXPECT_EQ(first.reason, "first compilation");
  EXPECT_EQ(first.assembled, "1 assembled");
  EXPECT_EQ(second.reason, "first compilation (plan and code from disk)");
  EXPECT_EQ(second.assembled, "0 assembled");
  EXPECT_EQ(second.decided, first.decided);
  EXPECT_NE(first.decided.find("kernel @"), std::string::npos);
}

TEST_F(SecondProcessTest, WithoutAFolderEachDoesAll) {
  for (int i = 0; i < 2; ++i) {
    Told told = run_process("");
    EXPECT_EQ(told.reason, "first compilation");
    EXPECT_EQ(told.assembled, "1 assembled");
  }
}

TEST_F(SecondProcessTest, ProcessesThatStartTogetherAgree) {
  std::vector<Told> told(3);
  std::vector<std::thread> threads;
  for (Told &t : told) threads.emplace_back([&] { t = run_process(folder); });
  for (std::thread &t : threads) t.join();
  for (const Told &t : told) EXPECT_EQ(t.decided, told[0].decided);
  EXPECT_EQ(run_process(folder).reason, "first compilation (plan and code from disk)");
}

int main(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "--compile") return compile_and_tell();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
