// Programs on disk: where one is found, nothing is planned or scheduled.
#pragma once

#include "passes/passes.h"
#include "runtime/disk_cache.h"

#include <string>

namespace fuse {

/// A program and how it came about.
struct Lowered {
  Lowered(Program lowered, bool was_cached = false)
      : program(std::move(lowered)), from_disk(was_cached) {}

  Program program;
  bool from_disk = false;
};

/// Everything that lower() depends on, as text: the build of the library, passes left out, target,
/// options, and the graph by the numbers of its nodes. Names that the user gave to values count,
/// as decisions show them; source lines do not.
std::string plan_key(const Graph &graph, const Target &target, const LowerOptions &options);

/// lower(), or what it gave before. An entry that cannot be read is planned anew. Where FUSE_DUMP
/// asks for graphs or plans, they are made.
Lowered lower_cached(const Graph &graph, const Target &target, const LowerOptions &options,
                     DiskCache &cache);

}  // namespace fuse
