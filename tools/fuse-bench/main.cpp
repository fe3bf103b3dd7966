// fuse-bench: rows of a suite, or programs, measured on the GPU or checked on the host; and the GPU
// itself.
//
// Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device. Messages are one line on
// stderr.
#include "calibrate.h"
#include "compare.h"
#include "launch_report.h"
#include "measure.h"
#include "program_row.h"
#include "progress.h"
#include "report.h"
#include "runtime/device.h"
#include "temporary_folder.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

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

std::vector<Result> measure_all(const std::vector<Row> &rows, const GpuTimer *timer,
                                const Machine &machine, const Options &options) {
  std::vector<Result> results;
  Progress progress(rows.size());
  put(table_head());
  for (const Row &row : rows) {
    progress.next(row.name);
    results.push_back(measure(row, timer, options));
    progress.clear();
    put(table_row(results.back(), machine.copy()));
    if (options.kernels) put(kernel_table(results.back(), machine.copy()));
    if (!options.json.empty()) write_json(options.json, machine, results);  // a kill loses nothing
  }
  return results;
}

/// Rows of a run as a file of results has them.
std::vector<Measured> measured(const std::vector<Result> &results, double copy) {
  std::vector<Measured> rows;
  for (const Result &r : results)
    if (r.us > 0) rows.push_back({r.row.name, fraction_of_copy(r, copy)});
  return rows;
}

int finish(const Options &options, const Machine &machine, const std::vector<Result> &results) {
  put(table_foot(machine, results));
  if (!options.json.empty()) write_json(options.json, machine, results);
  if (!options.compare.empty())
    put(comparison(read_measured(options.compare), measured(results, machine.copy())));
  bool failed = false, wrong = false;
  for (const Result &r : results) {
    failed = failed || !r.error.empty();
    wrong = wrong || !r.verdict.passed;
  }
  return wrong ? kMismatch : failed ? kProgram : kOk;
}

int run_on_gpu(const Options &options, const std::vector<Row> &rows) {
  ContextScope scope(primary_context(0));
  GpuTimer timer(0, options.runs);
  Machine machine = describe_machine(0);
  machine.copy_before = machine.copy_after = timer.copy_bandwidth();
  std::vector<Result> results = measure_all(rows, &timer, machine, options);
  machine.copy_after = timer.copy_bandwidth();
  return finish(options, machine, results);
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
  for (const std::string &file : options.files) rows.push_back(row_of_file(file, options.dims));
  if (options.files.empty()) rows = select(read_suite(options.suite), options.filters);
  if (rows.empty()) throw UsageError("no row has such a name; --list prints them");
  return rows;
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
  if (options.on == Executor::Gpu) return run_on_gpu(options, rows);
  Machine machine = describe_machine(-1);
  return finish(options, machine, measure_all(rows, nullptr, machine, options));
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
