// Checks and counts of memory accesses. Buffers hold host elements in little-endian order, as the
// device would.
#include "ir/interpret/memory.h"

#include "ir/float_bits.h"
#include "ir/format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace fuse {

void WarpAccess::count_sectors(AccessStats &stats) {
  if (ranges_.empty()) return;
  std::set<std::int64_t> sectors, bytes;
  for (const Range &r : ranges_) {
    for (std::int64_t s = r.byte / 32; s <= (r.byte + r.bytes - 1) / 32; ++s) sectors.insert(s);
    for (std::int64_t b = 0; b < r.bytes; ++b) bytes.insert(r.byte + b);
  }
  stats.sectors += static_cast<std::int64_t>(sectors.size());
  stats.ideal_sectors += (static_cast<std::int64_t>(bytes.size()) + 31) / 32;
  ranges_.clear();
}

void WarpAccess::count_banks(AccessStats &stats) {
  if (ranges_.empty()) return;
  std::set<std::int64_t> all;
  for (std::size_t begin = 0; begin < ranges_.size();) {
    std::set<std::int64_t> words;
    std::int64_t bytes = 0;
    for (; begin < ranges_.size() && (bytes == 0 || bytes + ranges_[begin].bytes <= 128); ++begin) {
      const Range &r = ranges_[begin];
      bytes += std::max<std::int64_t>(r.bytes, 4);
      for (std::int64_t w = r.byte / 4; w <= (r.byte + r.bytes - 1) / 4; ++w) words.insert(w);
    }
    std::array<std::int64_t, 32> load{};
    for (std::int64_t w : words) ++load[static_cast<std::size_t>(w % 32)];
    stats.bank_cycles += *std::max_element(load.begin(), load.end());
    all.insert(words.begin(), words.end());
  }
  stats.ideal_bank_cycles += (static_cast<std::int64_t>(all.size()) + 31) / 32;
  ranges_.clear();
}

InterpreterMemory::InterpreterMemory(const Kernel &kernel, const InterpreterLaunch &launch,
                                     std::vector<std::int64_t> extents)
    : kernel_(kernel),
      launch_(launch),
      extents_(std::move(extents)),
      written_(kernel.buffers.size()) {
  for (BufferId b = 0; b < kernel.buffers.size(); ++b) {
    bool fits =
        launch.buffers[b].elements >= extents_[b] && (launch.buffers[b].data || extents_[b] == 0);
    if (!fits)
      fail(ErrorCode::InvalidArgument, "kernel {}: %{} needs {} elements, {} are given",
           kernel.name, kernel.buffers[b].name, extents_[b], launch.buffers[b].elements);
    bool is_stored = kernel.buffers[b].role == BufferRole::Output ||
                     kernel.buffers[b].role == BufferRole::Workspace;
    if (is_stored) written_[b].resize(static_cast<std::size_t>(extents_[b]));
  }
}

std::string InterpreterMemory::check_bounds(BufferId buffer, std::int64_t offset) const {
  std::string message;
  if (offset < 0 || offset >= extents_[buffer])
    append(message, "offset {} is outside the {} elements of %{}", offset, extents_[buffer],
           kernel_.buffers[buffer].name);
  return message;
}

std::uint64_t InterpreterMemory::read(BufferId buffer, std::int64_t offset) const {
  DType dtype = kernel_.buffers[buffer].dtype;
  std::uint64_t bits = 0;
  std::size_t size = size_of(dtype);
  std::memcpy(&bits,
              static_cast<const char *>(launch_.buffers[buffer].data) +
                  static_cast<std::size_t>(offset) * size,
              size);
  if (is_bool(dtype)) return bits != 0;
  return is_int(dtype) ? wrap_int(dtype, bits) : bits;
}

std::string InterpreterMemory::load(BufferId buffer, std::int64_t offset, std::int64_t reader,
                                    const Arrivals *arrivals, std::uint64_t &bits) const {
  std::string message = check_bounds(buffer, offset);
  if (!message.empty()) return message;
  bits = read(buffer, offset);
  return written_[buffer].empty() ? message : check_written(buffer, offset, reader, arrivals);
}

