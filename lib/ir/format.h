// Text building. Use `append` in printers and `fail` for errors; both keep compile times low.
#pragma once

#include <fuse/error.h>

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace fuse {

void vappend(std::string &out, fmt::string_view format, fmt::format_args args);

/// Appends the formatted text.
template <class... Args>
void append(std::string &out, fmt::format_string<Args...> format, Args &&...args) {
  vappend(out, format, fmt::make_format_args(args...));
}

/// Throws Error with the formatted message.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args &&...args) {
  throw Error(code, fmt::vformat(format, fmt::make_format_args(args...)));
}

template <class... Args>
[[noreturn]] void fail_at(SourceLocation where, ErrorCode code, fmt::format_string<Args...> format,
                          Args &&...args) {
  throw Error(code, fmt::vformat(format, fmt::make_format_args(args...)), where);
}

/// What the error says, without the place that what() begins with.
std::string_view words_of(const Error &error);

}  // namespace fuse

/// An invariant of the library itself: throws Error{Internal} with the place.
#define FUSE_CHECK(condition, ...)                                                       \
  do {                                                                                   \
    if (!(condition)) ::fuse::check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__); \
  } while (false)

namespace fuse {

template <class... Args>
[[noreturn]] void check_failed(const char *file, int line, const char *condition,
                               fmt::format_string<Args...> format, Args &&...args) {
  std::string text = fmt::vformat(format, fmt::make_format_args(args...));
  fail(ErrorCode::Internal, "{}:{}: {} ({}); this is a bug in fuse, please report it", file, line,
       text, condition);
}

}  // namespace fuse
