// The log handler of the process. A user's handler replaces the one that FUSE_LOG asks for; calls
// of the handler are serialised.
#include "ir/log.h"

#include "ir/env.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>

namespace fuse {

namespace {

/// Never destroyed: other static destructors may still log.
struct Sink {
  std::mutex mutex;
  LogHandler handler;
  std::atomic<bool> replaced{false};
  std::atomic<bool> silent{false};
};

Sink &sink() {
  static Sink &instance = *new Sink;
  return instance;
}

void print(LogLevel level, std::string_view text) {
  std::string line = "fuse: " + std::string(to_string(level)) + ": " + std::string(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  if (sink().replaced) return !sink().silent;
  const std::optional<LogLevel> &least = environment().log;
  return least && level >= *least;
}

void log_asked(LogLevel level, std::string_view text) noexcept try {
  std::lock_guard lock(sink().mutex);
  if (!sink().replaced) return print(level, text);
  if (sink().handler) sink().handler(level, text);
} catch (...) {  // a failing handler must not take the compilation with it
}

void log(LogLevel level, std::string_view text) noexcept {
  if (log_enabled(level)) log_asked(level, text);
}

}  // namespace fuse

FUSE_BEGIN_NAMESPACE

std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug: return "debug";
    case LogLevel::Info: return "info";
    case LogLevel::Warning: return "warning";
    case LogLevel::Error: return "error";
  }
  return "unknown";
}

void set_log_handler(LogHandler handler) {
  Sink &s = sink();
  std::lock_guard lock(s.mutex);
  s.silent = !handler;
  s.handler = std::move(handler);
  s.replaced = true;
}

FUSE_END_NAMESPACE
