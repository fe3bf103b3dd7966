// What is under way, for who waits at a terminal.
#pragma once

#include <cstdio>
#include <string>

namespace fuse::bench {

/// Rewrites one line of the terminal; writes nothing where the file is none.
class Progress {
 public:
  explicit Progress(std::size_t total, std::FILE *file = stderr);
  ~Progress() { clear(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// "[3/61] softmax 32768x4096"
  void next(const std::string &what);
  /// Makes room for lines of the table.
  void clear();

 private:
  void write(const std::string &text);

  std::FILE *file_;
  bool is_terminal_;
  std::size_t done_ = 0, total_;
};

}  // namespace fuse::bench
