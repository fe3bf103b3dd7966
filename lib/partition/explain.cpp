// The screen: plans, values and their prices.
#include "ir/format.h"

#include <fuse/partition.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

FUSE_BEGIN_NAMESPACE

namespace {

/// "361 MB": three digits.
std::string size_text(double bytes) {
  const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  if (unit == 0 || bytes >= 99.95) return fmt::format("{:.0f} {}", bytes, units[unit]);
  return fmt::format("{:.{}f} {}", bytes, bytes >= 9.995 ? 1 : 2, units[unit]);
}

std::string us_text(double us) { return fmt::format("{:.{}f}", us, us < 9.95 ? 1 : 0); }

/// "s1 s2 (x)", cut where it is long.
std::string saved_text(const PartitionPlan &plan) {
  constexpr std::size_t kMost = 28;
  std::string text;
  std::size_t left = plan.saved.size() + plan.inputs.size();
  auto add = [&](const std::string &name) {
    if (text.size() + name.size() + 1 > kMost) return;
    text += (text.empty() ? "" : " ") + name;
    --left;
  };
  for (const std::string &name : plan.saved) add(name);
  for (const std::string &name : plan.inputs) add("(" + name + ")");
  if (left > 0) append(text, "{}{} more", text.empty() ? "" : " +", left);
  return text;
}

bool is_same(const PartitionPlan &a, const PartitionPlan &b) { return a.saved == b.saved; }

std::string passes_text(const PartitionPlan &plan) {
  int forward = plan.forward.passes, backward = plan.backward.passes;
  return fmt::format("{} + {} = {}", forward, backward, forward + backward);
}

std::string program_text(const ProgramPrice &price) {
  return fmt::format("{} us {}", us_text(price.predicted_us), price.bound);
}

std::string plan_row(const PartitionPlan &plan, bool chosen) {
  return fmt::format("{} {:<16} {:<36} {:>12} {:>16} {:>16} {:>10} us {:>9}\n", chosen ? ">" : " ",
                     plan.name, saved_text(plan), passes_text(plan), program_text(plan.forward),
                     program_text(plan.backward), us_text(plan.predicted_us),
                     size_text(static_cast<double>(plan.kept_bytes)));
}

std::string plan_table(const Partition &p) {
  std::string text;
  append(text, "{:<18} {:<36} {:>12} {:>16} {:>16} {:>13} {:>9}\n", "plan", "saved (read again)",
         "HBM passes", "forward", "backward", "total", "kept");
  for (const PartitionPlan &plan : p.plans) text += plan_row(plan, is_same(plan, p.chosen));
  return text;
}

/// The pipe that computing a value again loads most, by itself.
std::string recompute_text(const SavedChoice &choice) {
  if (choice.recompute.empty()) return choice.why.empty() ? "nothing" : "";
  auto more = [](const PipeTime &a, const PipeTime &b) { return a.us < b.us; };
  auto most = std::max_element(choice.recompute.begin(), choice.recompute.end(), more);
  const PipeTime &total =
      choice.backward[static_cast<std::size_t>(most - choice.recompute.begin())];
  return fmt::format("{} {} of {} us", most->pipe, us_text(most->us), us_text(total.us));
}

std::string value_row(const SavedChoice &choice) {
  std::string storing =
      fmt::format("write {} + read {}", us_text(choice.write_us), us_text(choice.read_us));
  std::string by = choice.why.empty() ? fmt::format("{:+.1f} us", choice.gain_us) : choice.why;
  return fmt::format("  {:<16} {:>9}   {:<24} {:<28} {:<12} {:>10}\n", choice.value,
                     size_text(static_cast<double>(choice.bytes)), storing, recompute_text(choice),
                     choice.saved ? "saved" : "recomputed", by);
}

std::string value_table(const Partition &p) {
  if (p.values.empty()) return "";
  std::string text = fmt::format("\n{:<18} {:>9}   {:<24} {:<28} {:<12} {:>10}\n", "value", "bytes",
                                 "storing costs us", "recomputing, in backward", "decision", "by");
  for (const SavedChoice &choice : p.values) text += value_row(choice);
  return text;
}

/// Time against memory, where there is a choice.
std::string frontier_text(const Partition &p) {
  std::vector<std::string> points;
  for (const PartitionPlan &plan : p.frontier) {
    std::string point = size_text(static_cast<double>(plan.kept_bytes));
    append(point, " in {} us", us_text(plan.predicted_us));
    if (points.empty() || points.back() != point) points.push_back(std::move(point));
  }
  if (points.size() < 2) return "";
  std::string text = "\nfrontier: ";
  for (const std::string &point : points)
    append(text, "{}{}", &point == &points[0] ? "" : ", ", point);
  return text + "\n";
}

}  // namespace

std::string explain(const Partition &p) {
  std::string text, name(p.forward.name());
  name = name.substr(0, name.rfind("_forward"));
  append(text,
         "{}   forward + backward   target {}   one tensor = {}, one HBM pass of it = {} us\n\n",
         name, p.target.name, size_text(p.tensor_bytes),
         us_text(1e6 * p.tensor_bytes / p.target.hbm_bytes));
  return text + plan_table(p) + value_table(p) + frontier_text(p);
}

FUSE_END_NAMESPACE
