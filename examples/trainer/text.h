// The data, made here: numbers in words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Numbers below 1,000 in words, a line each, drawn independently.
struct Text {
  std::string alphabet;              // a character is its position here
  std::vector<std::uint8_t> places;  // the text
  double entropy = 0;                // nats of a character: no model's loss stays below it
};

Text make_text(int lines, std::uint64_t seed);

/// Whether the line is one that make_text writes.
bool is_number(std::string_view line);
