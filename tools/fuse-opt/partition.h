// Forward and backward of a graph as two programs, and why.
#pragma once

#include "options.h"

#include <fuse/graph.h>

#include <nlohmann/json.hpp>

#include <string>

/// The part that --part names, for the first target.
fuse::Graph part_of(const fuse::Graph &graph, const Options &options);

/// What is saved between forward and backward of the graph that --grad differentiates, for each
/// target.
std::string explain_partition(const fuse::Graph &graph, const Options &options);
nlohmann::ordered_json partitions_json(const fuse::Graph &graph, const Options &options);
