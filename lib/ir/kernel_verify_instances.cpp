// Invariants of the table of instances: 31, but for its names among one another, and 32.
#include "ir/instances.h"
#include "ir/kernel_verify.h"

#include <algorithm>

namespace fuse {

namespace {

void verify_table_size(const Kernel &k, const InstanceSize &size) {
  std::string place = "size " + size.name;
  auto count = static_cast<std::size_t>(k.instances);
  require(size.values.size() == count, k, place, "{} values for {} instances", size.values.size(),
          count);
  for (const Index &value : size.values) {
    require(!value.uses(Atom::Kind::Dim) && !value.uses(Atom::Kind::Value), k, place,
            "{} uses more than symbols", to_string(k, value));
    require(!differs_between_instances(k, value), k, place,
            "{} uses a size of the table; write symbols of the launch", to_string(k, value));
    require(value.constant().value_or(0) >= 0, k, place, "{} is negative", to_string(k, value));
  }
  for (const KernelDim &d : k.dims)
    require(d.name != size.name, k, place, "{} is also the name of a dim", size.name);
}

/// What all instances share has one shape, and they only read it.
void verify_shared(const Kernel &k, const Buffer &b) {
  std::string place = "buffer " + b.name;
  bool is_read = b.role == BufferRole::Input || b.role == BufferRole::Scalar;
  require(is_read, k, place, "instances cannot share what they store; mark it `each`");
  for (const Index &extent : b.shape)
    require(!differs_between_instances(k, extent), k, place,
            "its extent {} differs between instances; mark it `each`", to_string(k, extent));
}

}  // namespace

void verify_instances(const Kernel &kernel) {
  if (kernel.instances == 0) {
    require(kernel.table.empty(), kernel, "signature", "a table of no instances");
    for (const Buffer &b : kernel.buffers)
      require(!b.each, kernel, "buffer " + b.name, "`each` in a kernel without instances");
    return;
  }
  require(kernel.instances > 0, kernel, "signature", "{} instances", kernel.instances);
  for (const InstanceSize &size : kernel.table) verify_table_size(kernel, size);
  for (const Buffer &b : kernel.buffers)
    if (!b.each) verify_shared(kernel, b);
  std::int64_t bytes = parameter_bytes(kernel);
  require(bytes <= kMaxParameterBytes, kernel, "signature",
          "{} instances take {} bytes of parameters, and a launch has {}: split them",
          kernel.instances, bytes, kMaxParameterBytes);
}

}  // namespace fuse
