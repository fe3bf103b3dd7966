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

}  // namespace

std::vector<std::vector<NodeId>> bottlenecks(const Joint &j) {
  std::vector<NodeId> last = last_readers(j);
  std::vector<double> crossing = crossing_bytes(j, last);
  double least = 0, floor = 0;
  for (NodeId id = 0; id < j.graph.size(); ++id)
    if (may_cross(j, id)) floor = std::max(floor, kLeastShare * j.bytes[id]);
  for (double bytes : crossing)
    if (bytes >= floor && (least == 0 || bytes < least)) least = bytes;
  std::vector<std::vector<NodeId>> found;
  bool was_narrow = false;
  for (NodeId place = 0; place < j.graph.size(); ++place) {
    bool is_narrow = crossing[place] >= floor && crossing[place] <= kNarrow * least && floor > 0;
    if (is_narrow && !was_narrow) {
      std::vector<NodeId> values;
      for (NodeId id = 0; id <= place; ++id)
        if (may_cross(j, id) && last[id] > place) values.push_back(id);
      found.push_back(std::move(values));
    }
    was_narrow = is_narrow;
  }
  return found;
}

}  // namespace fuse
