// The table on stdout, and JSON with the date and the versions of all that took part.
#include "report.h"
#include "report_json.h"

#include "codegen/codegen.h"
#include "runtime/device.h"
#include "text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>

namespace fuse::bench {

namespace {

using nlohmann::json;

std::string first_line(const char *path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

std::string name_of(int device) {
  char name[128] = "";
  FUSE_CUDA(cuDeviceGetName, name, sizeof name, device);
  return name;
}

std::string now() {
  std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

std::string check_word(const Result &result) {
  if (!result.row.check) return "-";
  if (!result.verdict.passed) return "WRONG";
  if (result.row.is_whole) return "all";
  return result.row.repeats && result.us > 0 ? "all" : "small";
}

// Columns of the table: names, a row with times, and one without.
constexpr char kHead[] =
    "{:<34} {:>9} {:>8} {:>6} {:>9} {:<7} {:>4} {:>5} {:>5} {:>3} {:>8} {:>7} {:>8} {:>7} {}\n";
constexpr char kTimed[] =
    "{:>9.1f} {:>8.4g} {:>6.1f} {:>9.1f} {:<7} {:>4} {:>5} {:>5.0f} {:>3} {:>8.1f} {:>7.1f} "
    "{:>8.1f} {:>7} {}\n";
constexpr char kUntimed[] =
    "{:>9} {:>8.4g} {:>6} {:>9.1f} {:<7} {:>4} {:>5} {:>5} {:>3} {:>8} {:>7} {:>8} {:>7} {}\n";

std::string from_disk(const Result &r) {
  return r.from_disk_ms > 0 ? formatted("{:.2f}", r.from_disk_ms) : "-";
}

json json_of(const CompileTimes &times) {
  return {{"lower_ms", times.lower},
          {"emit_ms", times.emit},
          {"assemble_ms", times.assemble},
          {"load_ms", times.load}};
}

/// The line of its text that says what it reads and writes.
std::string head_of(const KernelReport &report) {
  return report.text.substr(0, report.text.find('\n'));
}

json json_of(const KernelResult &k) {
  json object = {{"name", k.report.name},
                 {"what", head_of(k.report)},
                 {"bytes", k.bytes()},
                 {"predicted_us", k.report.predicted_us},
                 {"bound", k.report.bound}};
  if (k.us > 0)
    object.update({{"us", k.us},
                   {"cold_us", k.cold_us},
                   {"registers", k.report.registers},
                   {"spill_bytes", k.report.spills}});
  return object;
}

json json_of(const Result &r, double copy) {
  json object = {{"name", r.row.name}, {"file", r.row.path}, {"sizes", r.row.sizes}};
  if (!r.error.empty()) {
    object["error"] = r.error;
    return object;
  }
  object.update(program_json(r, copy));
  object.update(verdict_json(r.verdict));
  if (r.us > 0)
    object.update({{"memory_bytes", r.memory},
                   {"compile_cold", json_of(r.cold)},
                   {"compile_warm", json_of(r.warm)},
                   {"from_disk_ms", r.from_disk_ms}});
  if (r.tuned_us > 0) object.update({{"tuned_us", r.tuned_us}, {"mappings", r.mappings}});
  return object;
}

std::string list_of(const std::map<std::string, int> &externs) {
  std::string text;
  for (const auto &[name, count] : externs)
    append(text, "{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

double time_of(const KernelResult &k) { return k.us > 0 ? k.us : k.report.predicted_us; }

std::vector<const KernelResult *> longest_first(const std::vector<KernelResult> &kernels) {
  std::vector<const KernelResult *> sorted;
  for (const KernelResult &k : kernels) sorted.push_back(&k);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto *a, const auto *b) { return time_of(*a) > time_of(*b); });
  return sorted;
}

/// As a line of the table of rows: cold times beside a copy, as those of rows are.
std::string kernel_line(const KernelResult &k, double copy) {
  std::string text, name = "    " + k.report.name;
  if (k.us > 0)
    append(text,
           "{:<34} {:>9.1f} {:>6.1f} {:>9.1f} {:<7} {:>4} {:>5} {:>9.1f} MB, cold {:.1f} us\n",
           name, k.us, 100 * k.bytes() / copy * 1e6 / k.cold_us, k.report.predicted_us,
           k.report.bound, k.report.registers, k.report.spills, 1e-6 * k.bytes(), k.cold_us);
  else
    append(text, "{:<34} {:>9} {:>6} {:>9.1f} {:<7} {:>4} {:>5} {:>9.1f} MB\n", name, "-", "-",
           k.report.predicted_us, k.report.bound, "-", "-", 1e-6 * k.bytes());
  return text;
}

}  // namespace

double fraction_of_copy(const Result &result, double copy) {
  return result.us > 0 && copy > 0 ? static_cast<double>(result.bytes) / copy * 1e6 / result.us : 0;
}

Machine describe_machine(int device) {
  Machine machine;
  machine.driver = first_line("/sys/module/nvidia/version");
  if (device < 0) return machine;
  machine.device = name_of(device);
  machine.cuda = driver().version;
  machine.target = target_of(device).name;
  return machine;
}

std::string table_head() {
  std::string text;
  append(text, kHead, "row", "time us", "MB", "copy %", "predicted", "bound", "regs", "spill",
         "occ %", "k", "cold ms", "of jit", "warm ms", "disk ms", "checked");
  return text;
}

std::string table_row(const Result &r, double copy) {
  std::string text;
  append(text, "{:<34} ", r.row.name);
  if (!r.error.empty()) return text + "FAILED: " + r.error + "\n";
  double megabytes = 1e-6 * static_cast<double>(r.bytes);
  if (r.us > 0)
    append(text, kTimed, r.us, megabytes, 100 * fraction_of_copy(r, copy), r.predicted_us, r.bound,
           r.registers, r.spills, 100 * r.occupancy, r.kernels.size(), r.cold.total(),
           r.cold.assemble, r.warm.total(), from_disk(r), check_word(r));
  else
    append(text, kUntimed, "-", megabytes, "-", r.predicted_us, r.bound, "-", "-", "-",
           r.kernels.size(), "-", "-", "-", "-", check_word(r));
  if (!r.verdict.passed) text += "    " + r.verdict.wrong + "\n";
  if (r.tuned_us > 0)
    append(text, "    tuned {:.1f} us, {:.1f} % of copy, {:+.1f} %\n", r.tuned_us,
           100 * fraction_of_copy(r, copy) * r.us / r.tuned_us, 100 * (r.tuned_us / r.us - 1));
  for (const std::string &mapping : r.mappings) text += "    " + mapping + "\n";
  return r.each_kernel ? text + kernel_table(r, copy) : text;
}

std::string kernel_table(const Result &r, double copy) {
  std::vector<const KernelResult *> kernels = longest_first(r.kernels);
  std::size_t shown = std::min<std::size_t>(kernels.size(), 12);
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += kernel_line(*kernels[i], copy);
  if (shown < kernels.size()) append(text, "    and {} more\n", kernels.size() - shown);
  if (!r.externs.empty()) append(text, "    not run: {}\n", list_of(r.externs));
  return text;
}

std::string machine_line(const Machine &machine) {
  std::string text = machine.device;
  if (machine.copy() > 0)
    append(text, ", driver {}, CUDA {}.{}, target {}: copy {:.3f} TB/s before, {:.3f} after",
           machine.driver, machine.cuda / 1000, machine.cuda % 1000 / 10, machine.target,
           machine.copy_before.timed * 1e-12, machine.copy_after.timed * 1e-12);
  return text + "\n";
}

std::string prediction_line(const std::vector<std::pair<double, double>> &predicted_measured) {
  std::vector<double> errors;
  for (auto [predicted, measured] : predicted_measured)
    if (measured > 0 && predicted > 0) errors.push_back(std::fabs(predicted - measured) / measured);
  if (errors.empty()) return "";
  std::sort(errors.begin(), errors.end());
  return formatted("predictions are off by {:.0f} % (median), {:.0f} % (worst)\n",
                   100 * errors[errors.size() / 2], 100 * errors.back());
}

std::string table_foot(const Machine &machine, const std::vector<Result> &results) {
  std::size_t failed = 0, wrong = 0;
  std::vector<std::pair<double, double>> times;
  for (const Result &r : results) {
    failed += !r.error.empty();
    wrong += r.error.empty() && !r.verdict.passed;
    times.emplace_back(r.predicted_us, r.us);
  }
  return machine_line(machine) +
         formatted("{} rows, {} failed, {} wrong\n", results.size(), failed, wrong) +
         prediction_line(times);
}

json verdict_json(const Verdict &verdict) {
  json object = {
      {"checked", verdict.what}, {"correct", verdict.passed}, {"mismatch", verdict.wrong}};
  if (verdict.accuracy)
    object.update(
        {{"ulps", verdict.accuracy->ulps}, {"relative_error", verdict.accuracy->relative}});
  return object;
}

json program_json(const Result &r, double copy) {
  json object = {{"kernels", r.kernels.size()},
                 {"bytes", r.bytes},
                 {"kernel_bytes", r.kernel_bytes()},
                 {"predicted_us", r.predicted_us},
                 {"bound", r.bound}};
  if (!r.externs.empty()) object["externs"] = r.externs;
  for (std::size_t kernel : r.launches) object["launches"].push_back(r.kernels[kernel].report.name);
  if (r.us > 0)
    object.update({{"us", r.us},
                   {"queued_us", r.queued_us},
                   {"fraction_of_copy", fraction_of_copy(r, copy)},
                   {"registers", r.registers},
                   {"spill_bytes", r.spills},
                   {"occupancy", r.occupancy}});
  if (r.each_kernel)
    for (const KernelResult &k : r.kernels) object["by_kernel"].push_back(json_of(k));
  return object;
}

json document_of(const Machine &machine) {
  return {{"date", now()},
          {"fuse", version()},
          {"llvm", llvm_version()},
          {"device", machine.device},
          {"driver", machine.driver},
          {"cuda", machine.cuda},
          {"target", machine.target}};
}

void write_document(const std::string &path, const json &document) {
  std::ofstream file(path, std::ios::binary);
  file << document.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
  if (!file.flush()) throw Error(ErrorCode::Io, "cannot write " + path);
}

void write_rows(const std::string &path, const Machine &machine, json rows) {
  json document = document_of(machine);
  document["copy_bytes_per_second"] = {machine.copy_before.timed, machine.copy_after.timed};
  document["copy_queued_bytes_per_second"] = machine.copy_queued();
  document["rows"] = std::move(rows);
  write_document(path, document);
}

void write_json(const std::string &path, const Machine &machine,
                const std::vector<Result> &results) {
  json rows = json::array();
  for (const Result &r : results) rows.push_back(json_of(r, machine.copy()));
  write_rows(path, machine, std::move(rows));
}

}  // namespace fuse::bench
