// Literals in text: decimal where that reads back bit-exact, else the bits in hexadecimal.
#pragma once

#include "ir/lexer.h"
#include "ir/literal.h"

#include <string>

namespace fuse {

/// "0.5", "-3", "true", "0x7f800000" (infinities, NaNs, and all 16- and 8-bit floats).
std::string to_string(const Literal &literal);

/// A number, inf, nan, true or false as it stands in the text; its dtype may follow later.
struct NumberText {
  Token token;
  bool negative = false;
};
NumberText parse_number(Lexer &lexer);

/// The literal of that dtype, rounded once; an Error{Parse} at the number if it does not fit.
Literal to_literal(const Lexer &lexer, const NumberText &number, DType dtype);

}  // namespace fuse
