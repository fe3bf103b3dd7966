// Fuzz target: any bytes behind the header of a serialized executable are refused by an Error, or
// make an Executable that tells what it is and reads back. Bytes are taken for a body as they are,
// and for changes of a right one: an offset and a difference for each byte.
#include "runtime/executable_impl.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using fuse::Executable;

std::string body_of(const Executable &executable) {
  std::string bytes = executable.serialize();
  return bytes.substr(bytes.find("program @") - sizeof(std::uint64_t));
}

/// Kernels, a workspace, strides, limits, and code for two machines.
const std::string &right_body() {
  static const std::string body = [] {
    fuse::Graph graph = fuse::parse(R"(graph @f(%x: bf16[B, C], %s: bf16 scalar) {
  symbol C min=1
  %e = extern "mm"(%x) : bf16[B, C]
  %y = softmax %e axis=1
  %z = mul %y, %s
  %m = max %x axes=[0]
  return %z as z, %m as m
})");
    fuse::CompileOptions options;
    options.executor = fuse::Executor::None;
    options.no_recompile = true;
    options.expected_sizes = {{"B", 64}, {"C", 1024}};
    options.targets = {fuse::Target::named("h200"), fuse::Target::named("host")};
    return body_of(fuse::compile(graph, options));
  }();
  return body;
}

std::string changed(const std::uint8_t *data, std::size_t size) {
  std::string body = right_body();
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    std::size_t offset = data[i] | data[i + 1] << 8 | data[i + 2] << 16;
    body[offset % body.size()] ^= static_cast<char>(data[i + 3]);
  }
  return body;
}

void read(std::string_view body) {
  fuse::DeserializeOptions options;
  options.executor = fuse::Executor::None;
  try {
    Executable executable = fuse::make_executable(fuse::decode_body(body), options);
    executable.inputs();
    executable.outputs();
    executable.overview();
    std::string again = body_of(executable);
    if (body_of(fuse::make_executable(fuse::decode_body(again), options)) == again) return;
    std::fprintf(stderr, "does not read back\n");
  } catch (const fuse::Error &error) {
    if (error.code() != fuse::ErrorCode::Internal) return;
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  read({reinterpret_cast<const char *>(data), size});
  read(changed(data, size));
  return 0;
}
