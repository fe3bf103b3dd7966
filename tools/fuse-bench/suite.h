// The list of rows: programs with sizes.
//
// A program names its sizes by symbols. Those that the row lists are put in their place before the
// graph is parsed, so the compiler sees static extents; a kernel text keeps its symbols.
#pragma once

#include <fuse/shape.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fuse::bench {

struct Row {
  std::string name;
  std::string path;
  Bindings sizes;
  // Sizes of the instance that the evaluator computes; none: the row is not checked.
  std::optional<Bindings> check;
  // Inputs that differ between the instances repeat along their leading axis, and so must the
  // outputs: the large instance is checked itself, all of it.
  bool repeats = false;
  // Integers of inputs are below these, a number or the name of a size: by input, "" for the rest.
  std::map<std::string, std::string> index_limits;
  std::vector<std::string> grad;  // inputs by which it is differentiated; none: it is run as it is
  bool is_whole = false;          // the instance to check is all of it, with or without sizes

  bool is_gradient() const { return !grad.empty(); }
  bool is_kernel() const { return path.ends_with(".kernel"); }
};

/// "C=4096 R=8".
std::string words_of(const Bindings &sizes);

/// What integers of the input are below, in an instance of these sizes. Throws Error{Parse}.
std::int64_t index_limit(const Row &row, const std::string &input, const Bindings &sizes);

/// Reads the list. Paths are relative to its folder. Throws Error{Io} or Error{Parse}.
std::vector<Row> read_suite(const std::string &path);

/// Rows whose name contains one of the filters; all without filters.
std::vector<Row> select(const std::vector<Row> &rows, const std::vector<std::string> &filters);

std::string read_file(const std::string &path);

}  // namespace fuse::bench
