// Where the rooms send their messages.
#pragma once

#include "ir/format.h"

#include <fuse/log.h>

#include <string>
#include <string_view>

namespace fuse {

/// False where a message of the level would be dropped: do not build its text then.
bool log_enabled(LogLevel level) noexcept;

/// Hands the text to the handler. Never throws.
void log(LogLevel level, std::string_view text) noexcept;

/// Of what a variable other than FUSE_LOG asks for: without a handler it goes to stderr. Never
/// throws.
void log_asked(LogLevel level, std::string_view text) noexcept;

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args &&...args) {
  if (!log_enabled(level)) return;
  std::string text;
  vappend(text, format, fmt::make_format_args(args...));
  log(level, std::string_view(text));
}

}  // namespace fuse
