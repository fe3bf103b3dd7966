// Error codes and places as text.
#include <fuse/error.h>

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

std::string Error::where() const {
  if (where_.line == 0) return {};
  return std::string(where_.file) + ":" + std::to_string(where_.line);
}

FUSE_END_NAMESPACE
