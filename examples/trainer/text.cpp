#include "trainer/text.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace {

constexpr int kNumbers = 1000;

std::string in_words(int n) {
  static const char *const ones[] = {"zero",    "one",     "two",       "three",    "four",
                                     "five",    "six",     "seven",     "eight",    "nine",
                                     "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                     "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
  static const char *const tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                     "fifty", "sixty", "seventy", "eighty", "ninety"};
  if (n >= 100)
    return std::string(ones[n / 100]) + " hundred" + (n % 100 ? " and " + in_words(n % 100) : "");
  if (n >= 20) return std::string(tens[n / 10]) + (n % 10 ? " " + in_words(n % 10) : "");
  return ones[n];
}

std::vector<std::string> all_lines() {
  std::vector<std::string> lines;
  for (int n = 0; n < kNumbers; ++n) lines.push_back(in_words(n) + "\n");
  return lines;
}

std::string alphabet_of(std::string characters) {
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  return characters;
}

}  // namespace

Text make_text(int lines, std::uint64_t seed) {
  std::vector<std::string> numbers = all_lines();
  std::string each_once;
  for (const std::string &line : numbers) each_once += line;
  Text text;
  text.alphabet = alphabet_of(each_once);
  text.entropy = kNumbers * std::log(kNumbers) / static_cast<double>(each_once.size());
  std::mt19937_64 random(seed);
  for (int i = 0; i < lines; ++i)
    for (char c : numbers[random() % kNumbers])
      text.places.push_back(static_cast<std::uint8_t>(text.alphabet.find(c)));
  return text;
}

bool is_number(std::string_view line) {
  for (int n = 0; n < kNumbers; ++n)
    if (in_words(n) == line) return true;
  return false;
}
