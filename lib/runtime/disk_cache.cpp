// File format: magic, length of the key, length of the payload, checksum of both, key, payload.
// All numbers are 64-bit little-endian. Whatever differs from that is a miss.
#include "runtime/disk_cache.h"

#include "ir/env.h"
#include "ir/log.h"
#include "runtime/hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace fuse {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[8] = {'f', 'u', 's', 'e', 'c', 'a', 'c', '1'};
constexpr const char *kSuffix = ".fusecache";

struct Header {
  char magic[8];
  std::uint64_t key_bytes, payload_bytes, checksum;
};

std::uint64_t checksum(std::string_view key, std::string_view payload) {
  Hash128 of_key = hash128(key);
  return hash128(payload, of_key.lo, of_key.hi).lo;
}

/// A file descriptor that closes itself.
class File {
 public:
  File(const fs::path &path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool is_open() const { return fd_ >= 0; }

  bool write(std::string_view data) {
    while (!data.empty()) {
      ssize_t n = ::write(fd_, data.data(), data.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      data.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  std::optional<std::string> read_all() {
    struct stat info;
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return {};
    std::string data(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t done = 0;
    while (done < data.size()) {
      ssize_t n = ::read(fd_, data.data() + done, data.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return {};
      done += static_cast<std::size_t>(n);
    }
    return data;
  }

  /// Marks the entry as used, for the eviction.
  void touch() { ::futimens(fd_, nullptr); }

 private:
  int fd_;
};

std::optional<std::string> decode(std::string_view file, std::string_view key) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  file.remove_prefix(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return {};
  if (header.key_bytes != key.size() || file.size() < key.size()) return {};
  if (file.substr(0, key.size()) != key) return {};
  std::string_view payload = file.substr(key.size());
  if (header.payload_bytes != payload.size()) return {};
  if (header.checksum != checksum(key, payload)) return {};
  return std::string(payload);
}

bool write_entry(const fs::path &path, std::string_view key, std::string_view payload) {
  Header header{{}, key.size(), payload.size(), checksum(key, payload)};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  File file(path, O_WRONLY | O_CREAT | O_EXCL);
  return file.is_open() && file.write({reinterpret_cast<const char *>(&header), sizeof header}) &&
         file.write(key) && file.write(payload);
}

fs::path default_folder() {
  if (environment().cache_dir) return *environment().cache_dir;
  const char *xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && *xdg == '/') return fs::path(xdg) / "fuse";
  const char *home = std::getenv("HOME");
  return home && *home ? fs::path(home) / ".cache" / "fuse" : fs::path();
}

struct Entry {
  fs::path path;
  std::uint64_t bytes;
  fs::file_time_type used;
};

/// The entries, and leftovers of writers that died, oldest first.
std::vector<Entry> entries_of(const fs::path &folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().find(kSuffix) == std::string::npos) continue;
    std::error_code gone;  // another process may evict at the same time
    std::uint64_t bytes = it->file_size(gone);
    fs::file_time_type used = gone ? fs::file_time_type() : it->last_write_time(gone);
    if (!gone) entries.push_back({it->path(), bytes, used});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  return entries;
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

DiskCache &DiskCache::process() {
  static DiskCache &cache = *new DiskCache(default_folder());
  return cache;
}

fs::path DiskCache::path_of(std::string_view key) const {
  return folder_ / (to_string(hash128(key)) + kSuffix);
}

std::optional<std::string> DiskCache::load(std::string_view key) {
  if (folder_.empty()) return {};
  File file(path_of(key), O_RDONLY);
  if (!file.is_open()) return {};
  std::optional<std::string> data = file.read_all();
  std::optional<std::string> payload = data ? decode(*data, key) : std::nullopt;
  if (payload) file.touch();
  return payload;
}

void DiskCache::store(std::string_view key, std::string_view payload) {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  static std::atomic<unsigned> counter{0};
  fs::path path = path_of(key), temporary = path;
  temporary += fmt::format(".{}.{}", ::getpid(), counter++);
  if (!write_entry(temporary, key, payload) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    log(LogLevel::Info, "cannot write to the cache folder {}", folder_.string());
    return;
  }
  std::lock_guard lock(mutex_);
  stored_bytes_ += sizeof(Header) + key.size() + payload.size();
  // The folder is measured once, then again whenever this process may have filled an eighth.
  if (!measured_ || stored_bytes_ > limit_bytes_ / 8) evict();
}

void DiskCache::evict() {
  measured_ = true;
  stored_bytes_ = 0;
  std::vector<Entry> entries = entries_of(folder_);
  std::uint64_t total = 0;
  for (const Entry &e : entries) total += e.bytes;
  for (const Entry &e : entries) {
    if (total <= limit_bytes_) return;
    std::error_code error;
    fs::remove(e.path, error);
    total -= e.bytes;
  }
}

}  // namespace fuse
