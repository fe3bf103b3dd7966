// Named by the hash of its contents: the same error leaves one file.
#include "reproducer.h"

#include "files.h"
#include "options.h"
#include "runtime/build_id.h"
#include "runtime/hash.h"

#include <fuse/error.h>

#include <new>

using fuse::Error;
using fuse::ErrorCode;

namespace {

std::string in_comments(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    result += "// " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// Writes the file and throws the error with its place.
[[noreturn]] void report(std::string_view source, const std::vector<std::string> &arguments,
                         const std::string &error, const std::string &folder) {
  std::string text = reproducer_text(source, arguments, error);
  std::string path = folder + "/fuse-internal-" + to_string(fuse::hash128(text)) + ".fuse";
  std::string note;
  try {
    write_file(path, text);
    note = "; " + path + " reproduces it";
  } catch (const Error &e) {
    note = std::string("; no file reproduces it: ") + e.what();
  }
  throw Error(ErrorCode::Internal, error + note);
}

}  // namespace

std::string reproducer_text(std::string_view source, const std::vector<std::string> &arguments,
                            std::string_view error) {
  std::string command = "fuse-opt";
  for (const std::string &a : arguments) command += " " + a;
  return in_comments("internal error: " + std::string(error)) +
         in_comments("of " + fuse::library_build() + ", at: " + command) + std::string(source);
}

int with_reproducer(std::string_view source, const std::vector<std::string> &arguments,
                    const std::function<int()> &function, const std::string &folder) {
  std::string error;
  try {
    return function();
  } catch (const UsageError &) {
    throw;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const Error &e) {
    if (e.code() != ErrorCode::Internal) throw;
    error = e.what();
  } catch (const std::exception &e) {
    error = e.what();
  }
  report(source, arguments, error, folder);
}
