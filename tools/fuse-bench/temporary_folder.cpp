#include "temporary_folder.h"

#include <fuse/error.h>

#include <stdlib.h>

namespace fuse::bench {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "fuse-bench-XXXXXX").string();
  if (!::mkdtemp(pattern.data()))
    throw Error(ErrorCode::Io, "cannot make a folder like " + pattern + " for the disk cache");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace fuse::bench
