// Formatted texts. fmt's code is in the library, which exports `append` of it alone.
#pragma once

#include "ir/format.h"

#include <string>

template <class... Args>
std::string formatted(fmt::format_string<Args...> format, Args &&...args) {
  std::string text;
  fuse::vappend(text, format, fmt::make_format_args(args...));
  return text;
}

/// Throws Error with the formatted message.
template <class... Args>
[[noreturn]] void refuse(fuse::ErrorCode code, fmt::format_string<Args...> format, Args &&...args) {
  std::string text;
  fuse::vappend(text, format, fmt::make_format_args(args...));
  throw fuse::Error(code, text);
}
