// What fuse-opt does with a program once the options are known.
#pragma once

#include "options.h"

#include <fuse/graph.h>

#include <string>
#include <string_view>

/// --list-ops, --list-passes and --list-targets.
std::string lists(const Options &options);

/// The graph after --pass, with --print-after and --time on stderr.
fuse::Graph transform(const fuse::Graph &graph, const Options &options);

/// The stages of --emit, one after another.
std::string emit_graph(const fuse::Graph &graph, const Options &options);
std::string emit_kernel(std::string_view text, const Options &options);

/// --explain: what was decided for the sizes, without a device.
std::string explain(const fuse::Graph &graph, const Options &options);

/// --run: prints each output and how it compares with the evaluator; false on a mismatch.
bool run_graph(const fuse::Graph &graph, const Options &options, std::string &text);
