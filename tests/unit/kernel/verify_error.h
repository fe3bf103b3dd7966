// What the verifier says of a kernel.
#pragma once

#include "ir/kernel.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <string>

namespace fuse {

/// "" where it verifies.
inline std::string error_of(const Kernel &kernel) {
  try {
    verify(kernel);
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), ErrorCode::Internal);
    return e.what();
  }
  return "";
}

}  // namespace fuse
