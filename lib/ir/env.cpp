// Reading of the FUSE_* variables and the dumps that they ask for.
#include "ir/env.h"

#include "ir/format.h"
#include "ir/log.h"
#include "ir/suggest.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace fuse {

namespace {

constexpr EnvVariable kVariables[] = {
    {"FUSE_DUMP", "stages to print, comma-separated: graph, plan, kernel, llvm, ptx"},
    {"FUSE_DUMP_DIR", "folder for the dumps, made if missing, one file each; stderr if not set"},
    {"FUSE_TIME", "1: print the time of each stage of a compilation, whatever FUSE_LOG says"},
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

constexpr LogLevel kLevels[] = {LogLevel::Debug, LogLevel::Info, LogLevel::Warning,
                                LogLevel::Error};

std::optional<LogLevel> level_of(const char *text) {
  if (!text) return {};
  for (LogLevel level : kLevels)
    if (to_string(level) == text) return level;
  return {};
}

/// FUSE_DISABLE is not judged here: passes know their names.
std::vector<std::string> unknown_words(const Environment &env, const std::string &level) {
  std::vector<std::string> unknown;
  const std::vector<std::string_view> stages = {"graph", "plan", "kernel", "llvm", "ptx"};
  for (const std::string &word : env.dump)
    if (std::find(stages.begin(), stages.end(), word) == stages.end())
      unknown.push_back(unknown_word("FUSE_DUMP", word, stages));
  std::vector<std::string_view> levels;
  for (LogLevel l : kLevels) levels.push_back(to_string(l));
  if (!level.empty() && !env.log) unknown.push_back(unknown_word("FUSE_LOG", level, levels));
  return unknown;
}

/// Not while the variables are read: a log handler may ask for them.
void tell_once(const Environment &env) {
  static std::atomic<bool> told{false};
  if (env.unknown.empty() || told.exchange(true)) return;
  for (const std::string &text : env.unknown) log_asked(LogLevel::Warning, text);
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

std::string unknown_word(std::string_view variable, std::string_view word,
                         const std::vector<std::string_view> &known) {
  std::string names;
  for (std::string_view name : known) append(names, "{}{}", names.empty() ? "" : ", ", name);
  return fmt::format("{}: '{}' is none of {}, and ignored{}", variable, word, names,
                     suggest(word, known));
}

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
  env.unknown = unknown_words(env, text("FUSE_LOG"));
  return env;
}

const Environment &environment() {
  static const Environment &env = *new Environment(
      read_environment([](const char *name) -> const char * { return std::getenv(name); }));
  tell_once(env);
  return env;
}

void dump(std::string_view stage, std::string_view name, std::string_view text) noexcept try {
  if (!dumps(stage)) return;
  const std::string &folder = environment().dump_dir;
  if (folder.empty()) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    return;
  }
  std::error_code error;  // the file tells whether there is a folder
  std::filesystem::create_directories(folder, error);
  std::string path = folder + "/" + file_name(stage, name);
  if (!(std::ofstream(path, std::ios::binary) << text).flush())
    log_asked(LogLevel::Warning, "cannot write the dump " + path);
} catch (...) {  // a dump is a courtesy: it never fails a compilation
}

}  // namespace fuse
