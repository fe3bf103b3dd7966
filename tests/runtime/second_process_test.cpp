// Processes that share a cache folder: the second one plans nothing, generates no code and
// assembles none. The test starts itself again as the process that compiles, on the fake driver.
#include "codegen/codegen.h"
#include "fake_cuda.h"

#include <fuse/compile.h>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// On the host: softmax of a row of which two elements are 1 and the others minus infinity: a half
/// each.
void run(const fuse::Executable &executable) {
  std::vector<std::uint16_t> x(2 * 4097, 0xff80), y(2 * 4097), m(4097);
  x[5] = x[7] = 0x3f80;
  x[4097] = 0x3f80;
  executable.launch(nullptr, {fuse::tensor(x.data(), {2, 4097}), fuse::tensor(y.data(), {2, 4097}),
                              fuse::tensor(m.data(), {4097})});
  float value;
  std::uint32_t bits = static_cast<std::uint32_t>(y[7]) << 16;
  std::memcpy(&value, &bits, sizeof value);
  std::printf("ran: %g\n", value);
}

fuse::Graph softmax() {
  return fuse::parse(R"(graph @softmax(%x: bf16[B, 4097]) {
  %y = softmax %x axis=1
  %m = max %x axes=[0]
  return %y as y, %m as m
})");
}

/// What the compiling process prints: reasons, modules assembled, and all that was decided.
int compile_and_tell(fuse::Executor executor) {
  fuse::CompileOptions options;
  options.executor = executor;
  fuse::Executable executable = fuse::compile(softmax(), options);
  for (const fuse::Compilation &c : executable.compilations()) std::puts(c.reason.c_str());
  std::printf("%d assembled\n", fake_cuda().count("cuLinkAddData"));
  for (const fuse::KernelReport &k : executable.kernels({8}))
    std::printf("%s %a %s\n%s%s", k.name.c_str(), k.predicted_us, k.bound.c_str(), k.text.c_str(),
                k.ptx.c_str());
  for (const fuse::Decision &d : executable.decisions())
    std::printf("%s: %s, %s %a\n", d.about.c_str(), d.chosen.c_str(), d.why.c_str(),
                d.gain_seconds);
  if (executor == fuse::Executor::Host) run(executable);
  return 0;
}

/// Writes the Executable for a machine that is not there.
int serialize_to(const std::string &path) {
  fuse::CompileOptions options;
  options.executor = fuse::Executor::None;
  options.targets = {fuse::Target::named("h200"), fuse::Target::named("host")};
  std::ofstream(path, std::ios::binary) << fuse::compile(softmax(), options).serialize();
  return 0;
}

/// Loads the file, launches, and tells what ran for it.
int deserialize_from(const std::string &path, fuse::Executor executor) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  fuse::DeserializeOptions options;
  options.executor = executor;
  fuse::Executable executable = fuse::deserialize(bytes, options);
  run(executable);
  for (const fuse::Compilation &c : executable.compilations()) std::puts(c.reason.c_str());
  std::puts(fuse::has_used_llvm() ? "LLVM was used" : "without LLVM");
  std::printf("%d assembled, %d launched\n", fake_cuda().count("cuLinkAddData"),
              fake_cuda().count("cuLaunchKernelEx"));
  return 0;
}

/// Static objects, of which the Executable holds a workspace on the device, are destroyed after
/// main, when the driver has shut down.
int leave_to_static_destructors() {
  static std::vector<float> x(512 * 1024, 1.0f), y(1024);
  static std::optional<fuse::Executable> executable;
  static std::optional<fuse::DeviceBuffer> buffer;
  fuse::Graph graph = fuse::parse(R"(graph @columns(%x: f32[512, 1024]) {
  %y = sum %x axes=[0]
  return %y as y
})");
  fuse::CompileOptions options;
  options.executor = fuse::Executor::Gpu;
  buffer = fuse::DeviceBuffer::device(64);
  executable = fuse::compile(graph, options);
  executable->launch(nullptr,
                     {fuse::tensor(x.data(), {512, 1024}), fuse::tensor(y.data(), {1024})});
  fake_cuda().failing_call = "cuMemFree";
  fake_cuda().failing_result = fuse::cuda::CUDA_ERROR_DEINITIALIZED;
  return executable->workspace_bytes({}) > 0 ? 0 : 1;
}

struct Told {
  std::string reason, assembled, decided;
};

/// What a process of its own with the cache folder prints.
std::string output_of(const std::string &arguments, const std::string &folder) {
  std::string command = "FUSE_CACHE_DIR='" + folder + "' FUSE_LIBCUDA='" FAKE_CUDA "' '" +
                        fs::read_symlink("/proc/self/exe").string() + "' " + arguments;
  FILE *pipe = ::popen(command.c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << text;
  return text;
}

Told run_process(const std::string &folder, const std::string &executor = "gpu") {
  std::string text = output_of("--compile " + executor, folder);
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
  EXPECT_EQ(first.assembled, "2 assembled");
  EXPECT_EQ(second.reason, "first compilation (plan and code from disk)");
  EXPECT_EQ(second.assembled, "0 assembled");
  EXPECT_EQ(second.decided, first.decided);
  EXPECT_NE(first.decided.find("kernel @"), std::string::npos);
}

TEST_F(SecondProcessTest, TheHostExecutorDoesNeitherToo) {
  Told first = run_process(folder, "host"), second = run_process(folder, "host");
  EXPECT_EQ(first.reason, "first compilation");
  EXPECT_EQ(second.reason, "first compilation (plan and code from disk)");
  EXPECT_EQ(second.decided, first.decided);
  EXPECT_NE(first.decided.find("ran: 0.5"), std::string::npos) << first.decided;
}

TEST_F(SecondProcessTest, ADamagedHostKernelIsCompiledAgain) {
  Told first = run_process(folder, "host");
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    fs::resize_file(entry, entry.file_size() - 1);
  EXPECT_EQ(run_process(folder, "host").decided, first.decided);
}

TEST_F(SecondProcessTest, WithoutAFolderEachDoesAll) {
  for (int i = 0; i < 2; ++i) {
    Told told = run_process("");
    EXPECT_EQ(told.reason, "first compilation");
    EXPECT_EQ(told.assembled, "2 assembled");
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

TEST_F(SecondProcessTest, LoadsAFileWithoutACompiler) {
  std::string file = (folder / "softmax.fusejit").string();
  EXPECT_EQ(output_of("--serialize " + file, ""), "");
  EXPECT_EQ(output_of("--deserialize gpu " + file, ""),
            "ran: 0\ndeserialized\nwithout LLVM\n2 assembled, 2 launched\n");
  EXPECT_EQ(output_of("--deserialize host " + file, ""),
            "ran: 0.5\ndeserialized\nLLVM was used\n0 assembled, 0 launched\n")
      << "for linking";
}

TEST_F(SecondProcessTest, ObjectsMayBeDestroyedAfterMain) {
  std::string command = "FUSE_CACHE_DIR='' FUSE_LIBCUDA='" FAKE_CUDA "' '" +
                        fs::read_symlink("/proc/self/exe").string() + "' --after-main";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto executor = [&] { return words[1] == "host" ? fuse::Executor::Host : fuse::Executor::Gpu; };
  if (words.size() == 1 && words[0] == "--after-main") return leave_to_static_destructors();
  if (words.size() == 2 && words[0] == "--compile") return compile_and_tell(executor());
  if (words.size() == 2 && words[0] == "--serialize") return serialize_to(words[1]);
  if (words.size() == 3 && words[0] == "--deserialize")
    return deserialize_from(words[2], executor());
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
