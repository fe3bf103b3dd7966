// The CUDA driver, loaded at run time: a table of entry points, and errors with names.
#pragma once

#include "runtime/driver_types.h"

#include <string>

namespace fuse::cuda {

/// Every entry point of driver.def as a function pointer of the same name.
struct Driver {
#define FUSE_DRIVER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "runtime/driver.def"
  int version = 0;  // of CUDA, 1000 * major + 10 * minor
};

}  // namespace fuse::cuda

namespace fuse {

using cuda::Driver;

/// Loads the library (empty: libcuda.so.1) and initialises it. Throws Error{NoDevice} where the
/// library, a symbol of it or every GPU is missing, naming what is.
Driver load_driver(const std::string &library);

/// The driver of this process, loaded at the first call (FUSE_LIBCUDA names another library) and
/// never unloaded. Throws the same Error at every call if that failed.
const Driver &driver();

/// True where driver() does not throw.
bool has_driver() noexcept;

/// Throws Error for a result other than success: the call, CUDA's name of the error and its text.
void check(cuda::CUresult result, const char *call);
[[noreturn]] void fail_driver(const Driver &driver, cuda::CUresult result, const char *call,
                              const std::string &detail = {});

}  // namespace fuse

/// FUSE_CUDA(cuStreamSynchronize, stream): calls through the table and checks the result.
#define FUSE_CUDA(name, ...) ::fuse::check(::fuse::driver().name(__VA_ARGS__), #name)
