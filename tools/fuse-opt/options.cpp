// Arguments -> Options. The one file that sees CLI11: its errors become one line, its exit codes
// ours.
#include "options.h"

#include "codegen/codegen.h"
#include "ir/suggest.h"
#include "passes/passes.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

constexpr const char *kFooter = R"(Examples:
  fuse-opt gelu.fuse --pass=simplify,widen --print-after=all
  fuse-opt gelu.fuse --emit=plan,kernel,ptx --target=a100 -o out/
  fuse-opt gelu.fuse --explain --target=a100,h100,h200 --dim B=512
  fuse-opt gelu.fuse --grad=x --emit=graph,plan
  fuse-opt gelu.fuse --grad=x --explain --target=h200,b200 --dim B=4096
  fuse-opt gelu.fuse --report=gelu.html --dim B=512
  fuse-opt gelu.fuse --serialize=gelu.fusejit --target=h100,h200 --dim B=512
  fuse-opt gelu.fuse --run --verify --on=host --in x=x.npy --out y=y.npy
Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device.)";

template <class T>
using Named = std::vector<std::pair<std::string_view, T>>;

template <class T>
T choose(const char *option, const std::string &word, const Named<T> &choices) {
  std::string known;
  std::vector<std::string_view> names;
  for (const auto &[name, value] : choices) {
    if (name == word) return value;
    if (name.empty()) continue;
    known += (known.empty() ? "" : ", ") + std::string(name);
    names.push_back(name);
  }
  throw UsageError(std::string(option) + ": '" + word + "' is none of " + known +
                   fuse::suggest(word, names));
}

Named<bool> known_passes() {
  Named<bool> known;
  for (const fuse::GraphPass &p : fuse::graph_passes()) known.emplace_back(p.name, true);
  return known;
}

void check_passes(const Options &o) {
  Named<bool> known = known_passes();
  for (const std::string &p : o.passes) choose("--pass", p, known);
  known.emplace_back("all", true);
  if (!o.print_after.empty()) choose("--print-after", o.print_after, known);
}

