// The cheapest set of values to save where prices are additive: a minimum cut.
//
// A value is two vertices. The source side has what backward does not need; an arc source -> in is
// cut where the value is computed again, in -> out where it is saved. Where it is computed again,
// so must its operands be there: operand's out -> in cannot be cut.
#include "partition/min_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

#include <algorithm>
#include <cstdint>

namespace fuse {

namespace {

using Capacity = std::int64_t;
using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using VertexProperties = boost::property<
    boost::vertex_color_t, boost::default_color_type,
    boost::property<boost::vertex_distance_t, long,
                    boost::property<boost::vertex_predecessor_t, Traits::edge_descriptor>>>;
using EdgeProperties = boost::property<
    boost::edge_capacity_t, Capacity,
    boost::property<boost::edge_residual_capacity_t, Capacity,
                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>;
using Network = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, VertexProperties,
                                      EdgeProperties>;

// Sums of prices stay below what cannot be cut, and sums of that within 63 bits.
constexpr double kLargestSum = 1e14;
constexpr Capacity kUncuttable = 1'000'000'000'000'000;

void add_arc(Network &network, std::size_t from, std::size_t to, Capacity capacity) {
  auto forward = boost::add_edge(from, to, network).first;
  auto back = boost::add_edge(to, from, network).first;
  auto capacities = boost::get(boost::edge_capacity, network);
  auto reverse = boost::get(boost::edge_reverse, network);
  capacities[forward] = capacity;
  capacities[back] = 0;
  reverse[forward] = back;
  reverse[back] = forward;
}

double sum_of_prices(const CutProblem &problem) {
  double sum = 0;
  for (const CutPrice &p : problem.prices)
    for (double price : {p.save, p.repeat})
      if (price < kNever) sum += price;
  return sum;
}

std::size_t in_of(std::size_t value) { return 2 * value; }
std::size_t out_of(std::size_t value) { return 2 * value + 1; }

}  // namespace

std::vector<bool> min_cut(const CutProblem &problem) {
  std::size_t n = problem.prices.size(), source = 2 * n, sink = 2 * n + 1;
  Network network(2 * n + 2);
  double sum = sum_of_prices(problem), scale = sum > 0 ? kLargestSum / sum : 1;
  auto capacity = [&](double price) {
    return price < kNever ? static_cast<Capacity>(price * scale + 0.5) : kUncuttable;
  };
  for (std::size_t v = 0; v < n; ++v) {
    add_arc(network, source, in_of(v), capacity(problem.prices[v].repeat));
    add_arc(network, in_of(v), out_of(v), capacity(problem.prices[v].save));
    for (std::size_t o : problem.operands[v]) add_arc(network, out_of(o), in_of(v), kUncuttable);
    if (problem.needed[v]) add_arc(network, out_of(v), sink, kUncuttable);
  }
  boost::boykov_kolmogorov_max_flow(network, source, sink);
  auto color = boost::get(boost::vertex_color, network);
  auto is_source_side = [&](std::size_t v) { return color[v] == boost::black_color; };
  std::vector<bool> save(n);
  for (std::size_t v = 0; v < n; ++v)
    save[v] = is_source_side(in_of(v)) && !is_source_side(out_of(v));
  return save;
}

}  // namespace fuse
