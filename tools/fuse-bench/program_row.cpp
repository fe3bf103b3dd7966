#include "program_row.h"

#include "ir/format.h"
#include "ir/graph_data.h"
#include "ir/kernel.h"
#include "ir/suggest.h"
#include "ir/symbol_size.h"
#include "options.h"

#include <algorithm>
#include <filesystem>

namespace fuse::bench {

namespace {

constexpr std::int64_t kMostToCheck = INT64_C(1) << 20;  // elements of all values of a graph

std::vector<Symbol> symbols_of_kernel(const Kernel &kernel) {
  std::vector<Symbol> symbols;
  for (const std::string &name : symbols_of(kernel)) symbols.push_back({name, {0}});
  return symbols;
}

void check_sizes(const std::string &path, const std::vector<Symbol> &symbols,
                 const Bindings &sizes) {
  std::vector<std::string_view> names;
  for (const Symbol &s : symbols) names.push_back(s.name);
  for (const auto &[name, size] : sizes) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw UsageError("--dim: " + name + " is no symbol of " + path + suggest(name, names));
    if (std::string why = objection_to_size(symbols, name, size); !why.empty())
      throw UsageError("--dim: " + why);
  }
  for (const Symbol &s : symbols)
    if (!sizes.contains(s.name))
      throw UsageError("symbol " + s.name + " of " + path +
                       " has no size: give it one, as --dim=" + s.name + "=4096");
}

bool is_small(const GraphData &graph, const Bindings &sizes) {
  std::int64_t elements = 0;
  for (NodeId id = 0; id < graph.size() && elements <= kMostToCheck; ++id) {
    std::int64_t count = 1;
    for (std::int64_t extent : evaluate(graph.shape(id), sizes))
      count = std::min(kMostToCheck + 1, extent) * std::min(kMostToCheck + 1, count);
    elements += count;
  }
  return elements <= kMostToCheck;
}

}  // namespace

Row row_of_file(const std::string &path, const Bindings &sizes) {
  Row row;
  row.path = path;
  row.sizes = sizes;
  row.name = std::filesystem::path(path).stem().string();
  for (const auto &[name, size] : sizes) append(row.name, " {}={}", name, size);
  std::string text = read_file(path);
  if (row.is_kernel()) {
    check_sizes(path, symbols_of_kernel(parse_kernel(text, path)), sizes);
    return row;
  }
  Graph graph = parse(text, path);
  check_sizes(path, graph.data().symbols, sizes);
  row.is_whole = is_small(graph.data(), sizes);
  if (row.is_whole) row.check = sizes;
  return row;
}

}  // namespace fuse::bench
