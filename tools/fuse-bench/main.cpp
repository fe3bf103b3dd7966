// fuse-bench: rows of a suite, measured on the GPU or checked on the host.
//
// Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device. Messages are one line on
// stderr.
#include "compare.h"
#include "measure.h"
#include "report.h"
#include "runtime/device.h"

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
  put(table_head());
  for (const Row &row : rows) {
    results.push_back(measure(row, timer, options.kernels));
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

[[noreturn]] void refuse_filters(const std::vector<std::string> &filters) {
  for (const std::string &part : filters)
    if (part.ends_with(".fuse") || part.ends_with(".kernel") || part.ends_with(".json"))
      throw UsageError("'" + part +
                       "' is a file: rows go by the names that --list prints; to measure a file, "
                       "name it with its sizes in a list for --suite, as bench/README.md says");
  throw UsageError("no row has such a name; --list prints them");
}

int drive(const Options &options) {
  if (!options.with.empty()) {
    put(comparison(read_measured(options.compare), read_measured(options.with)));
    return kOk;
  }
  std::vector<Row> rows = select(read_suite(options.suite), options.filters);
  if (options.list) {
    list(rows);
    return kOk;
  }
  if (rows.empty()) refuse_filters(options.filters);
  if (options.on == Executor::Gpu) return run_on_gpu(options, rows);
  Machine machine = describe_machine(-1);
  return finish(options, machine, measure_all(rows, nullptr, machine, options));
}

}  // namespace

int main(int argc, char **argv) try {
  // Compilation is measured: nothing may come from a cache.
  ::setenv("FUSE_CACHE_DIR", "", 1);
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  std::optional<Options> options = parse_options(argc, argv);
  return options ? drive(*options) : kOk;
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
