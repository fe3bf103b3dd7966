// --report: a graph's kernels, predictions and texts as one HTML page that needs nothing else.
#pragma once

#include "options.h"

#include <fuse/graph.h>

#include <string>

/// The page. UsageError for more than one target.
std::string report_page(const fuse::Graph &graph, const Options &options);
