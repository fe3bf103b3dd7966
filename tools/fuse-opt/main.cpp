// fuse-opt: graphs, programs and kernels as text in, any stage of their compilation out.
//
// Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device. Messages are one line on
// stderr.
#include "arguments.h"
#include "files.h"
#include "partition.h"
#include "report.h"
#include "reproducer.h"
#include "stages.h"

#include "ir/program_text.h"
#include "text.h"

#include <fuse/error.h>

#include <algorithm>
#include <cstdio>

namespace {

enum ExitCode { kOk = 0, kProgram = 1, kUsage = 2, kMismatch = 3, kNoDevice = 4 };

/// The first word of the text, behind blanks and comments.
std::string_view first_word(std::string_view text) {
  for (;;) {
    std::size_t start = text.find_first_not_of(" \t\r\n");
    if (start == text.npos) return {};
    text.remove_prefix(start);
    if (text.substr(0, 2) != "//") break;
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
  return text.substr(0, text.find_first_of(" \t\r\n"));
}

void refuse_graph_options(const Options &o, std::string_view what) {
  const std::pair<bool, const char *> given[] = {{!o.grad.empty(), "--grad"},
                                                 {!o.passes.empty(), "--pass"},
                                                 {o.explain != Explain::No, "--explain"},
                                                 {o.run, "--run"},
                                                 {!o.report.empty(), "--report"},
                                                 {!o.serialize.empty(), "--serialize"}};
  for (const auto &[is_given, option] : given)
    if (is_given)
      throw UsageError(std::string(option) + " takes a graph, not a " + std::string(what));
}

fuse::Kernel parse_verified_kernel(const std::string &source, const std::string &file) {
  fuse::Kernel kernel = fuse::parse_kernel(source, file);
  fuse::verify_text(kernel, file);
  return kernel;
}

/// A file of -o is for --emit where both are asked for; a folder takes both.
std::string explain_path(const fuse::Graph &graph, const Options &options) {
  if (options.output != "-" && is_folder(options.output))
    return options.output + "/" + std::string(graph.name()) +
           (options.explain == Explain::Json ? ".json" : ".explain");
  return options.emit.empty() ? options.output : "-";
}

int drive_graph(const std::string &source, const std::string &file, Options options) {
  fuse::Graph given = fuse::parse(source, file);
  check_dims(given, options.dims);
  fuse::Graph graph = options.part.empty() ? transform(given, options) : part_of(given, options);
  // A part has the rounding points of the whole.
  options.strict = options.strict || !options.part.empty();
  bool has_file = !options.report.empty() || !options.serialize.empty();
  if (options.emit.empty() && !options.run && options.explain == Explain::No && !has_file)
    options.emit = {Stage::Graph};
  if (!options.emit.empty()) emit(graph, options);
  if (options.explain != Explain::No)
    write_file(explain_path(graph, options), explain(given, graph, options));
  if (!options.report.empty()) write_file(options.report, report_page(graph, options));
  if (!options.serialize.empty()) write_file(options.serialize, serialized(graph, options));
  if (!options.run) return kOk;
  std::string report;
  bool passed = run_graph(graph, options, report);
  write_file("-", report);
  return passed ? kOk : kMismatch;
}

int drive_source(const std::string &source, const std::string &file, Options options) {
  std::string_view word = first_word(source);
  if (word == "plan")
    refuse(fuse::ErrorCode::Parse,
           "{}: error: a plan lacks its graph; --emit=program prints one that can be read", file);
  if (word != "kernel" && word != "program") return drive_graph(source, file, std::move(options));
  refuse_graph_options(options, word);
  if (options.emit.empty()) options.emit = {word == "kernel" ? Stage::Kernel : Stage::Program};
  if (word == "kernel")
    emit(parse_verified_kernel(source, file), options);
  else
    emit(fuse::parse_program(source, file), options);
  return kOk;
}

int drive(const Options &options, int argc, char **argv) {
  if (options.list_ops || options.list_passes || options.list_targets) {
    write_file("-", lists(options));
    return kOk;
  }
  std::string source = read_file(options.input);
  std::string file = options.input == "-" ? "<stdin>" : options.input;
  return with_reproducer(source, {argv + 1, argv + argc},
                         [&] { return drive_source(source, file, options); });
}

int report(const fuse::Error &error) {
  std::string_view text = error.what();
  bool has_place = text.find(": error: ") != text.npos;
  std::fprintf(stderr, "%s%.*s\n",
               has_place ? "" : "fuse-opt: error: ", static_cast<int>(text.size()), text.data());
  return error.code() == fuse::ErrorCode::NoDevice ? kNoDevice : kProgram;
}

}  // namespace

int main(int argc, char **argv) try {
  std::optional<Options> options = parse_options(argc, argv);
  return options ? drive(*options, argc, argv) : kOk;
} catch (const UsageError &e) {
  std::fprintf(stderr, "fuse-opt: %s\n", e.what());
  return kUsage;
} catch (const fuse::Error &e) {
  return report(e);
} catch (const std::exception &e) {
  std::fprintf(stderr, "fuse-opt: error: %s\n", e.what());
  return kProgram;
}
