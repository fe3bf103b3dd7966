// What tuning varies of a kernel's mapping: deviations from the scheduler's rules.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fuse {

/// How the threads of a block meet a row.
enum class RowForm : unsigned char {
  ByRule,
  Held,    // in registers, each element loaded once
  Looped,  // passed over, once for each level of reductions
  Piped,   // in shared memory, while further rows are on their way
};

/// Factors are powers of two of what the rules choose, by their logarithms. What a mapping has no
/// use for changes nothing, and what it cannot do is cut down to what it can.
struct Tuning {
  int elements = 0;  // of a thread: of the row it holds, or in an iteration
  int threads = 0;   // of a block
  int vector = 0;    // elements of an access; below 0 only
  int blocks = 0;    // that share a row or column
  int abreast = 0;   // rows that a thread holds parts of
  int resident = 0;  // blocks that an SM shall hold, not a factor; 0: by rule
  int stages = 0;    // of pipes of bulk copies, not a factor; 0: by rule, 1: no pipe
  RowForm rows = RowForm::ByRule;

  friend bool operator==(const Tuning &, const Tuning &) = default;
  friend auto operator<=>(const Tuning &, const Tuning &) = default;
};

/// By the names of planned kernels.
using Tunings = std::map<std::string, Tuning>;

/// That of one kernel, the rules where there is none.
Tuning tuning_of(const Tunings &tunings, const std::string &kernel);

/// "elements=1 rows=looped"; "" of the rules.
std::string to_string(const Tuning &tuning);

/// Reads such a text, its parts apart by spaces or commas. Throws Error{InvalidArgument} naming the
/// part that is wrong, and what is known.
Tuning parse_tuning(std::string_view text);

/// Those that differ in one respect; `resident`: the blocks that an SM holds now, 0 for what its
/// threads allow.
std::vector<Tuning> neighbours(const Tuning &tuning, int resident);

}  // namespace fuse
