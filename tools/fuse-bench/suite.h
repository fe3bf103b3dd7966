// The list of rows: programs with sizes.
//
// A program names its sizes by symbols. Those that the row lists are put in their place before the
// graph is parsed, so the compiler sees static extents; a kernel text keeps its symbols.
#pragma once

#include <fuse/shape.h>

#include <string>
#include <vector>

namespace fuse::bench {

struct Row {
  std::string name;
  std::string path;
  Bindings sizes;
  // Sizes of the instance that the evaluator computes; empty: the row is not checked.
  Bindings check;
  // Inputs that differ between the instances repeat along their leading axis, and so must the
  // outputs: the large instance is checked itself, all of it.
  bool repeats = false;
  int index_limit = 100;  // integers of inputs are below this
  bool is_whole = false;  // the instance to check is all of it, with or without sizes

  bool is_checked() const { return is_whole || !check.empty(); }
  bool is_kernel() const { return path.ends_with(".kernel"); }
};

/// Reads the list. Paths are relative to its folder. Throws Error{Io} or Error{Parse}.
std::vector<Row> read_suite(const std::string &path);

/// Rows whose name contains one of the filters; all without filters.
std::vector<Row> select(const std::vector<Row> &rows, const std::vector<std::string> &filters);

std::string read_file(const std::string &path);

}  // namespace fuse::bench
