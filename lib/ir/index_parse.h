// The expressions of extents and offsets: + - * `/` (floor) `%` (floor mod), parentheses, integers,
// `ceil(a / b)`, and names, which the caller resolves.
#pragma once

#include "ir/index.h"
#include "ir/lexer.h"

#include <functional>

namespace fuse {

/// Resolves an identifier or a %value; reports an unknown one through Lexer::error.
using ResolveName = std::function<Index(const Token &)>;

/// Reads the longest expression at the lexer. Failures are Error{Parse}.
Index parse_index(Lexer &lexer, const ResolveName &resolve);

}  // namespace fuse
