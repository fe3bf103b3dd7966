// The text of programs; docs/kernel.md has the format.
#pragma once

#include "ir/program.h"

#include <optional>
#include <string>
#include <string_view>

namespace fuse {

std::string_view to_string(Limit::Kind kind);

/// The text of a program holds all that runs and all that reports show; of the plan's kernels that
/// is name, time and bound. Equal programs print alike.
std::string to_string(const Program &program);

/// The program that prints as the text. Throws Error{Parse} with the place for any other text, and
/// where a step is bound to what is not there.
Program parse_program(std::string_view text, std::string_view file = "<text>");

/// An extent of a buffer as the extent of an argument; nullopt if it is no polynomial in symbols.
std::optional<Dim> to_dim(const Index &extent);

}  // namespace fuse
