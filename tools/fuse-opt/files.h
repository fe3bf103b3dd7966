// Files in and out. All failures are Error{Io} naming the path.
#pragma once

#include <string>

/// The contents of a file; "-": of stdin.
std::string read_file(const std::string &path);

/// "-": stdout.
void write_file(const std::string &path, const std::string &text);

/// Whether outputs go to files of their own in it: an existing folder, or a path ending in '/',
/// which is then made.
bool is_folder(const std::string &path);
