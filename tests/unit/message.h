// Errors as tests compare them.
#pragma once

#include <fuse/error.h>

#include <functional>
#include <string>

namespace fuse {

/// What the error of a call says.
inline std::string message_of(const std::function<void()> &call) {
  try {
    call();
  } catch (const Error &e) {
    return e.what();
  }
  return "no error";
}

}  // namespace fuse
