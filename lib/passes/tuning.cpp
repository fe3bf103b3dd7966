// Tunings as text, and one step away.
#include "passes/tuning.h"

#include "ir/format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace fuse {

namespace {

struct Knob {
  std::string_view name;
  int Tuning::*value;
  int least, most;
};

constexpr std::array kKnobs = {
    Knob{"elements", &Tuning::elements, -4, 4}, Knob{"threads", &Tuning::threads, -4, 4},
    Knob{"vector", &Tuning::vector, -4, 0},     Knob{"blocks", &Tuning::blocks, -4, 4},
    Knob{"abreast", &Tuning::abreast, -2, 2},   Knob{"resident", &Tuning::resident, 0, 32},
    Knob{"stages", &Tuning::stages, 0, 8},
};

constexpr std::array<std::pair<std::string_view, RowForm>, 4> kForms = {{
    {"rule", RowForm::ByRule},
    {"held", RowForm::Held},
    {"looped", RowForm::Looped},
    {"piped", RowForm::Piped},
}};

int number_of(const Knob &knob, std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < knob.least ||
      value > knob.most)
    fail(ErrorCode::InvalidArgument, "tuning: {}={} is not from {} to {}", knob.name, text,
         knob.least, knob.most);
  return value;
}

RowForm form_of(std::string_view text) {
  for (const auto &[name, form] : kForms)
    if (name == text) return form;
  fail(ErrorCode::InvalidArgument, "tuning: rows={} is none of rule, held, looped, piped", text);
}

void set_part(Tuning &tuning, std::string_view part) {
  std::size_t equals = std::min(part.find('='), part.size());
  std::string_view name = part.substr(0, equals);
  std::string_view value = part.substr(std::min(equals + 1, part.size()));
  if (name == "rows") {
    tuning.rows = form_of(value);
    return;
  }
  for (const Knob &knob : kKnobs)
    if (knob.name == name) {
      tuning.*knob.value = number_of(knob, value);
      return;
    }
  fail(ErrorCode::InvalidArgument,
       "tuning: '{}' is none of elements=, threads=, vector=, blocks=, abreast=, resident=, "
       "stages=, rows=",
       part);
}

class Neighbours {
 public:
  explicit Neighbours(const Tuning &tuning) : from_(tuning) {}

  void vary(int Tuning::*value, int to) {
    Tuning next = from_;
    next.*value = to;
    auto knob =
        std::find_if(kKnobs.begin(), kKnobs.end(), [&](const Knob &k) { return k.value == value; });
    if (to >= knob->least && to <= knob->most) add(next);
  }

  void step(int Tuning::*value) {
    vary(value, from_.*value + 1);
    vary(value, from_.*value - 1);
  }

  void vary_rows() {
    for (const auto &[name, form] : kForms) {
      Tuning next = from_;
      next.rows = form;
      add(next);
    }
  }

  std::vector<Tuning> take() { return std::move(all_); }

 private:
  Tuning from_;
  std::vector<Tuning> all_;

  void add(const Tuning &next) {
    if (next != from_) all_.push_back(next);
  }
};

}  // namespace

Tuning tuning_of(const Tunings &tunings, const std::string &kernel) {
  auto it = tunings.find(kernel);
  return it == tunings.end() ? Tuning() : it->second;
}

std::string to_string(const Tuning &tuning) {
  std::string text;
  for (const Knob &knob : kKnobs)
    if (int value = tuning.*knob.value; value != 0)
      append(text, "{}{}={}", text.empty() ? "" : " ", knob.name, value);
  for (const auto &[name, form] : kForms)
    if (form == tuning.rows && form != RowForm::ByRule)
      append(text, "{}rows={}", text.empty() ? "" : " ", name);
  return text;
}

Tuning parse_tuning(std::string_view text) {
  Tuning tuning;
  while (!text.empty()) {
    std::size_t end = std::min(text.find_first_of(" ,"), text.size());
    if (end > 0) set_part(tuning, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tuning;
}

std::vector<Tuning> neighbours(const Tuning &tuning, int resident) {
  Neighbours all(tuning);
  all.step(&Tuning::elements);
  all.step(&Tuning::threads);
  all.step(&Tuning::blocks);
  all.step(&Tuning::abreast);
  for (int blocks : {resident + 1, resident - 1, 2 * resident, resident / 2, resident * 3 / 4})
    if (blocks > 0) all.vary(&Tuning::resident, blocks);
  all.vary_rows();
  all.step(&Tuning::vector);
  for (int stages : {1, 2, 3, 4}) all.vary(&Tuning::stages, stages);
  return all.take();
}

}  // namespace fuse
