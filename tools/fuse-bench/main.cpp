// fuse-bench: rows of a suite, or programs, measured on the GPU or checked on the host; and the GPU
// itself.
//
// Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device. Messages are one line on
// stderr.
#include "calibrate.h"
#include "compare.h"
#include "gradient_report.h"
#include "launch_report.h"
#include "measure.h"
#include "program_row.h"
#include "progress.h"
#include "report.h"
#include "runtime/device.h"
#include "temporary_folder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>

namespace {

using namespace fuse;
using namespace fuse::bench;

enum ExitCode { kOk = 0, kProgram = 1, kUsage = 2, kMismatch = 3, kNoDevice = 4 };

void put(const std::string &text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void list(const std::vector<Row> &rows) {
  for (const Row &row : rows) std::printf("%-34s %s\n", row.name.c_str(), row.path.c_str());
}

/// A kind of rows: how one is measured, and what is written of it.
template <class R>
struct Kind {
  // Gives what measures the row of a position.
  std::function<R(std::size_t)> (*start)(const std::vector<Row> &rows, const GpuTimer *timer,
                                         const Options &options);
  std::string (*head)();
  std::string (*row)(const R &result, double copy);
  std::string (*foot)(const Machine &machine, const std::vector<R> &results);
  void (*write_json)(const std::string &path, const Machine &machine,
                     const std::vector<R> &results);
};

std::function<Result(std::size_t)> start_programs(const std::vector<Row> &rows,
                                                  const GpuTimer *timer, const Options &options) {
  return [&rows, timer, &options](std::size_t i) { return measure(rows[i], timer, options); };
}

constexpr Kind<Result> kPrograms = {start_programs, table_head, table_row, table_foot, write_json};
constexpr Kind<GradientResult> kGradients = {start_gradients, gradient_head, gradient_row,
                                             gradient_foot, write_gradient_json};

template <class R>
std::vector<R> measure_all(const Kind<R> &kind, const std::vector<Row> &rows, const GpuTimer *timer,
                           const Machine &machine, const Options &options) {
  std::vector<R> results;
  Progress progress(rows.size());
  put(kind.head());
  std::function<R(std::size_t)> measure_row = kind.start(rows, timer, options);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    progress.next(rows[i].name);
    results.push_back(measure_row(i));
    progress.clear();
    put(kind.row(results.back(), machine.copy()));
    // A kill loses nothing.
    if (!options.json.empty()) kind.write_json(options.json, machine, results);
  }
  return results;
}

/// Rows of a run as a file of results has them.
template <class R>
std::vector<Measured> measured(const std::vector<R> &results, double copy) {
  std::vector<Measured> rows;
  for (const R &r : results)
    if (double fraction = fraction_of_copy(r, copy); fraction > 0)
      rows.push_back({r.row.name, fraction});
  return rows;
}

template <class R>
int finish(const Kind<R> &kind, const Options &options, const Machine &machine,
           const std::vector<R> &results) {
  put(kind.foot(machine, results));
  if (!options.json.empty()) kind.write_json(options.json, machine, results);
  if (!options.compare.empty())
    put(comparison(read_measured(options.compare), measured(results, machine.copy())));
  bool failed = false, wrong = false;
  for (const R &r : results) {
    failed = failed || !r.error.empty();
    wrong = wrong || !r.passed();
  }
  return wrong ? kMismatch : failed ? kProgram : kOk;
}

template <class R>
int run_on_gpu(const Kind<R> &kind, const Options &options, const std::vector<Row> &rows) {
  ContextScope scope(primary_context(0));
  GpuTimer timer(0, options.runs);
  Machine machine = describe_machine(0);
  if (!options.once) machine.copy_before = machine.copy_after = timer.copy_bandwidth();
  std::vector<R> results = measure_all(kind, rows, &timer, machine, options);
  if (!options.once) machine.copy_after = timer.copy_bandwidth();
  return finish(kind, options, machine, results);
}

template <class R>
int run(const Kind<R> &kind, const Options &options, const std::vector<Row> &rows) {
  if (options.on == Executor::Gpu) return run_on_gpu(kind, options, rows);
  Machine machine = describe_machine(-1);
  return finish(kind, options, machine, measure_all(kind, rows, nullptr, machine, options));
}

int run_launches(const Options &options, const std::vector<Row> &rows) {
  ContextScope scope(primary_context(0));
  Machine machine = describe_machine(0);
  std::vector<LaunchResult> results;
  Progress progress(rows.size());
  put(launch_head());
  bool failed = false;
  for (const Row &row : rows) {
    progress.next(row.name);
    results.push_back(measure_launch(row));
    progress.clear();
    put(launch_row(results.back()));
    failed = failed || !results.back().error.empty();
  }
  put(launch_foot(machine));
  if (!options.json.empty()) write_launch_json(options.json, machine, results);
  return failed ? kProgram : kOk;
}

std::vector<Row> rows_of(const Options &options) {
  std::vector<Row> rows;
  for (const std::string &file : options.files) {
    rows.push_back(row_of_file(file, options.dims));
    rows.back().grad = options.grad;
  }
  if (options.files.empty()) rows = select(read_suite(options.suite), options.filters);
  if (rows.empty()) throw UsageError("no row has such a name; --list prints them");
  return rows;
}

bool are_gradients(const std::vector<Row> &rows) {
  auto count =
      std::count_if(rows.begin(), rows.end(), [](const Row &r) { return r.is_gradient(); });
  if (count > 0 && static_cast<std::size_t>(count) < rows.size())
    throw UsageError("some rows have \"grad\" and some have not: choose those of one kind");
  return count > 0;
}

int drive_calibration(const Options &options) {
  if (options.list)
    put(probe_texts(has_driver() ? target_of(0) : Target::named("h200"), options.filters));
  else
    run_calibration(options);
  return kOk;
}

int drive(const Options &options) {
  if (options.calibrate) return drive_calibration(options);
  if (!options.with.empty()) {
    put(comparison(read_measured(options.compare), read_measured(options.with)));
    return kOk;
  }
  std::vector<Row> rows = rows_of(options);
  if (options.list) {
    list(rows);
    return kOk;
  }
  if (options.launch) return run_launches(options, rows);
  if (!are_gradients(rows)) return run(kPrograms, options, rows);
  if (options.tune) throw UsageError("--tune: rows with \"grad\" are not tuned");
  return run(kGradients, options, rows);
}

/// Times of launches and of the machine need no disk cache, those of compilations an empty one.
int drive_with_cache(const Options &options) {
  std::optional<TemporaryFolder> folder;
  bool times = options.on == Executor::Gpu && !options.list && options.with.empty();
  if (times && !options.launch && !options.calibrate) folder.emplace();
  ::setenv("FUSE_CACHE_DIR", folder ? folder->path().c_str() : "", 1);
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  return drive(options);
}

}  // namespace

int main(int argc, char **argv) try {
  std::optional<Options> options = parse_options(argc, argv);
  return options ? drive_with_cache(*options) : kOk;
} catch (const UsageError &e) {
  std::fprintf(stderr, "fuse-bench: %s\n", e.what());
  return kUsage;
} catch (const Error &e) {
  std::fprintf(stderr, "fuse-bench: error: %s\n", e.what());
  return e.code() == ErrorCode::NoDevice ? kNoDevice : kProgram;
} catch (const std::exception &e) {
  std::fprintf(stderr, "fuse-bench: error: %s\n", e.what());
  return kProgram;
}
