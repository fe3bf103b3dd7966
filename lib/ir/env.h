// The FUSE_* environment variables: all of them, read once.
#pragma once

#include <fuse/log.h>

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fuse {

struct Environment {
  std::set<std::string, std::less<>> dump;     // stages to print
  std::string dump_dir;                        // empty: stderr
  bool time = false;                           // log the time of each stage
  bool verify = false;                         // verify every intermediate value
  std::set<std::string, std::less<>> disable;  // passes to skip
  std::optional<std::string> cache_dir;        // empty text: no disk cache
  std::string libcuda;                         // empty: libcuda.so.1
  std::optional<LogLevel> log;                 // nullopt: silent
  std::vector<std::string> unknown;            // what is wrong with words that have no meaning
};

/// The table of variables, for documentation and --help.
struct EnvVariable {
  const char *name;
  const char *doc;
};
std::span<const EnvVariable> environment_variables();

/// Reads the variables through `get`, which returns null for one that is not set. Unknown words
/// are listed and else ignored: a stray variable must not break a program.
Environment read_environment(const std::function<const char *(const char *)> &get);

/// "FUSE_LOG: 'loud' is none of debug, info, and ignored", with a suggestion.
std::string unknown_word(std::string_view variable, std::string_view word,
                         const std::vector<std::string_view> &known);

/// The process's variables, as they were at the first call, which warns of unknown words.
const Environment &environment();

/// Prints a stage of a compilation ("graph", "plan", "kernel", "llvm", "ptx") if FUSE_DUMP names
/// it: to the file <FUSE_DUMP_DIR>/<number>-<name>.<stage>, whose folder is made, or to stderr.
/// Never throws.
void dump(std::string_view stage, std::string_view name, std::string_view text) noexcept;

/// True where FUSE_DUMP names the stage: do not build the text otherwise.
inline bool dumps(std::string_view stage) { return environment().dump.contains(stage); }

}  // namespace fuse
