// Reading and writing whole files.
#include "files.h"

#include "text.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace fs = std::filesystem;
using fuse::ErrorCode;

std::string read_file(const std::string &path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  // Reading a directory opens but gives nothing.
  if (!file || (file.peek(), file.bad())) refuse(ErrorCode::Io, "cannot read {}", path);
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) refuse(ErrorCode::Io, "cannot write {}", path);
}

bool is_folder(const std::string &path) {
  std::error_code error;
  if (path.back() != '/') return fs::is_directory(path, error);
  fs::create_directories(path, error);
  if (!fs::is_directory(path, error)) refuse(ErrorCode::Io, "cannot make the folder {}", path);
  return true;
}
