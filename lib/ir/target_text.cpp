// Printing and reading the fields of target_fields.def.
#include "ir/target_text.h"

#include "ir/format.h"
#include "ir/suggest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace fuse {

namespace {

// A new field of Target does not compile before it is in the table.
#define FUSE_TARGET_FIELD(field) , field
[[maybe_unused]] void every_field_is_listed(const Target &target) {
  [[maybe_unused]] const auto &[name
#include "ir/target_fields.def"
  ] = target;
}

/// A figure and where it stands in the file.
struct Line {
  std::string_view file;
  int number;
  std::string key, value;

  template <class... Args>
  [[noreturn]] void error(fmt::format_string<Args...> format, Args &&...args) const {
    std::string text = fmt::vformat(format, fmt::make_format_args(args...));
    fail(ErrorCode::Parse, "{}:{}: error: {}", file, number, text);
  }
};

double number_of(const Line &line) {
  char *end = nullptr;
  double number = std::strtod(line.value.c_str(), &end);
  if (line.value.empty() || *end != '\0' || !std::isfinite(number) || number < 0)
    line.error("{} = '{}' is no number of at least 0", line.key, line.value);
  return number;
}

template <class Field>
void set(Field &field, const Line &line) {
  double number = number_of(line);
  constexpr double kLargest = std::is_same_v<Field, int>    ? 1e9
                              : std::is_same_v<Field, bool> ? 1
                                                            : 1e15;
  bool fits =
      std::is_floating_point_v<Field> || (number <= kLargest && std::floor(number) == number);
  if (!fits) line.error("{} = {} is no integer up to {}", line.key, line.value, kLargest);
  field = static_cast<Field>(number);
}

void set_figure(Target &target, const Line &line) {
  if (line.key == "name") {
    target.name = line.value;
    return;
  }
#define FUSE_TARGET_FIELD(field) \
  if (line.key == #field) return set(target.field, line);
#include "ir/target_fields.def"
#define FUSE_TARGET_FIELD(field) #field,
  std::vector<std::string_view> known = {
      "name",
      "like",
#include "ir/target_fields.def"
  };
  line.error("no figure is named {}{}", line.key, suggest(line.key, known));
}

std::string trimmed(std::string_view text) {
  std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

/// What the cost model and the scheduler divide by, and what PTX exists for.
void check(const Target &t, std::string_view file) {
  auto require = [&](bool fine, const char *what) {
    if (!fine) fail(ErrorCode::Parse, "{}: error: {}", file, what);
  };
  require(t.sm >= 80 && t.sm <= 121, "sm is 80 to 121");
  require(t.num_sms > 0 && t.clock_hz > 0, "num_sms and clock_hz must be given");
  require(t.hbm_bytes > 0 && t.l2_bytes > 0, "hbm_bytes and l2_bytes must be given");
  require(t.fma_per_clock > 0 && t.f64_per_clock > 0 && t.int_per_clock > 0 &&
              t.mufu_per_clock > 0 && t.lsu_per_clock > 0 && t.issue_per_clock > 0,
          "rates per clock are more than 0");
  require(t.max_threads_per_block == 1024 && t.max_threads_per_sm >= 1024 &&
              t.registers_per_sm >= 65536 && t.max_registers >= 255 && t.max_blocks_per_sm > 0,
          "limits of a block are less than any GPU's");
  require(t.shared_per_block >= 48 << 10 && t.shared_per_sm >= t.shared_per_block,
          "shared memory is less than any GPU's");
  require(t.max_cluster == 1 || t.max_cluster == 8 || t.max_cluster == 16,
          "max_cluster is 1, 8 or 16");
  require(t.parameter_bytes >= 4096, "parameter_bytes is at least 4096");
}

}  // namespace

std::string to_string(const Target &target) {
  std::string text = "name = " + target.name + "\n";
#define FUSE_TARGET_FIELD(field) append(text, #field " = {}\n", +target.field);
#include "ir/target_fields.def"
  return text;
}

Target parse_target(std::string_view text, std::string_view file) {
  Target target;
  for (int number = 1; !text.empty(); ++number) {
    std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::string words = trimmed(content.substr(0, content.find("//")));
    if (words.empty()) continue;
    std::size_t equals = words.find('=');
    Line line{file, number, trimmed(words.substr(0, equals)), ""};
    if (equals == words.npos) line.error("'{}' is not of the form figure = value", words);
    line.value = trimmed(words.substr(equals + 1));
    if (line.key != "like")
      set_figure(target, line);
    else if (std::vector<std::string> names = Target::names();
             std::find(names.begin(), names.end(), line.value) != names.end())
      target = Target::named(line.value);
    else
      line.error("no target is named '{}'", line.value);
  }
  check(target, file);
  return target;
}

}  // namespace fuse
