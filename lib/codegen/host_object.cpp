// The form: 64-bit numbers of this machine and counted strings, one after another. The disk cache
// that keeps the bytes guards them by a checksum; what is checked here is their extent.
#include "codegen/host_object.h"

#include "ir/format.h"

#include <cstring>

namespace fuse {

namespace {

constexpr std::uint64_t kMagic = 0x31'74'73'6f'68'65'73'75;  // "usehost1"

class ByteWriter {
 public:
  void number(std::uint64_t value) {
    out_.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(value.size());
    out_ += value;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(bytes(number())); }
  std::size_t left() const { return rest_.size(); }
  void require(bool fine) const {
    if (!fine) fail(ErrorCode::Parse, "the bytes are no compiled host kernel");
  }

 private:
  std::string_view bytes(std::uint64_t count) {
    require(count <= rest_.size());
    std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

}  // namespace

std::string to_bytes(const CompiledHostKernel &kernel) {
  const auto &[entry, suspends, shared, shared_bytes] = kernel.object.shape;
  const auto &[name, threads, cluster] = kernel.geometry;
  ByteWriter writer;
  writer.number(kMagic);
  writer.text(name);
  writer.number(threads);
  writer.number(cluster);
  writer.text(entry);
  writer.number(suspends);
  writer.number(shared_bytes);
  writer.number(shared.size());
  for (const auto &[offset, bytes] : shared) {
    writer.number(offset);
    writer.number(bytes);
  }
  writer.text(kernel.object.code);
  return writer.take();
}

CompiledHostKernel from_bytes(std::string_view bytes) {
  ByteReader reader(bytes);
  reader.require(reader.number() == kMagic);
  CompiledHostKernel kernel;
  kernel.geometry.name = reader.text();
  kernel.geometry.threads = static_cast<std::uint32_t>(reader.number());
  kernel.geometry.cluster = static_cast<std::uint32_t>(reader.number());
  HostFunctionShape &shape = kernel.object.shape;
  shape.entry = reader.text();
  shape.suspends = reader.number() != 0;
  shape.shared_bytes = reader.number();
  std::uint64_t arrays = reader.number();
  reader.require(arrays <= reader.left() / (2 * sizeof(std::uint64_t)));
  for (std::uint64_t i = 0; i < arrays; ++i) {
    std::uint64_t offset = reader.number();
    shape.shared.push_back({offset, reader.number()});
  }
  kernel.object.code = reader.text();
  reader.require(reader.left() == 0);
  return kernel;
}

}  // namespace fuse
