// A topological order of groups that survives contraction, after Pearce and Kelly.
//
// Every group has a rank; an edge goes from a lower rank to a higher one. Contracting two groups
// searches only the ranks between theirs, and reorders only those.
#pragma once

#include "passes/plan_graph.h"
#include "passes/set_key.h"

#include <vector>

namespace fuse {

using GroupId = std::uint32_t;

class GroupOrder {
 public:
  /// One group for each value, ranked as the values are.
  explicit GroupOrder(const PlanGraph &graph);

  GroupId group_of(PlanId v) const { return group_of_[v]; }
  std::uint32_t rank(GroupId g) const { return rank_[g]; }
  /// Values of a group, ascending.
  const std::vector<PlanId> &members(GroupId g) const { return members_[g]; }
  const SetKey &key(GroupId g) const { return key_[g]; }  // of its values
  /// A number that no other members of any group have had.
  std::uint64_t version(GroupId g) const { return version_[g]; }
  std::uint64_t last_version() const { return last_version_; }
  bool is_alive(GroupId g) const { return !members_[g].empty(); }
  /// The group that holds the first value of a contracted one.
  GroupId find(GroupId g) const { return group_of_[first_[g]]; }

  /// True if a path leads from one of the two groups through a third into the other.
  bool closes_cycle(GroupId a, GroupId b);

  /// Makes one group of two that close no cycle; returns the id that remains.
  GroupId contract(GroupId a, GroupId b);

  /// Values of one group, and the group that they join.
  struct Move {
    std::vector<PlanId> values;
    GroupId to;
  };
  /// Makes the moves one after another, each value once; false, with nothing changed, where all
  /// together close a cycle. Ranks are made anew.
  bool try_moves(const std::vector<Move> &moves);

  /// Appends up to n groups without members, the nearest in rank to the first one given.
  void add_vacant(std::size_t n, std::vector<GroupId> &groups) const;

  /// Living groups by rank.
  std::vector<GroupId> sorted() const;

 private:
  bool reaches(GroupId from, GroupId to);
  void transfer(const std::vector<PlanId> &values, GroupId from, GroupId to);
  bool close_cycle(const std::vector<Move> &moves, std::uint32_t highest);
  bool returns_to(GroupId start, const std::vector<Move> &moves, std::uint32_t highest);
  void rank_anew(std::uint32_t lowest, std::uint32_t highest);

  const PlanGraph &p_;
  std::vector<GroupId> group_of_;
  std::vector<std::vector<PlanId>> members_;
  std::vector<SetKey> key_;             // by group
  std::vector<PlanId> first_;           // by group: a value that it had at the start
  std::vector<std::uint32_t> rank_;     // by group
  std::vector<GroupId> at_;             // by rank
  std::vector<std::uint64_t> version_;  // by group
  std::uint64_t last_version_ = 0;
  std::vector<std::uint32_t> stamp_;
  std::vector<std::uint32_t> pending_;  // by group
  std::uint32_t epoch_ = 0;
  std::vector<GroupId> between_;  // found by the last search: behind `from`, before `to`
};

}  // namespace fuse
