// Version, symbol visibility and the ABI namespace of the public headers.
//
// Everything public lives in the inline namespace fuse::v0, so two ABI generations can share a
// process. The headers need C++17; source locations in errors need C++20.
#pragma once

#define FUSE_VERSION_MAJOR 0
#define FUSE_VERSION_MINOR 1
#define FUSE_VERSION_PATCH 0
#define FUSE_VERSION_STRING "0.1.0"

#define FUSE_API __attribute__((visibility("default")))

#define FUSE_BEGIN_NAMESPACE \
  namespace fuse {           \
  inline namespace v0 {
#define FUSE_END_NAMESPACE \
  }                        \
  }

FUSE_BEGIN_NAMESPACE

/// Version of the library that is loaded, "major.minor.patch". Compare it with
/// FUSE_VERSION_STRING to find a header and a library that do not belong together.
FUSE_API const char *version() noexcept;

FUSE_END_NAMESPACE
