// The one exception type of the library.
#pragma once

#include <fuse/config.h>

#include <stdexcept>
#include <string>
#include <string_view>
#if defined(__has_include)
#if __has_include(<source_location>) && __cplusplus >= 202002L
#include <source_location>
#define FUSE_HAS_SOURCE_LOCATION 1
#endif
#endif

FUSE_BEGIN_NAMESPACE

enum class ErrorCode {
  InvalidArgument,  ///< a value that the call cannot take
  Shape,            ///< shapes or axes that do not fit
  DType,            ///< an element type that the operation does not take
  Parse,            ///< text or bytes that are not a program
  Unsupported,      ///< legal, but not implemented for this target
  NoDevice,         ///< no driver or no GPU
  OutOfMemory,      ///< device or workspace memory exhausted
  Driver,           ///< a call of the CUDA driver failed
  Io,               ///< a file could not be read or written
  Internal,         ///< a bug in the library: please report it
};

FUSE_API std::string_view to_string(ErrorCode code) noexcept;

/// Place in the user's source: the expression that built a value. Empty below C++20.
struct SourceLocation {
  const char *file = "";
  unsigned line = 0;

#ifdef FUSE_HAS_SOURCE_LOCATION
  static constexpr SourceLocation current(
      std::source_location where = std::source_location::current()) noexcept {
    return {where.file_name(), static_cast<unsigned>(where.line())};
  }
#else
  static constexpr SourceLocation current() noexcept { return {}; }
#endif
};

/// Every failure of the library is thrown as an Error: a code for programs, a message for people.
/// The message names the values involved and what to do about them.
class FUSE_API Error : public std::runtime_error {
 public:
  /// what() reads "file:line: message" where the place is known.
  Error(ErrorCode code, const std::string &message, SourceLocation where = {});

  ErrorCode code() const noexcept { return code_; }

  /// "file:line" of the expression at fault, or "" where it is not known.
  std::string where() const;

 private:
  ErrorCode code_;
  SourceLocation where_;
};

FUSE_END_NAMESPACE
