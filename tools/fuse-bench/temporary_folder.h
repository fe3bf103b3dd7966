// A folder that goes with its files.
#pragma once

#include <filesystem>
#include <string>

namespace fuse::bench {

class TemporaryFolder {
 public:
  /// Throws Error{Io}.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace fuse::bench
