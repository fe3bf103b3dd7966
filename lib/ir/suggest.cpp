// Edit distance between a word and the names it may stand for.
#include "ir/suggest.h"

#include <algorithm>
#include <numeric>

namespace fuse {

namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      std::size_t change = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggest(std::string_view word, const std::vector<std::string_view> &candidates,
                    std::string_view prefix) {
  constexpr std::size_t kLongest = 40;  // names are short; a longer word is no slip
  if (word.size() > kLongest) return {};
  // Distances below this are slips. Of single letters only the one that there is may be meant.
  std::size_t best = word.size() < 4 ? 2 : 3;
  if (word.size() == 1 && candidates.size() > 1) best = 1;
  std::string_view nearest;
  for (std::string_view c : candidates) {
    std::size_t d = distance(word, c);
    if (d >= best) continue;
    best = d;
    nearest = c;
  }
  return nearest.empty() ? std::string()
                         : "; did you mean " + std::string(prefix) + std::string(nearest) + "?";
}

}  // namespace fuse