/// A thread reads what it wrote itself, or what blocks wrote before they arrived at its last_block.
std::string InterpreterMemory::check_written(BufferId buffer, std::int64_t offset,
                                             std::int64_t reader, const Arrivals *arrivals) const {
  const Buffer &b = kernel_.buffers[buffer];
  const Written &last = written_[buffer][static_cast<std::size_t>(offset)];
  std::string message;
  if (last.writer < 0) {
    if (b.role == BufferRole::Workspace)
      append(message, "%{}[{}] is read, but no thread has stored it", b.name, offset);
    return message;
  }
  if (last.writer == reader) return message;
  std::int64_t block = last.writer / kernel_.threads;
  if (arrivals) {
    auto it = arrivals->find(block);
    if (it != arrivals->end() && last.passed <= it->second) return message;
  }
  append(message, "%{}[{}] is read, but thread {} of block {} writes it{}", b.name, offset,
         last.writer % kernel_.threads, block, arrivals ? " and has not arrived since" : "");
  return message;
}

std::string InterpreterMemory::store(BufferId buffer, std::int64_t offset, std::int64_t writer,
                                     bool in_last_block, std::uint64_t bits) {
  std::string message = check_bounds(buffer, offset);
  if (!message.empty()) return message;
  Written &last = written_[buffer][static_cast<std::size_t>(offset)];
  if (!in_last_block && last.writer >= 0 && last.writer != writer && last.bits != bits)
    append(message, "%{}[{}] is stored, but thread {} of block {} stored another value",
           kernel_.buffers[buffer].name, offset, last.writer % kernel_.threads,
           last.writer / kernel_.threads);
  auto passed = passed_.find(writer / kernel_.threads);
  last = {writer, passed == passed_.end() ? 0 : passed->second, bits};
  std::size_t size = size_of(kernel_.buffers[buffer].dtype);
  std::memcpy(
      static_cast<char *>(launch_.buffers[buffer].data) + static_cast<std::size_t>(offset) * size,
      &bits, size);
  return message;
}

const InterpreterMemory::Arrivals *InterpreterMemory::arrive(BufferId buffer, std::int64_t offset,
                                                             std::int64_t n, std::int64_t block) {
  auto refuse = [&](const std::string &message) {
    fail(ErrorCode::Internal, "kernel {}: last_block %{}[{}]: {}", kernel_.name,
         kernel_.buffers[buffer].name, offset, message);
  };
  if (std::string message = check_bounds(buffer, offset); !message.empty()) refuse(message);
  std::uint32_t &memory = static_cast<std::uint32_t *>(launch_.buffers[buffer].data)[offset];
  Counter &counter = counters_[{buffer, offset}];
  counter.expected = n;
  counter.arrivals[block] = passed_[block]++;
  auto arrived = static_cast<std::int64_t>(counter.arrivals.size());
  if (arrived > n) refuse(fmt::format("more blocks arrive than the {} that it counts", n));
  if (memory != arrived - 1) refuse(fmt::format("it is {} before block {} arrives", memory, block));
  memory = arrived == n ? 0 : static_cast<std::uint32_t>(arrived);
  return arrived == n ? &counter.arrivals : nullptr;
}

void InterpreterMemory::check_counters() const {
  for (const auto &[place, counter] : counters_) {
    auto arrived = static_cast<std::int64_t>(counter.arrivals.size());
    if (arrived != counter.expected)
      fail(ErrorCode::Internal, "kernel {}: last_block %{}[{}]: {} blocks arrive, it counts {}",
           kernel_.name, kernel_.buffers[place.first].name, place.second, arrived,
           counter.expected);
  }
}

std::int64_t InterpreterMemory::byte_address(BufferId buffer, std::int64_t offset) const {
  return (phase(buffer) + offset) *
         static_cast<std::int64_t>(size_of(kernel_.buffers[buffer].dtype));
}

}  // namespace fuse
