// Compiled code on disk, shared by processes.
//
// An entry is one file named by the hash of its key; it holds the whole key, the payload and a
// checksum, so a torn, foreign or colliding file is a miss. Files appear by an atomic rename.
// A folder that is missing, full or read-only makes entries disappear, never a call fail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace fuse {

class DiskCache {
 public:
  static constexpr std::uint64_t kDefaultLimit = std::uint64_t{1} << 30;

  /// An empty folder name makes a cache that holds nothing.
  explicit DiskCache(std::filesystem::path folder, std::uint64_t limit_bytes = kDefaultLimit);

  /// The cache that FUSE_CACHE_DIR names, or $XDG_CACHE_HOME/fuse, or ~/.cache/fuse.
  static DiskCache &process();

  std::optional<std::string> load(std::string_view key);
  void store(std::string_view key, std::string_view payload);

  const std::filesystem::path &folder() const { return folder_; }

 private:
  std::filesystem::path path_of(std::string_view key) const;
  void evict();

  std::filesystem::path folder_;
  std::uint64_t limit_bytes_;
  std::mutex mutex_;                // of stored_bytes_
  std::uint64_t stored_bytes_ = 0;  // by this process since the folder was last measured
  bool measured_ = false;
};

}  // namespace fuse
