// A file that reproduces an internal error.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// The text that the file holds: the input behind comments that tell the error, the version and the
/// command line. It reads as the input did.
std::string reproducer_text(std::string_view source, const std::vector<std::string> &arguments,
                            std::string_view error);

/// Calls the function. An Error{Internal}, or an exception that is no Error, leaves a file
/// fuse-internal-<hash>.fuse in the folder, and its place goes to the end of the message. Other
/// errors pass.
int with_reproducer(std::string_view source, const std::vector<std::string> &arguments,
                    const std::function<int()> &function, const std::string &folder = ".");
