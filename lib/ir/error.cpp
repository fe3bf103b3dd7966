// Error codes and places as text.
#include <fuse/error.h>

#include "ir/format.h"

FUSE_BEGIN_NAMESPACE

const char *version() noexcept { return FUSE_VERSION_STRING; }

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::InvalidArgument: return "invalid argument";
    case ErrorCode::Shape: return "shape mismatch";
    case ErrorCode::DType: return "dtype mismatch";
    case ErrorCode::Parse: return "parse error";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::NoDevice: return "no device";
    case ErrorCode::OutOfMemory: return "out of memory";
    case ErrorCode::Driver: return "driver error";
    case ErrorCode::Io: return "input/output error";
    case ErrorCode::Internal: return "internal error";
  }
  return "unknown";
}

namespace {

std::string text_of(SourceLocation where) {
  if (where.line == 0) return {};
  return std::string(where.file) + ":" + std::to_string(where.line);
}

/// Messages about texts begin with their place already, and know the column.
std::string placed(const std::string &message, SourceLocation where) {
  std::string place = text_of(where);
  if (place.empty() || message.compare(0, place.size(), place) == 0) return message;
  return place + ": " + message;
}

}  // namespace

Error::Error(ErrorCode code, const std::string &message, SourceLocation where)
    : std::runtime_error(placed(message, where)), code_(code), where_(where) {}

std::string Error::where() const { return text_of(where_); }

FUSE_END_NAMESPACE

namespace fuse {

std::string_view words_of(const Error &error) {
  std::string_view text = error.what();
  std::string place = error.where() + ": ";
  if (place.size() > 2 && text.substr(0, place.size()) == place) text.remove_prefix(place.size());
  return text;
}

}  // namespace fuse
