// Names, bounds and divisors, in words.
#include "ir/symbol_size.h"

#include "ir/format.h"
#include "ir/suggest.h"

namespace fuse {

std::string objection_to_size(const std::vector<Symbol> &symbols, const std::string &name,
                              std::int64_t size) {
  std::vector<std::string_view> known;
  std::string why;
  for (const Symbol &s : symbols) {
    const auto &[min, max, divisor] = s.bounds;
    known.push_back(s.name);
    if (s.name != name) continue;
    if (size < min || size > max)
      append(why, "{} = {} is outside its bounds [{}, {}]", name, size, min, max);
    else if (size % divisor != 0)
      append(why, "{} = {} is not a multiple of {}", name, size, divisor);
    return why;
  }
  append(why, "{} is no symbol of the graph{}", name, suggest(name, known));
  return why;
}

}  // namespace fuse
