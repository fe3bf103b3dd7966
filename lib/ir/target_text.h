// Targets as text: a figure a line, for cache keys and for machines that the library does not know.
#pragma once

#include <fuse/target.h>

#include <string>
#include <string_view>

namespace fuse {

/// "name = h200" and a line for every figure, in the order of the struct.
std::string to_string(const Target &target);

/// Reads lines `figure = value` and // comments; `like = h200` first starts from a named target,
/// else from the struct's defaults. Throws Error{Parse}, "file:line: error: ...", for figures that
/// are not known, no numbers, or out of the range in which predictions have a meaning.
Target parse_target(std::string_view text, std::string_view file);

}  // namespace fuse
