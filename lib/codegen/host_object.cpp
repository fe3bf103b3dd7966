// What keeps the bytes guards them by a checksum; what is checked here is their extent.
#include "codegen/host_object.h"

#include "ir/bytes.h"

namespace fuse {

namespace {

constexpr std::uint64_t kMagic = 0x31'74'73'6f'68'65'73'75;  // "usehost1"

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
  ByteReader reader(bytes, "compiled host kernel");
  reader.require(reader.number() == kMagic);
  CompiledHostKernel kernel;
  kernel.geometry.name = reader.text();
  kernel.geometry.threads = static_cast<std::uint32_t>(reader.number());
  kernel.geometry.cluster = static_cast<std::uint32_t>(reader.number());
  HostFunctionShape &shape = kernel.object.shape;
  shape.entry = reader.text();
  shape.suspends = reader.number() != 0;
  shape.shared_bytes = reader.number();
  for (std::size_t arrays = reader.count(2 * sizeof(std::uint64_t)); arrays > 0; --arrays) {
    std::uint64_t offset = reader.number();
    shape.shared.push_back({offset, reader.number()});
  }
  kernel.object.code = reader.text();
  reader.require(reader.left() == 0);
  return kernel;
}

}  // namespace fuse
