// Arguments -> Options. The one file that sees CLI11.
#include "options.h"

#include "codegen/codegen.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace fuse::bench {

namespace {

constexpr const char *kFooter = R"(
Each row runs on the GPU with the L2 cache flushed before every run; the median time is set beside
a device-to-device copy of the same process. Results are compared with the evaluator.

Examples:
  fuse-bench                               the whole suite, from the repository's root
  fuse-bench softmax 'row sum'             rows whose names contain either
  fuse-bench --suite=bench/suite/kernels.json --json=kernels.json
  fuse-bench --compare=bench/results/old.json
  fuse-bench --compare=old.json --with=new.json   two files, nothing is run
  fuse-bench --kernels adam                each kernel of a row by itself
  fuse-bench --on=host                     no times: compiles and checks the small instances

Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device.)";

Executor executor_named(const std::string &word) {
  if (word == "gpu") return Executor::Gpu;
  if (word == "host") return Executor::Host;
  throw UsageError("--on: '" + word + "' is none of gpu, host");
}

}  // namespace

std::optional<Options> parse_options(int argc, char **argv) {
  Options options;
  std::string on = "gpu";
  CLI::App app("Measures a suite of programs against the copy bandwidth of the GPU.", "fuse-bench");
  app.footer(kFooter);
  app.set_version_flag("--version", "fuse " + std::string(version()) + ", LLVM " + llvm_version(),
                       "versions of fuse and LLVM");
  app.add_option("rows", options.filters, "parts of the names of rows; none: all of the suite");
  app.add_option("--suite", options.suite, "list of rows")->capture_default_str();
  app.add_option("--json", options.json, "write the results to this file too");
  app.add_option("--compare", options.compare, "set the results beside those of this file");
  app.add_option("--with", options.with, "with --compare: results of this file, without a run");
  app.add_option("--on", on, "gpu, or host to check without times")->capture_default_str();
  app.add_option("--runs", options.runs, "timed runs of a row")->capture_default_str();
  app.add_flag("--kernels", options.kernels, "the largest kernels of each row, each with its time");
  app.add_flag("--list", options.list, "print the rows and stop");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::CallForVersion &e) {
    std::cout << e.what() << "\n";
    return std::nullopt;
  } catch (const CLI::ParseError &e) {
    std::string text = e.what();
    throw UsageError(text.substr(0, text.find('\n')) + " (see --help)");
  }
  options.on = executor_named(on);
  if (!options.with.empty() && options.compare.empty())
    throw UsageError("--with: wants --compare and the earlier results");
  if (options.runs < 1) throw UsageError("--runs: must be positive");
  return options;
}

}  // namespace fuse::bench
