// Arguments -> Options. The one file that sees CLI11: its errors become one line, its exit codes
// ours.
#include "options.h"

#include "ir/suggest.h"
#include "passes/passes.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

constexpr const char *kFooter = R"(
Examples:
  fuse-opt gelu.fuse                                print the graph in full
  fuse-opt gelu.fuse --pass=simplify,widen          what passes make of it
  fuse-opt gelu.fuse --emit=plan,kernel,ptx         the stages on the way to a GPU
  fuse-opt gelu.fuse --explain --target=a100 --dim B=512
  fuse-opt gelu.fuse --run --on=host --dim B=4      run and compare with the evaluator

Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device.)";

template <class T>
using Named = std::vector<std::pair<std::string_view, T>>;

template <class T>
T choose(const char *option, const std::string &word, const Named<T> &choices) {
  std::string known;
  std::vector<std::string_view> names;
  for (const auto &[name, value] : choices) {
    if (name == word) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
    names.push_back(name);
  }
  throw UsageError(std::string(option) + ": '" + word + "' is none of " + known +
                   fuse::suggest(word, names));
}

void check_passes(const std::vector<std::string> &passes) {
  Named<bool> known;
  for (const fuse::GraphPass &p : fuse::graph_passes()) known.emplace_back(p.name, true);
  for (const std::string &p : passes) choose("--pass", p, known);
}

void check_target(const std::string &target) {
  std::vector<std::string> names = fuse::Target::names();
  Named<bool> known;
  for (const std::string &n : names) known.emplace_back(n, true);
  if (!target.empty()) choose("--target", target, known);
}

/// "B=512"
void add_dim(fuse::Bindings &dims, const std::string &text) {
  std::size_t equals = text.find('=');
  std::int64_t size = 0;
  bool is_number = equals != std::string::npos && equals > 0 &&
                   CLI::detail::lexical_cast(text.substr(equals + 1), size) && size >= 0;
  if (!is_number) throw UsageError("--dim: '" + text + "' is not of the form B=512");
  if (!dims.emplace(text.substr(0, equals), size).second)
    throw UsageError("--dim: " + text.substr(0, equals) + " is given twice");
}

/// Words as they stand on the command line, before they are checked.
struct Words {
  std::vector<std::string> emit, dims;
  std::string on = "auto";
};

void add_options(CLI::App &app, Options &o, Words &words) {
  app.add_option("input", o.input, "graph or kernel text; - or nothing: stdin");
  app.add_option("-o,--output", o.output, "where --emit writes; - or nothing: stdout");
  app.add_option("--emit", words.emit, "graph, plan, kernel, program, llvm, ptx")->delimiter(',');
  app.add_option("--pass", o.passes, "graph passes to run first, in order")->delimiter(',');
  app.add_option("--print-after", o.print_after, "print the graph after a pass, or all");
  app.add_flag("--time", o.time, "print the time of each pass");
  app.add_option("--target", o.target, "machine to compile for; see --list-targets");
  app.add_option("--dim", words.dims, "size of a symbol, as B=512")->delimiter(',');
  app.add_flag("--strict", o.strict, "round every 16-bit value");
  app.add_flag("--explain", o.explain, "kernels, bytes, times and the reasons for them");
  app.add_flag("--run", o.run, "run on random inputs and compare with the evaluator");
  app.add_option("--on", words.on, "auto, gpu or host");
  app.add_option("--seed", o.seed, "of the random inputs");
  app.add_flag("--list-ops", o.list_ops, "operations and builders");
  app.add_flag("--list-passes", o.list_passes, "graph passes");
  app.add_flag("--list-targets", o.list_targets, "machines with known figures");
}

void resolve(const Words &words, Options &o) {
  const Named<Stage> stages = {{"graph", Stage::Graph},   {"plan", Stage::Plan},
                               {"kernel", Stage::Kernel}, {"program", Stage::Program},
                               {"llvm", Stage::Llvm},     {"ptx", Stage::Ptx}};
  const Named<fuse::Executor> executors = {
      {"auto", fuse::Executor::Auto}, {"gpu", fuse::Executor::Gpu}, {"host", fuse::Executor::Host}};
  for (const std::string &w : words.emit) o.emit.push_back(choose("--emit", w, stages));
  o.on = choose("--on", words.on, executors);
  for (const std::string &w : words.dims) add_dim(o.dims, w);
  check_passes(o.passes);
  if (!o.print_after.empty() && o.print_after != "all") check_passes({o.print_after});
  check_target(o.target);
}

/// CLI11's message, with a suggestion where an option is mistyped.
std::string message_of(const CLI::ParseError &error, const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> names;
  for (const CLI::Option *o : app.get_options())
    if (!o->get_lnames().empty()) names.push_back("--" + o->get_lnames()[0]);
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  for (int i = 1; i < argc; ++i) {
    std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.rfind("--", 0) == 0 && std::find(names.begin(), names.end(), word) == names.end())
      return "no option is named " + word +
             fuse::suggest(word, std::vector<std::string_view>(names.begin(), names.end()));
  }
  return text;
}

}  // namespace

std::optional<Options> parse_options(int argc, char **argv) {
  Options options;
  Words words;
  CLI::App app("Prints, transforms, compiles, explains and runs graphs of tensor expressions.",
               "fuse-opt");
  app.footer(kFooter);
  add_options(app, options, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::ParseError &e) {
    throw UsageError(message_of(e, app, argc, argv) + " (see --help)");
  }
  resolve(words, options);
  return options;
}
