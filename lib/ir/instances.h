// Instances: one body over a ragged table of sizes and buffers, held in the parameters of a launch.
//
// A kernel with instances means what its body means once for each: with the instance's buffers,
// with the sizes of its row of the table, and with blocks of its own, which follow those of the
// instances before it. Grid digits count from the first of them.
#pragma once

#include "ir/kernel.h"

#include <cstddef>

namespace fuse {

/// No driver takes more bytes of parameters.
inline constexpr std::int64_t kMaxParameterBytes = 32764;

/// Instances of the body, 1 without a table.
int num_instances(const Kernel &kernel);

/// A buffer of the kernel as an argument of a launch.
struct LaunchBuffer {
  BufferId buffer = kNone;
  int instance = 0;  // whose it is; 0 where all share it
};

/// Buffers in the order in which a launch is given them: one that each instance has stands once for
/// every instance, one after another.
std::vector<LaunchBuffer> launch_buffers(const Kernel &kernel);

/// "x.2": the name of an instance's buffer.
std::string name_of(const Kernel &kernel, const LaunchBuffer &buffer);

/// The index with the sizes of the instance for those of the table.
Index at_instance(const Kernel &kernel, const Index &index, int instance);

/// Whether the index uses a size of the table.
bool differs_between_instances(const Kernel &kernel, const Index &index);

/// The sizes of a launch and those of the instance's row of the table.
Bindings sizes_of(const Kernel &kernel, int instance, const Bindings &sizes);

/// Where the clusters of each instance start among those of the launch; the number of all last.
std::vector<std::int64_t> first_clusters(const Kernel &kernel, const Bindings &sizes);

/// Blocks of a launch.
std::int64_t num_blocks(const Kernel &kernel, const Bindings &sizes);

/// The table as a launch passes it: one parameter by value, behind all others, column by column.
struct TableColumn {
  std::size_t offset = 0;  // bytes, of the first entry
  std::size_t size = 0;    // bytes of an entry; 0: no such column
};
struct TableShape {
  std::vector<TableColumn> buffers;  // by buffer: addresses, or values of scalars
  std::vector<TableColumn> sizes;    // by Kernel::table: i64
  TableColumn first;                 // u32, its first cluster; none where all have as many
  std::size_t bytes = 0;             // whole words of 8
};
inline constexpr std::size_t kTableAlignment = 8;
TableShape table_shape(const Kernel &kernel);

/// The table with sizes and clusters of all instances; entries of buffers are 0.
std::vector<std::uint64_t> make_table(const Kernel &kernel, const Bindings &sizes);

/// Writes one entry: a size, an address, or the value of a scalar.
void set_entry(void *table, const TableColumn &column, int instance, const void *value);

/// Bytes of all parameters of a launch.
std::int64_t parameter_bytes(const Kernel &kernel);

}  // namespace fuse
