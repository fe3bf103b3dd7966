// Two runs of a suite side by side.
#pragma once

#include <string>
#include <vector>

namespace fuse::bench {

/// Of one row: its time as a fraction of the copy of the same run, so that runs on different days
/// and cards compare.
struct Measured {
  std::string name;
  double fraction = 0;
};

/// The rows with times of a file that --json wrote. Throws Error{Io} or Error{Parse}, naming the
/// file.
std::vector<Measured> read_measured(const std::string &path);

/// A line for each row of both, those that lost most first, and what they come to.
std::string comparison(const std::vector<Measured> &then, const std::vector<Measured> &now);

}  // namespace fuse::bench
