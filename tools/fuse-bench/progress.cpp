#include "progress.h"

#include <unistd.h>

namespace fuse::bench {

namespace {

constexpr const char *kClearLine = "\r\033[K";

}  // namespace

Progress::Progress(std::size_t total, std::FILE *file)
    : file_(file), is_terminal_(::isatty(::fileno(file)) == 1), total_(total) {}

void Progress::next(const std::string &what) {
  ++done_;
  write(kClearLine + ("[" + std::to_string(done_) + "/" + std::to_string(total_) + "] ") + what);
}

void Progress::clear() { write(kClearLine); }

void Progress::write(const std::string &text) {
  if (!is_terminal_) return;
  std::fputs(text.c_str(), file_);
  std::fflush(file_);
}

}  // namespace fuse::bench
