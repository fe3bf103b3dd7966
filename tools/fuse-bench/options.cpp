// Arguments -> Options. The one file that sees CLI11.
#include "options.h"

#include "codegen/codegen.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace fuse::bench {

namespace {

constexpr const char *kFooter = R"(
Each row runs on the GPU with the L2 cache flushed before every run; the median time is set beside
a device-to-device copy of the same process. Results are compared with the evaluator. "cold ms" is
from a graph to code that can be launched, "of jit" the part that the driver's assembler takes of
it, "disk ms" the same where the disk cache has it all. "occ %" are the warps that an SM holds at a
time, of those that it could.

Examples:
  fuse-bench                               the whole suite, from the repository's root
  fuse-bench softmax 'row sum'             rows whose names contain either
  fuse-bench softmax.fuse --dim=R=4096,C=1000     a program of your own
  fuse-bench --suite=bench/suite/kernels.json --json=kernels.json
  fuse-bench --suite=bench/suite/gradients.json   forward and backward, by plans of what is saved
  fuse-bench softmax.fuse --grad=x --dim=R=4096,C=1000     the same of a program of your own
  fuse-bench --compare=bench/results/old.json
  fuse-bench --compare=old.json --with=new.json   two files, nothing is run
  fuse-bench --launch chain                what a launch costs the host, beside cuLaunchKernel
  fuse-bench --calibrate > my.target       figures for fuse-opt --target=my.target
  fuse-bench --calibrate --list fma        the text of a kernel that is timed for them
  fuse-bench --kernels adam                each kernel of a row by itself
  fuse-bench --on=host                     no times: compiles and checks the small instances

Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device.)";

Executor executor_named(const std::string &word) {
  if (word == "gpu") return Executor::Gpu;
  if (word == "host") return Executor::Host;
  throw UsageError("--on: '" + word + "' is none of gpu, host");
}

/// Words as they stand on the command line.
struct Words {
  std::vector<std::string> rows, dims;
  std::string on = "gpu";
};

void add_dim(Bindings &dims, const std::string &text) {
  std::size_t equals = text.find('=');
  std::int64_t size = 0;
  if (equals == 0 || equals == text.npos ||
      !CLI::detail::lexical_cast(text.substr(equals + 1), size) || size < 0)
    throw UsageError("--dim: '" + text + "' is not of the form N=32");
  std::string name = text.substr(0, equals);
  if (!dims.emplace(name, size).second) throw UsageError("--dim: " + name + " is given twice");
}

/// Programs are told from parts of names by their endings.
void sort_rows(const std::vector<std::string> &words, Options &o) {
  for (const std::string &word : words) {
    if (word.ends_with(".json"))
      throw UsageError("'" + word + "' is a list of rows: name it as --suite=" + word);
    bool is_program = word.ends_with(".fuse") || word.ends_with(".kernel");
    (is_program ? o.files : o.filters).push_back(word);
  }
  if (!o.files.empty() && !o.filters.empty())
    throw UsageError("'" + o.files[0] + "' is a file and '" + o.filters[0] +
                     "' a part of a row's name: one kind at a time");
}

/// Options that have no meaning beside one another.
void check(const Options &o) {
  auto refuse = [](bool wrong, const char *why) {
    if (wrong) throw UsageError(why);
  };
  refuse(!o.with.empty() && o.compare.empty(), "--with: wants --compare and the earlier results");
  refuse(o.runs < 1, "--runs: must be positive");
  refuse(!o.dims.empty() && o.files.empty(),
         "--dim: wants a program, as in fuse-bench softmax.fuse --dim=R=4096");
  refuse(!o.grad.empty() && o.files.empty(),
         "--grad: wants a program, as in fuse-bench softmax.fuse --grad=x");
  refuse(o.launch && !o.grad.empty(), "--launch and --grad: one at a time");
  refuse(o.launch && o.calibrate, "--launch and --calibrate: one at a time");
  refuse(o.calibrate && !o.files.empty(), "--calibrate: measures the machine and takes no program");
  refuse(
      o.once && (o.on == Executor::Host || o.kernels || o.tune || !o.compare.empty()),
      "--once: takes no times, and --on=host, --kernels, --tune and --compare mean nothing there");
  bool is_special = o.launch || o.calibrate;
  refuse(is_special && !o.compare.empty(), "--compare: is for times, not --launch or --calibrate");
  refuse(is_special && o.on == Executor::Host && !o.list,
         "--launch and --calibrate need a GPU: --on=host has no times");
}

void add_options(CLI::App &app, Options &options, Words &words) {
  app.add_option("rows", words.rows,
                 "parts of the names of rows, or .fuse and .kernel files; none: all of the suite");
  app.add_option("--dim", words.dims, "size of a symbol of the files, as N=32")
      ->type_name("N=32")
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("--grad", options.grad,
                 "measure forward and backward of the files, by derivatives of these inputs")
      ->type_name("x,w")
      ->allow_extra_args(false)
      ->delimiter(',');
  app.add_option("--suite", options.suite, "list of rows")->capture_default_str();
  app.add_option("--json", options.json, "write the results to this file too");
  app.add_option("--compare", options.compare, "set the results beside those of this file");
  app.add_option("--with", options.with, "with --compare: results of this file, without a run");
  app.add_option("--on", words.on, "gpu, or host to check without times")->capture_default_str();
  app.add_option("--runs", options.runs, "timed runs of a row")->capture_default_str();
  app.add_flag("--once", options.once, "run each program once and take no times: for profilers");
  app.add_flag("--kernels", options.kernels, "the largest kernels of each row, each with its time");
  app.add_flag("--tune", options.tune, "time each row with measured mappings too");
  app.add_flag("--list", options.list, "print the rows and stop");
  app.add_flag("--launch", options.launch, "time launches: of the host, and replayed");
  app.add_flag("--calibrate", options.calibrate, "measure the machine and print its target text");
}

}  // namespace

std::optional<Options> parse_options(int argc, const char *const *argv) {
  Options options;
  Words words;
  CLI::App app("Measures a suite of programs against the copy bandwidth of the GPU.", "fuse-bench");
  app.footer(kFooter);
  app.set_version_flag("--version", "fuse " + std::string(version()) + ", LLVM " + llvm_version(),
                       "versions of fuse and LLVM");
  add_options(app, options, words);
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
  options.on = executor_named(words.on);
  for (const std::string &word : words.dims) add_dim(options.dims, word);
  sort_rows(words.rows, options);
  check(options);
  return options;
}

}  // namespace fuse::bench
