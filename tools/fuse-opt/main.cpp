// fuse-opt: graphs and kernels as text in, any stage of their compilation out.
//
// Exit codes: 0 ok, 1 program or input, 2 usage, 3 mismatch, 4 no device. Messages are one line on
// stderr.
#include "emit.h"

#include <fuse/error.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

namespace {

enum ExitCode { kOk = 0, kProgram = 1, kUsage = 2, kMismatch = 3, kNoDevice = 4 };

std::string read(const std::string &path) {
  std::ostringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream file(path, std::ios::binary);
  // Reading a directory opens but gives nothing.
  if (!file || (file.peek(), file.bad()))
    throw fuse::Error(fuse::ErrorCode::Io, "cannot read " + path);
  text << file.rdbuf();
  return text.str();
}

void write(const std::string &path, const std::string &text) {
  if (path == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw fuse::Error(fuse::ErrorCode::Io, "cannot write " + path);
}

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

int drive(Options options) {
  if (options.list_ops || options.list_passes || options.list_targets) {
    write("-", lists(options));
    return kOk;
  }
  std::string source = read(options.input);
  std::string file = options.input == "-" ? "<stdin>" : options.input;
  if (first_word(source) == "kernel") {
    if (options.emit.empty()) options.emit = {Stage::Kernel};
    write(options.output, emit_kernel(source, options));
    return kOk;
  }
  fuse::Graph graph = transform(fuse::parse(source, file), options);
  if (options.emit.empty() && !options.run && !options.explain) options.emit = {Stage::Graph};
  if (!options.emit.empty()) write(options.output, emit_graph(graph, options));
  if (options.explain) write("-", explain(graph, options));
  if (!options.run) return kOk;
  std::string report;
  bool passed = run_graph(graph, options, report);
  write("-", report);
  return passed ? kOk : kMismatch;
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
  return options ? drive(*options) : kOk;
} catch (const UsageError &e) {
  std::fprintf(stderr, "fuse-opt: %s\n", e.what());
  return kUsage;
} catch (const fuse::Error &e) {
  return report(e);
} catch (const std::exception &e) {
  std::fprintf(stderr, "fuse-opt: error: %s\n", e.what());
  return kProgram;
}
