// PTX -> cubin -> SASS with NVIDIA's tools, which are not part of fuse.
#include "stages.h"

#include "files.h"
#include "text.h"

#include <unistd.h>

#include <sys/wait.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace fs = std::filesystem;
using fuse::ErrorCode;

namespace {

/// A folder that goes with its files.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "fuse-opt-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) refuse(ErrorCode::Io, "cannot make a temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string file(const char *name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Path of a tool in PATH or in the CUDA toolkit; empty if there is none.
std::string find_tool(const std::string &name) {
  const char *path = std::getenv("PATH");
  const char *home = std::getenv("CUDA_HOME");
  std::string folders = path ? path : "";
  folders += std::string(":") + (home ? home : "/usr/local/cuda") + "/bin:";
  for (std::size_t end = 0; (end = folders.find(':')) != folders.npos; folders.erase(0, end + 1)) {
    std::string tool = folders.substr(0, end) + "/" + name;
    if (end > 0 && ::access(tool.c_str(), X_OK) == 0) return tool;
  }
  return "";
}

std::string shell_word(const std::string &word) {
  std::string result = "'";
  for (char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Runs a command line and returns what it prints; Error{Unsupported} with that where it fails.
std::string run(const std::string &command) {
  std::FILE *pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (!pipe) refuse(ErrorCode::Io, "cannot run {}", command);
  std::string text;
  std::array<char, 4096> buffer;
  while (std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  int status = ::pclose(pipe);
  if (status != 0)
    refuse(ErrorCode::Unsupported, "{} failed: {}", command, text.substr(0, text.find('\n')));
  return text;
}

/// "sm_90a", as the PTX says.
std::string architecture_of(const std::string &ptx) {
  constexpr std::string_view kDirective = ".target ";
  std::size_t begin = ptx.find(kDirective);
  if (begin == ptx.npos) refuse(ErrorCode::Internal, "the PTX names no target");
  begin += kDirective.size();
  return ptx.substr(begin, ptx.find_first_of(", \n", begin) - begin);
}

}  // namespace

std::string sass_of(const std::string &ptx) {
  std::string ptxas = find_tool("ptxas"), nvdisasm = find_tool("nvdisasm");
  std::string cuobjdump = nvdisasm.empty() ? find_tool("cuobjdump") : "";
  if (ptxas.empty())
    refuse(ErrorCode::Unsupported, "--emit=sass needs ptxas of the CUDA toolkit in PATH");
  if (nvdisasm.empty() && cuobjdump.empty())
    refuse(ErrorCode::Unsupported,
           "--emit=sass needs nvdisasm or cuobjdump of the CUDA toolkit in PATH");
  TemporaryFolder folder;
  std::string source = folder.file("kernels.ptx"), cubin = folder.file("kernels.cubin");
  write_file(source, ptx);
  run(shell_word(ptxas) + " -arch=" + architecture_of(ptx) + " " + shell_word(source) + " -o " +
      shell_word(cubin));
  return run(nvdisasm.empty() ? shell_word(cuobjdump) + " -sass " + shell_word(cubin)
                              : shell_word(nvdisasm) + " -c " + shell_word(cubin));
}
