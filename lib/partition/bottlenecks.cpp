// Where forward is narrow: the places at which deep graphs are checkpointed.
#include "partition/bottlenecks.h"

#include <algorithm>

namespace fuse {

namespace {

// Less than this share of the largest value crosses only where inputs carry the rest; this much
// above the least is still narrow.
constexpr double kLeastShare = 0.25, kNarrow = 1.2;

bool may_cross(const Joint &j, NodeId id) { return j.forward[id] && j.may_save[id]; }

/// The last node of forward that reads the value, through what does not lie in memory.
std::vector<NodeId> last_readers(const Joint &j) {
  std::vector<NodeId> last(j.graph.size(), 0);
  for (NodeId id = static_cast<NodeId>(j.graph.size()); id-- > 0;) {
    if (!j.forward[id]) continue;
    NodeId reader = may_cross(j, id) ? id : std::max(id, last[id]);
    for (NodeId operand : j.graph.operands(id)) last[operand] = std::max(last[operand], reader);
  }
  return last;
}

/// By node: bytes of the values that cross from it to the next.
std::vector<double> crossing_bytes(const Joint &j, const std::vector<NodeId> &last) {
  std::vector<double> change(j.graph.size() + 1), crossing;
  for (NodeId id = 0; id < j.graph.size(); ++id) {
    if (!may_cross(j, id) || last[id] <= id) continue;
    change[id] += j.bytes[id];
    change[last[id]] -= j.bytes[id];
  }
  double bytes = 0;
  for (NodeId id = 0; id < j.graph.size(); ++id) crossing.push_back(bytes += change[id]);
  return crossing;
}

/// Those that cross from the node to the next.
std::vector<NodeId> values_across(const Joint &j, const std::vector<NodeId> &last, NodeId place) {
  std::vector<NodeId> values;
  for (NodeId id = 0; id <= place; ++id)
    if (may_cross(j, id) && last[id] > place) values.push_back(id);
  return values;
}

}  // namespace

std::vector<std::vector<NodeId>> bottlenecks(const Joint &j) {
  std::vector<NodeId> last = last_readers(j), places;
  std::vector<double> crossing = crossing_bytes(j, last);
  double least = 0, floor = 0;
  for (NodeId id = 0; id < j.graph.size(); ++id)
    if (may_cross(j, id)) floor = std::max(floor, kLeastShare * j.bytes[id]);
  for (double bytes : crossing)
    if (bytes >= floor && (least == 0 || bytes < least)) least = bytes;
  bool was_narrow = false;
  for (NodeId place = 0; place < j.graph.size(); ++place) {
    bool is_narrow = crossing[place] >= floor && crossing[place] <= kNarrow * least && floor > 0;
    if (is_narrow && !was_narrow) places.push_back(place);
    // Of neighbours the narrowest, of equal ones the last, which has the most behind it.
    if (is_narrow && crossing[place] <= crossing[places.back()]) places.back() = place;
    was_narrow = is_narrow;
  }
  std::vector<std::vector<NodeId>> found;
  for (NodeId place : places) {
    std::vector<NodeId> values = values_across(j, last, place);
    bool is_same = !found.empty() && std::includes(values.begin(), values.end(),
                                                   found.back().begin(), found.back().end());
    if (!is_same) found.push_back(std::move(values));
  }
  return found;
}

}  // namespace fuse