/// "name=value", told apart at the first '='.
std::pair<std::string, std::string> split_pair(const char *option, const std::string &text,
                                               const char *form) {
  std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UsageError(std::string(option) + ": '" + text + "' is not of the form " + form);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_dim(fuse::Bindings &dims, const std::string &text) {
  auto [name, value] = split_pair("--dim", text, "B=512");
  std::int64_t size = 0;
  if (!CLI::detail::lexical_cast(value, size) || size < 0)
    throw UsageError("--dim: '" + text + "' is not of the form B=512");
  if (!dims.emplace(name, size).second) throw UsageError("--dim: " + name + " is given twice");
}

/// Files by the names of arguments, "x=x.npy".
std::map<std::string, std::string> files_of(const char *option,
                                            const std::vector<std::string> &words) {
  std::map<std::string, std::string> files;
  for (const std::string &word : words) {
    auto [name, file] = split_pair(option, word, "x=x.npy");
    if (!files.emplace(name, file).second)
      throw UsageError(std::string(option) + ": " + name + " is given twice");
  }
  return files;
}

/// "%3" or "3"; the library takes the name alone.
std::string without_percent(const std::string &label) {
  return label.substr(0, 1) == "%" ? label.substr(1) : label;
}

std::vector<std::string> labels_of(const std::vector<std::string> &words) {
  std::vector<std::string> labels;
  for (const std::string &word : words) labels.push_back(without_percent(word));
  return labels;
}

/// Each --no-fuse is a set of its own.
std::vector<std::vector<std::string>> sets_of(const std::vector<std::string> &words) {
  std::vector<std::vector<std::string>> sets;
  for (const std::string &word : words) {
    sets.push_back(labels_of(CLI::detail::split(word, ',')));
    if (sets.back().size() < 2)
      throw UsageError("--no-fuse: '" + word + "' is not of the form %3,%4");
  }
  return sets;
}

/// Mappings by kernel, "k0:elements=1,rows=looped".
fuse::Tunings tunings_of(const std::vector<std::string> &words) {
  fuse::Tunings tunings;
  for (const std::string &word : words) {
    std::size_t colon = word.find(':');
    if (colon == 0 || colon == word.npos)
      throw UsageError("--mapping: '" + word + "' is not of the form k0:elements=1");
    try {
      tunings[word.substr(0, colon)] = fuse::parse_tuning(word.substr(colon + 1));
    } catch (const fuse::Error &e) {
      throw UsageError("--mapping: " + word.substr(0, colon) + ": " + e.what());
    }
  }
  return tunings;
}

/// Words as they stand on the command line, before they are checked.
struct Words {
  std::vector<std::string> emit, dims, in, out, expect, keep, recompute, no_fuse, mappings;
  std::string on = "auto", explain;
};

/// An option that may be repeated and takes one word, or several with commas between them.
void add_list(CLI::App &app, const char *name, std::vector<std::string> &words, const char *type,
              const char *doc, bool split = true) {
  CLI::Option *option = app.add_option(name, words, doc);
  option->type_name(type)->allow_extra_args(false);
  if (split) option->delimiter(',');
}

void add_stage_options(CLI::App &app, Options &o, Words &words) {
  app.add_option("input", o.input, "graph, program or kernel text; - or nothing: stdin");
  add_list(app, "--emit", words.emit, "STAGE",
           "graph, plan, dot, program, kernel, llvm, ptx, sass");
  app.add_option("-o,--output", o.output,
                 "where --emit, or --explain alone, goes: a file, or a folder/ with a file each")
      ->type_name("PATH");
  add_list(app, "--grad", o.grad, "x,w", "differentiate by these inputs first");
  app.add_option("--grad-output", o.grad_output, "the output that --grad differentiates")
      ->type_name("NAME");
  app.add_option("--part", o.part,
                 "of --grad: forward or backward, with what is saved between them; else all")
      ->type_name("NAME");
  app.add_option("--budget", o.budget_bytes,
                 "the most that is kept in memory from forward to backward")
      ->type_name("BYTES")
      ->check(CLI::NonNegativeNumber);
  add_list(app, "--pass", o.passes, "NAME", "graph passes to run first, in order");
  app.add_option("--print-after", o.print_after, "print the graph after this pass, or all")
      ->type_name("NAME");
  app.add_flag("--time", o.time, "print the time of each pass and stage");
  app.add_flag("--strict", o.strict, "round every 16-bit value");
}

void add_plan_options(CLI::App &app, Options &o, Words &words) {
  add_list(app, "--target", o.targets, "NAME",
           "machines: see --list-targets; auto; a file of figures");
  add_list(app, "--dim", words.dims, "B=512", "size of a symbol");
  app.add_flag("--explain", words.explain, "what was decided, why, at which price; =json");
  app.add_option("--report", o.report, "the same as a page, with drawings and texts")
      ->type_name("out.html");
  app.add_option("--serialize", o.serialize, "write an executable with code for the machines")
      ->type_name("FILE");
  app.add_flag("--batch-invariant", o.batch_invariant,
               "a row's bits do not depend on how many there are");
  add_list(app, "--keep", words.keep, "%3", "store this value");
  add_list(app, "--recompute", words.recompute, "%3", "compute it again where it is read");
  add_list(app, "--no-fuse", words.no_fuse, "%3,%4", "never in one kernel", false);
  add_list(app, "--mapping", words.mappings, "k0:elements=1",
           "deviate from the mapping of a kernel by powers of two: elements, threads, vector, "
           "blocks; and resident, stages, rows=held|looped|piped",
           false);
}

void add_run_options(CLI::App &app, Options &o, Words &words) {
  app.add_flag("--run", o.run,
               "run a graph and print the outputs; programs and kernels are not run");
  app.add_option("--on", words.on, "auto, gpu or host")->type_name("WHERE");
  app.add_flag("--verify", o.verify, "run the graph and compare with the evaluator");
  add_list(app, "--in", words.in, "x=x.npy", "an input, or a scalar's value; else random", false);
  app.add_option("--seed", o.seed, "of random inputs")->type_name("N");
  add_list(app, "--out", words.out, "y=y.npy", "where to write an output", false);
  add_list(app, "--expect", words.expect, "y=y.npy", "verify an output by this file", false);
}

void add_list_options(CLI::App &app, Options &o) {
  app.add_flag("--list-ops", o.list_ops, "operations and builders");
  app.add_flag("--list-passes", o.list_passes, "graph passes");
  app.add_flag("--list-targets", o.list_targets, "machines with known figures");
}

const Named<Stage> kStages = {{"graph", Stage::Graph},   {"plan", Stage::Plan},
                              {"dot", Stage::Dot},       {"program", Stage::Program},
                              {"kernel", Stage::Kernel}, {"llvm", Stage::Llvm},
                              {"ptx", Stage::Ptx},       {"sass", Stage::Sass}};

void resolve_run(const Words &words, Options &o) {
  const Named<fuse::Executor> executors = {
      {"auto", fuse::Executor::Auto}, {"gpu", fuse::Executor::Gpu}, {"host", fuse::Executor::Host}};
  o.on = choose("--on", words.on, executors);
  o.in = files_of("--in", words.in);
  o.out = files_of("--out", words.out);
  o.expect = files_of("--expect", words.expect);
  o.verify = o.verify || !o.expect.empty();
  o.run = o.run || o.verify;
  if (!o.run && !(o.in.empty() && o.out.empty()))
    throw UsageError("--in and --out need --run or --verify");
  if (o.run && o.targets.size() > 1) throw UsageError("--target: a run takes one machine");
}

/// Names without the blanks of "x, w". An option is none: `--grad= --run` would differentiate by
/// it.
std::vector<std::string> inputs_of(const std::vector<std::string> &words) {
  std::vector<std::string> names;
  for (const std::string &word : words) {
    names.push_back(CLI::detail::trim_copy(word));
    if (names.back().empty() || names.back()[0] == '-')
      throw UsageError("--grad: '" + word + "' is no name of an input; --grad=x,w takes several");
  }
  return names;
}

void resolve(const Words &words, Options &o) {
  const Named<Explain> forms = {
      {"", Explain::No}, {"text", Explain::Text}, {"json", Explain::Json}};
  for (const std::string &w : words.emit) o.emit.push_back(choose("--emit", w, kStages));
  // A flag without a value has the value "true".
  o.explain = choose("--explain", words.explain == "true" ? "text" : words.explain, forms);
  for (const std::string &w : words.dims) add_dim(o.dims, w);
  o.overrides = {labels_of(words.keep), labels_of(words.recompute), sets_of(words.no_fuse)};
  o.tunings = tunings_of(words.mappings);
  o.grad = inputs_of(o.grad);
  if (o.grad.empty() && !o.grad_output.empty())
    throw UsageError("--grad-output needs --grad, the inputs to differentiate by");
  if (!o.part.empty()) choose("--part", o.part, Named<bool>{{"forward", true}, {"backward", true}});
  if (o.grad.empty() && !o.part.empty()) throw UsageError("--part needs --grad");
  if (o.budget_bytes && (o.grad.empty() || (o.part.empty() && o.explain == Explain::No)))
    throw UsageError("--budget needs --grad and --explain or --part, which show what is saved");
  check_passes(o);
  resolve_run(words, o);
  if (!o.tunings.empty() && (o.run || o.emit.empty()))
    throw UsageError("--mapping is for texts, as --emit=kernel; what runs is mapped by rule");
}

std::string version_text() {
  return "fuse " + std::string(fuse::version()) + ", LLVM " + fuse::llvm_version();
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

std::string_view to_string(Stage stage) {
  for (const auto &[name, value] : kStages)
    if (value == stage) return name;
  return "";
}

std::optional<Options> parse_options(int argc, char **argv) {
  Options options;
  Words words;
  CLI::App app("Prints, transforms, compiles, explains and runs graphs of tensor expressions.",
               "fuse-opt");
  app.footer(kFooter);
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version", version_text(), "versions of fuse and LLVM");
  app.get_formatter()->column_width(24);
  add_stage_options(app, options, words);
  add_plan_options(app, options, words);
  add_run_options(app, options, words);
  add_list_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::CallForVersion &e) {
    std::cout << e.what() << "\n";
    return std::nullopt;
  } catch (const CLI::ParseError &e) {
    throw UsageError(message_of(e, app, argc, argv) + " (see --help)");
  }
  resolve(words, options);
  return options;
}
