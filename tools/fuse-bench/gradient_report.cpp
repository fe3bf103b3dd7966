#include "gradient_report.h"

#include "report_json.h"
#include "text.h"

#include <algorithm>

namespace fuse::bench {

namespace {

using nlohmann::json;

constexpr double kTolerance = 0.03;  // by which the chosen plan may be slower than another

bool is_slower(const GradientResult &r) { return r.error.empty() && r.behind() > kTolerance; }

std::string time_cell(const Result &program, double copy) {
  if (program.us <= 0) return formatted("{:>9} {:>6}", "-", "-");
  return formatted("{:>9.1f} {:>6.1f}", program.us, 100 * fraction_of_copy(program, copy));
}

std::string total_cell(const PlanResult &p) {
  if (p.us() <= 0) return formatted("{:>9} {:>9.1f} {:>6}", "-", p.predicted_us(), "-");
  return formatted("{:>9.1f} {:>9.1f} {:>+6.1f}", p.us(), p.predicted_us(),
                   100 * (p.predicted_us() / p.us() - 1));
}

std::string check_word(const Row &row, const PlanResult &p) {
  if (!row.check || p.verdict.what.empty()) return "-";
  if (!p.verdict.passed) return "WRONG";
  return row.repeats && p.us() > 0 ? "all" : "small";
}

std::string plan_line(const GradientResult &r, const PlanResult &p, double copy) {
  const PartitionPlan &plan = p.plan;
  std::string passes = formatted("{} + {} = {}", plan.forward.passes, plan.backward.passes,
                                 plan.forward.passes + plan.backward.passes);
  std::string bound = plan.forward.bound + " " + plan.backward.bound;
  std::string text = formatted(
      "  {} {:<22} {} {} {} {:>12} {:>9.1f} {:<10} {:>2} {:>2} {}\n", &p == &r.chosen() ? ">" : " ",
      plan.name, time_cell(p.forward, copy), time_cell(p.backward, copy), total_cell(p), passes,
      1e-6 * static_cast<double>(plan.kept_bytes), bound, p.forward.kernels.size(),
      p.backward.kernels.size(), check_word(r.row, p));
  if (!p.verdict.passed) append(text, "      {}\n", p.verdict.wrong);
  return text;
}

std::string kernel_tables(const PlanResult &p, double copy) {
  if (!p.forward.each_kernel) return "";
  return kernel_table(p.forward, copy) + kernel_table(p.backward, copy);
}

std::string standing(const GradientResult &r) {
  if (r.chosen().us() <= 0) return "";
  return formatted("    {} {:+.1f} % beside {}\n",
                   is_slower(r) ? "SLOWER:" : "chosen:", 100 * r.behind(),
                   r.best_extreme().plan.name);
}

json program_of(const Result &program, const ProgramPrice &price, double copy) {
  json object = program_json(program, copy);
  object["passes"] = price.passes;
  return object;
}

json json_of(const PlanResult &p, double copy) {
  json object = {{"name", p.plan.name},
                 {"saved", p.plan.saved},
                 {"inputs", p.plan.inputs},
                 {"kept_bytes", p.plan.kept_bytes},
                 {"predicted_us", p.predicted_us()},
                 {"forward", program_of(p.forward, p.plan.forward, copy)},
                 {"backward", program_of(p.backward, p.plan.backward, copy)}};
  if (p.us() > 0) object["us"] = p.us();
  object.update(verdict_json(p.verdict));
  return object;
}

json json_of(const GradientResult &r, double copy) {
  json object = {
      {"name", r.row.name}, {"file", r.row.path}, {"sizes", r.row.sizes}, {"grad", r.row.grad}};
  if (!r.error.empty()) {
    object["error"] = r.error;
    return object;
  }
  const PlanResult &chosen = r.chosen();
  object.update({{"chosen", chosen.plan.name},
                 {"bytes", chosen.ideal_bytes()},
                 {"tensor_bytes", r.tensor_bytes},
                 {"plans", json::array()}});
  for (const PlanResult &p : r.plans) object["plans"].push_back(json_of(p, copy));
  if (chosen.us() > 0)
    object.update({{"us", chosen.us()},
                   {"behind", r.behind()},
                   {"fraction_of_copy", fraction_of_copy(r, copy)}});
  return object;
}

}  // namespace

double fraction_of_copy(const GradientResult &r, double copy) {
  if (!r.error.empty() || r.chosen().us() <= 0 || copy <= 0) return 0;
  return static_cast<double>(r.chosen().ideal_bytes()) / copy * 1e6 / r.chosen().us();
}

std::string gradient_head() {
  return formatted(
      "{:<26} {:>9} {:>6} {:>9} {:>6} {:>9} {:>9} {:>6} {:>12} {:>9} {:<10} {:>5} {}\n",
      "row, plans", "forward", "copy %", "backward", "copy %", "total us", "predicted", "off %",
      "HBM passes", "kept MB", "bound", "k", "checked");
}

std::string gradient_row(const GradientResult &r, double copy) {
  if (!r.error.empty()) return r.row.name + "  FAILED: " + r.error + "\n";
  auto megabytes = [](auto bytes) { return 1e-6 * static_cast<double>(bytes); };
  std::string text = formatted("{}: one pass {:.4g} MB, ideal {:.4g} + {:.4g} MB\n", r.row.name,
                               megabytes(r.tensor_bytes), megabytes(r.chosen().forward.bytes),
                               megabytes(r.chosen().backward.bytes));
  for (const PlanResult &p : r.plans) text += plan_line(r, p, copy) + kernel_tables(p, copy);
  return text + standing(r);
}

std::string gradient_foot(const Machine &machine, const std::vector<GradientResult> &results) {
  std::size_t failed = 0, wrong = 0, timed = 0;
  std::vector<std::pair<double, double>> times;
  std::string slower;
  for (const GradientResult &r : results) {
    failed += !r.error.empty();
    wrong += r.error.empty() && !r.passed();
    timed += r.error.empty() && r.chosen().us() > 0;
    for (const PlanResult &p : r.plans) times.emplace_back(p.predicted_us(), p.us());
    if (is_slower(r))
      append(slower, "  {}: {:+.1f} % beside {}\n", r.row.name, 100 * r.behind(),
             r.best_extreme().plan.name);
  }
  std::string text = machine_line(machine);
  append(text, "{} rows, {} failed, {} wrong\n", results.size(), failed, wrong);
  if (timed > 0)
    append(text, "of {} rows, the chosen plan is more than {:.0f} % slower than another in {}\n{}",
           timed, 100 * kTolerance, std::count(slower.begin(), slower.end(), '\n'), slower);
  return text + prediction_line(times);
}

void write_gradient_json(const std::string &path, const Machine &machine,
                         const std::vector<GradientResult> &results) {
  json rows = json::array();
  for (const GradientResult &r : results) rows.push_back(json_of(r, machine.copy()));
  write_rows(path, machine, std::move(rows));
}

}  // namespace fuse::bench
