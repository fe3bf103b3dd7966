// Texts from formats. The library exports `append` alone.
#pragma once

#include "ir/format.h"

#include <string>

namespace fuse::bench {

template <class... Args>
std::string formatted(fmt::format_string<Args...> format, Args &&...args) {
  std::string text;
  vappend(text, format, fmt::make_format_args(args...));
  return text;
}

}  // namespace fuse::bench
