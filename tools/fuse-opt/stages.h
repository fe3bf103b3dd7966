// What fuse-opt does with a text once the options are known.
#pragma once

#include "options.h"

#include "ir/program.h"
#include "passes/passes.h"

#include <fuse/graph.h>

#include <string>
#include <string_view>

/// --list-ops, --list-passes and --list-targets.
std::string lists(const Options &options);

/// The graph after --pass.
fuse::Graph transform(const fuse::Graph &graph, const Options &options);

/// What the planner is told of the graph: sizes, and what is known of them.
fuse::LowerOptions lowering_of(const fuse::Graph &graph, const Options &options);

/// --emit for each target: to stdout or a file one after another, or to a folder as
/// <name>[.<target>].<stage>. UsageError for a stage that a program or a kernel does not have.
void emit(const fuse::Graph &graph, const Options &options);
void emit(const fuse::Program &program, const Options &options);
void emit(const fuse::Kernel &kernel, const Options &options);

/// --explain: what was decided for the sizes, without a device; of a graph with derivatives also
/// how the given one, which has none, is divided into forward and backward.
std::string explain(const fuse::Graph &given, const fuse::Graph &graph, const Options &options);

/// --serialize: a file with code for all targets, and for the sizes of --dim if all are given.
std::string serialized(const fuse::Graph &graph, const Options &options);

/// --run: the outputs as text, and how they compare with the evaluator; false on a mismatch.
bool run_graph(const fuse::Graph &graph, const Options &options, std::string &text);

/// Machine code of PTX as text, by the tools ptxas and nvdisasm or cuobjdump, which PATH or
/// $CUDA_HOME/bin, by default /usr/local/cuda/bin, has. Error{Unsupported} names the one that is
/// missing.
std::string sass_of(const std::string &ptx);
