// The table of instances: who has what, how many blocks, and how a launch passes it.
#include "ir/instances.h"

#include "ir/format.h"

#include <algorithm>
#include <cstring>

namespace fuse {

namespace {

constexpr std::size_t kPointerBytes = 8;

std::size_t entry_size(const Buffer &buffer) {
  return buffer.role == BufferRole::Scalar ? size_of(buffer.dtype) : kPointerBytes;
}

}  // namespace

int num_instances(const Kernel &kernel) { return std::max(1, kernel.instances); }

std::vector<LaunchBuffer> launch_buffers(const Kernel &kernel) {
  std::vector<LaunchBuffer> all;
  for (BufferId b = 0; b < kernel.buffers.size(); ++b)
    for (int i = 0; i < (kernel.buffers[b].each ? kernel.instances : 1); ++i) all.push_back({b, i});
  return all;
}

std::string name_of(const Kernel &kernel, const LaunchBuffer &buffer) {
  const Buffer &b = kernel.buffers[buffer.buffer];
  return b.each ? b.name + "." + std::to_string(buffer.instance) : b.name;
}

Index at_instance(const Kernel &kernel, const Index &index, int instance) {
  if (kernel.table.empty()) return index;
  return substitute(index, [&](const Atom &atom) -> std::optional<Index> {
    for (const InstanceSize &size : kernel.table)
      if (atom.kind == Atom::Kind::Symbol && atom.symbol == size.name)
        return size.values[static_cast<std::size_t>(instance)];
    return std::nullopt;
  });
}

bool differs_between_instances(const Kernel &kernel, const Index &index) {
  return any_atom(index, [&](const Atom &atom) {
    return atom.kind == Atom::Kind::Symbol &&
           std::any_of(kernel.table.begin(), kernel.table.end(),
                       [&](const InstanceSize &size) { return size.name == atom.symbol; });
  });
}

Bindings sizes_of(const Kernel &kernel, int instance, const Bindings &sizes) {
  Bindings all = sizes;
  for (const InstanceSize &size : kernel.table)
    all[size.name] = evaluate(size.values[static_cast<std::size_t>(instance)],
                              [&](const Atom &atom) { return sizes.at(atom.symbol); });
  return all;
}

std::vector<std::int64_t> first_clusters(const Kernel &kernel, const Bindings &sizes) {
  Index clusters = clusters_of(kernel);
  std::vector<std::int64_t> first = {0};
  for (int i = 0; i < num_instances(kernel); ++i) {
    Bindings own = sizes_of(kernel, i, sizes);
    first.push_back(first.back() +
                    evaluate(clusters, [&](const Atom &atom) { return own.at(atom.symbol); }));
  }
  return first;
}

std::int64_t num_blocks(const Kernel &kernel, const Bindings &sizes) {
  return first_clusters(kernel, sizes).back() * kernel.cluster;
}

TableShape table_shape(const Kernel &kernel) {
  TableShape shape;
  auto add = [&](std::size_t size) {
    TableColumn column{shape.bytes, size};
    std::size_t bytes = size * static_cast<std::size_t>(kernel.instances);
    shape.bytes += (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
    return column;
  };
  for (const Buffer &b : kernel.buffers)
    shape.buffers.push_back(b.each ? add(entry_size(b)) : TableColumn{});
  for (std::size_t i = 0; i < kernel.table.size(); ++i)
    shape.sizes.push_back(add(sizeof(std::int64_t)));
  if (!kernel.table.empty()) shape.first = add(sizeof(std::uint32_t));
  return shape;
}

void set_entry(void *table, const TableColumn &column, int instance, const void *value) {
  std::size_t at = column.offset + column.size * static_cast<std::size_t>(instance);
  std::memcpy(static_cast<char *>(table) + at, value, column.size);
}

std::vector<std::uint64_t> make_table(const Kernel &kernel, const Bindings &sizes) {
  TableShape shape = table_shape(kernel);
  std::vector<std::uint64_t> table(shape.bytes / sizeof(std::uint64_t));
  std::vector<std::int64_t> clusters = first_clusters(kernel, sizes);
  for (int i = 0; i < kernel.instances; ++i) {
    Bindings own = sizes_of(kernel, i, sizes);
    for (std::size_t k = 0; k < kernel.table.size(); ++k)
      set_entry(table.data(), shape.sizes[k], i, &own.at(kernel.table[k].name));
    auto first = static_cast<std::uint32_t>(clusters[static_cast<std::size_t>(i)]);
    set_entry(table.data(), shape.first, i, &first);
  }
  return table;
}

std::int64_t parameter_bytes(const Kernel &kernel) {
  std::size_t bytes = table_shape(kernel).bytes + symbols_of(kernel).size() * sizeof(std::int64_t);
  for (const Buffer &b : kernel.buffers)
    if (!b.each) bytes += std::max(entry_size(b), kPointerBytes);  // with what aligns the next
  return static_cast<std::int64_t>(bytes);
}

}  // namespace fuse
