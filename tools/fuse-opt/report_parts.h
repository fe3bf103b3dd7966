// The parts of a report, each a piece of HTML.
#pragma once

#include "ir/program.h"

#include <fuse/graph.h>
#include <fuse/target.h>

#include <string>
#include <vector>

/// What a report tells of.
struct Reported {
  const fuse::Graph &given, &canonical;
  const fuse::Program &program;
  const fuse::Target &target;

  const fuse::Plan &plan() const { return program.plan; }
  double total_us() const;
};

/// Kernels as boxes, and what lies in memory between them. Inputs and outputs are boxes too, where
/// there are few.
std::string plan_drawing(const Reported &r);

/// What a kernel computes, value by value; "" for one that computes nothing, or too much to be
/// seen.
std::string value_drawing(const Reported &r, std::size_t kernel);

/// Operations a byte and a second on logarithmic axes, with the roofs of the machine; each kernel
/// by the pipe beside the memory that it keeps busiest.
std::string roofline(const Reported &r);

/// A section for each kernel: figures, pipes, decisions, and its texts.
std::string kernel_sections(const Reported &r);

/// A table of decisions.
std::string decision_table(const std::vector<fuse::Decision> &decisions);

/// The colour of a pipe in charts and bars.
std::string colour_of(const std::string &pipe);
