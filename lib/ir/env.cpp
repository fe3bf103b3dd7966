// Reading of the FUSE_* variables and the dumps that they ask for.
#include "ir/env.h"

#include "ir/format.h"
#include "ir/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace fuse {

namespace {

constexpr EnvVariable kVariables[] = {
    {"FUSE_DUMP", "stages to print, comma-separated: graph, plan, kernel, llvm, ptx"},
    {"FUSE_DUMP_DIR", "folder for the dumps, one file each; stderr if not set"},
    {"FUSE_TIME", "1: log the time of each stage of a compilation"},
    {"FUSE_VERIFY", "1: verify graphs, plans, kernels and LLVM modules between stages"},
    {"FUSE_DISABLE", "passes to skip, comma-separated"},
    {"FUSE_CACHE_DIR", "folder of the disk cache; empty: none; default ~/.cache/fuse"},
    {"FUSE_LIBCUDA", "the driver library to load instead of libcuda.so.1"},
    {"FUSE_LOG", "least level written to stderr: debug, info, warning or error"},
};

std::set<std::string, std::less<>> split(const char *text) {
  std::set<std::string, std::less<>> parts;
  std::string_view rest = text ? text : "";
  while (!rest.empty()) {
    std::size_t comma = rest.find(',');
    if (comma != 0) parts.emplace(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return parts;
}

bool is_on(const char *text) { return text && *text && std::string_view(text) != "0"; }

std::optional<LogLevel> level_of(const char *text) {
  if (!text) return {};
  for (LogLevel level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error})
    if (to_string(level) == text) return level;
  return {};
}

std::string file_name(std::string_view stage, std::string_view name) {
  static std::atomic<unsigned> counter{0};
  std::string safe(name);
  for (char &c : safe)
    if (c == '/' || c == '\0') c = '_';
  return fmt::format("{:03}-{}.{}", counter++, safe, stage);
}

}  // namespace

std::span<const EnvVariable> environment_variables() { return kVariables; }

Environment read_environment(const std::function<const char *(const char *)> &get) {
  auto text = [&](const char *name) { return std::string(get(name) ? get(name) : ""); };
  Environment env;
  env.dump = split(get("FUSE_DUMP"));
  env.dump_dir = text("FUSE_DUMP_DIR");
  env.time = is_on(get("FUSE_TIME"));
  env.verify = is_on(get("FUSE_VERIFY"));
  env.disable = split(get("FUSE_DISABLE"));
  if (get("FUSE_CACHE_DIR")) env.cache_dir = text("FUSE_CACHE_DIR");
  env.libcuda = text("FUSE_LIBCUDA");
  env.log = level_of(get("FUSE_LOG"));
  return env;
}

const Environment &environment() {
  static const Environment &env = *new Environment(
      read_environment([](const char *name) -> const char * { return std::getenv(name); }));
  return env;
}

void dump(std::string_view stage, std::string_view name, std::string_view text) noexcept try {
  if (!dumps(stage)) return;
  const std::string &folder = environment().dump_dir;
  if (folder.empty()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  std::string path = folder + "/" + file_name(stage, name);
  if (!(std::ofstream(path, std::ios::binary) << text).flush())
    log(LogLevel::Warning, "cannot write the dump {}", path);
} catch (...) {  // a dump is a courtesy: it never fails a compilation
}

}  // namespace fuse
