// Loading of libcuda and the translation of its errors.
#include "runtime/driver.h"

#include "ir/env.h"
#include "ir/format.h"

#include <dlfcn.h>

#include <optional>

namespace fuse {

using namespace cuda;

namespace {

constexpr const char *kDefaultLibrary = "libcuda.so.1";

void *resolve(void *handle, const char *symbol, const std::string &library) {
  if (void *address = ::dlsym(handle, symbol)) return address;
  fail(ErrorCode::NoDevice, "{} has no symbol {}: fuse needs a driver of CUDA 12.0 or later",
       library, symbol);
}

/// Outcome of the one attempt of this process.
struct Loaded {
  std::optional<Driver> driver;
  std::optional<Error> error;
};

Loaded attempt() {
  try {
    return {load_driver(environment().libcuda), {}};
  } catch (const Error &error) {
    return {{}, error};
  }
}

const Loaded &loaded() {
  static const Loaded &instance = *new Loaded(attempt());
  return instance;
}

ErrorCode code_of(CUresult result) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return ErrorCode::OutOfMemory;
  if (result == CUDA_ERROR_NO_DEVICE) return ErrorCode::NoDevice;
  return ErrorCode::Driver;
}

}  // namespace

Driver load_driver(const std::string &library) {
  const std::string &name = library.empty() ? kDefaultLibrary : library;
  // The handle is kept for good: kernels may be in flight until the process ends.
  void *handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = ::dlerror();
    fail(ErrorCode::NoDevice,
         "cannot load the CUDA driver {}: {}; set FUSE_LIBCUDA to its path, or compile for "
         "Executor::Host",
         name, why ? why : "unknown");
  }
  Driver d;
#define FUSE_DRIVER(function, symbol, parameters) \
  d.function = reinterpret_cast<decltype(d.function)>(resolve(handle, #symbol, name));
#include "runtime/driver.def"
  if (CUresult r = d.cuInit(0); r != CUDA_SUCCESS) {
    const char *text = nullptr;
    d.cuGetErrorString(r, &text);
    fail(ErrorCode::NoDevice, "cuInit of {} failed: {}", name, text ? text : "unknown error");
  }
  if (CUresult r = d.cuDriverGetVersion(&d.version); r != CUDA_SUCCESS)
    fail_driver(d, r, "cuDriverGetVersion");
  int count = 0;
  if (CUresult r = d.cuDeviceGetCount(&count); r != CUDA_SUCCESS)
    fail_driver(d, r, "cuDeviceGetCount");
  if (count == 0) fail(ErrorCode::NoDevice, "the CUDA driver {} finds no GPU", name);
  return d;
}

const Driver &driver() {
  const Loaded &state = loaded();
  if (state.error) throw Error(*state.error);
  return *state.driver;
}

bool has_driver() noexcept try { return loaded().driver.has_value(); } catch (...) {
  return false;
}

void fail_driver(const Driver &d, CUresult result, const char *call, const std::string &detail) {
  const char *name = nullptr, *text = nullptr;
  d.cuGetErrorName(result, &name);
  d.cuGetErrorString(result, &text);
  fail(code_of(result), "{} failed: {} ({}){}{}", call, name ? name : "unknown error",
       text ? text : std::to_string(result), detail.empty() ? "" : "\n", detail);
}

void check(CUresult result, const char *call) {
  if (result != CUDA_SUCCESS) fail_driver(driver(), result, call);
}

}  // namespace fuse
