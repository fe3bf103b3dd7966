// Local search over a partition: a group gives values away, and both parts go where they cost
// least.
#include "passes/plan_merge.h"
#include "passes/plan_parts.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

namespace fuse {

namespace {

constexpr std::size_t kMaxNeighbours = 8;  // of which two may be joined at once
constexpr std::size_t kMaxCone = 16;
constexpr std::size_t kMaxPieces = 3;
constexpr std::size_t kMaxExchange = 20;  // values of two groups
constexpr std::size_t kMaxParted = 64;    // likewise, where the rest of each goes its own way
constexpr int kMaxAttempts = 24;          // at places that save time, and may close cycles
constexpr double kMinGainSeconds = 1e-9;
constexpr double kIllegal = 1e9;

/// Where some values could go: the groups that become one with them, none for a kernel of their
/// own; and the seconds that this adds.
struct Place {
  std::vector<GroupId> joins;
  SetKey key;  // of all that is there then
  double seconds = 0;
};

/// Values that leave their groups together, where they could go, cheapest first, and where they do.
struct Part {
  std::vector<PlanId> values;
  std::vector<Place> places;
  std::size_t chosen = 0;

  const Place &place() const { return places[chosen]; }
};

bool share_group(const Place &a, const Place &b) {
  return std::any_of(a.joins.begin(), a.joins.end(), [&](GroupId g) {
    return std::find(b.joins.begin(), b.joins.end(), g) != b.joins.end();
  });
}

class Refiner {
 public:
  Refiner(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order,
          std::vector<std::uint64_t> &tried)
      : p_(graph),
        prices_(prices),
        order_(order),
        vicinity_(graph, order),
        tried_(tried),
        surroundings_(graph.values.size()),
        seconds_(graph.values.size(), -1) {}

  bool run() {
    bool moved = false;
    for (PlanId v = 0; v < p_.values.size(); ++v) {
      if (!p_.is_computed(v) || tried_[v] == surroundings(v)) continue;
      bool better = improve(v);
      moved = moved || better;
      tried_[v] = better ? 0 : surroundings(v);
    }
    return moved;
  }

 private:
  std::uint64_t surroundings(PlanId v);
  bool improve(PlanId v);
  bool split_groups(const std::vector<PlanId> &values);
  bool place_parts(std::vector<Part> parts, const std::vector<GroupId> &groups, double limit);
  bool exchange(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                const std::vector<GroupId> &groups, double limit);
  bool part_each(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                 const std::vector<GroupId> &groups, double limit);
  bool part_rest(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                 const std::vector<GroupId> &groups, double limit);
  bool join_cores(GroupId a, GroupId b);
  std::vector<std::vector<PlanId>> legal_parts(const std::vector<PlanId> &values);
  void add_parts_of_groups(const std::vector<PlanId> &values, const std::vector<GroupId> &groups,
                           std::vector<Part> &parts) const;
  bool choose(std::vector<Part> &parts, std::size_t first, double limit);
  bool is_possible(const std::vector<Part> &parts, std::size_t part) const;
  bool apply(const std::vector<Part> &parts);
  void add_moves(const std::vector<PlanId> &values, const Place &place, GroupId alone,
                 std::vector<GroupOrder::Move> &moves);
  std::vector<GroupId> groups_of(std::span<const PlanId> values) {
    return vicinity_.groups_of(values);
  }
  std::vector<std::pair<GroupId, GroupId>> behind_neighbours(const std::vector<PlanId> &values,
                                                             const std::vector<GroupId> &near,
                                                             std::vector<GroupId> without);
  std::vector<Place> places(const std::vector<PlanId> &values, const std::vector<GroupId> &without);
  std::vector<PlanId> with_members(const std::vector<PlanId> &values,
                                   const std::vector<GroupId> &joins) const;
  std::optional<Place> place_with(const std::vector<PlanId> &values, SetKey key,
                                  std::vector<GroupId> joins);
  double seconds(const std::vector<PlanId> &values);
  double seconds_of(GroupId group);

  const PlanGraph &p_;
  KernelPrices &prices_;
  GroupOrder &order_;
  Vicinity vicinity_;
  std::vector<std::uint64_t> &tried_;  // by value: surroundings in which nothing helped
  std::vector<std::pair<std::uint64_t, std::uint64_t>> surroundings_;  // by group: as of a version
  std::vector<double> seconds_;  // by group; negative: not known
  int attempts_ = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> cores_;  // of these versions, looked at
};

/// A number that changes with the group and its neighbours.
std::uint64_t Refiner::surroundings(PlanId v) {
  GroupId group = order_.group_of(v);
  auto &[as_of, sum] = surroundings_[group];
  if (as_of == order_.last_version()) return sum;
  as_of = order_.last_version();
  sum = 1 + order_.version(group);
  for (GroupId g : vicinity_.neighbours(order_.members(group), {{group}}))
    sum = sum * 0x9e3779b97f4a7c15 + order_.version(g);
  return sum;
}

double Refiner::seconds(const std::vector<PlanId> &values) {
  if (values.empty()) return 0;
  KernelPrices::Price price = prices_.price(values);
  return price.legal ? price.seconds : kIllegal;
}

double Refiner::seconds_of(GroupId group) {
  if (seconds_[group] < 0) seconds_[group] = seconds(order_.members(group));
  return seconds_[group];
}

std::vector<PlanId> Refiner::with_members(const std::vector<PlanId> &values,
                                          const std::vector<GroupId> &joins) const {
  std::vector<PlanId> all = values;
  for (GroupId g : joins) {
    auto middle = static_cast<std::ptrdiff_t>(all.size());
    all.insert(all.end(), order_.members(g).begin(), order_.members(g).end());
    std::inplace_merge(all.begin(), all.begin() + middle, all.end());
  }
  return all;
}

std::optional<Place> Refiner::place_with(const std::vector<PlanId> &values, SetKey key,
                                         std::vector<GroupId> joins) {
  std::size_t size = values.size();
  double before = 0;
  for (GroupId g : joins) {
    size += order_.members(g).size();
    before += seconds_of(g);
    key += order_.key(g);
  }
  if (size > kMaxValues) return std::nullopt;
  KernelPrices::Price after = prices_.price(key, [&] { return with_members(values, joins); });
  if (!after.legal) return std::nullopt;
  return Place{std::move(joins), key, after.seconds - before};
}

/// Small neighbours, and neighbours of theirs.
std::vector<std::pair<GroupId, GroupId>> Refiner::behind_neighbours(
    const std::vector<PlanId> &values, const std::vector<GroupId> &near,
    std::vector<GroupId> without) {
  std::vector<std::pair<GroupId, GroupId>> pairs;
  without.insert(without.end(), near.begin(), near.end());
  for (GroupId g : near) {
    const auto &members = order_.members(g);
    if (values.size() + members.size() > kMaxExchange) continue;
    for (GroupId behind : vicinity_.neighbours(members, without)) pairs.emplace_back(g, behind);
  }
  if (pairs.size() > kMaxNeighbours) pairs.resize(kMaxNeighbours);
  return pairs;
}

/// Alone, with a neighbour, or with two; cheapest first.
std::vector<Place> Refiner::places(const std::vector<PlanId> &values,
                                   const std::vector<GroupId> &without) {
  std::vector<Place> all;
  SetKey key = key_of(values);
  auto add = [&](std::vector<GroupId> joins) {
    if (auto place = place_with(values, key, std::move(joins))) all.push_back(std::move(*place));
  };
  add({});
  std::vector<GroupId> near = vicinity_.neighbours(values, without);
  for (GroupId g : near) add({g});
  if (near.size() > kMaxNeighbours) near.resize(kMaxNeighbours);
  for (std::size_t i = 0; i < near.size(); ++i)
    for (std::size_t k = i + 1; k < near.size(); ++k) add({near[i], near[k]});
  for (const auto &[g, behind] : behind_neighbours(values, near, without)) add({g, behind});
  std::stable_sort(all.begin(), all.end(),
                   [](const Place &a, const Place &b) { return a.seconds < b.seconds; });
  return all;
}

/// Moves the values, and the groups that they join, into one group.
void Refiner::add_moves(const std::vector<PlanId> &values, const Place &place, GroupId alone,
                        std::vector<GroupOrder::Move> &moves) {
  GroupId to = place.joins.empty() ? alone : place.joins[0];
  for (GroupId from : groups_of(values)) {
    if (from == to) continue;
    moves.push_back({{}, to});
    std::copy_if(values.begin(), values.end(), std::back_inserter(moves.back().values),
                 [&](PlanId v) { return order_.group_of(v) == from; });
  }
  for (std::size_t i = 1; i < place.joins.size(); ++i)
    moves.push_back({order_.members(place.joins[i]), to});
}

bool Refiner::apply(const std::vector<Part> &parts) {
  std::vector<PlanId> all;
  for (const Part &part : parts) all.insert(all.end(), part.values.begin(), part.values.end());
  std::vector<GroupId> groups = groups_of(all), free = groups;
  order_.add_vacant(parts.size(), free);
  std::vector<GroupOrder::Move> moves;
  std::size_t next = 0;
  for (const Part &part : parts) {
    bool alone = part.place().joins.empty();
    if (alone && next == free.size()) return false;
    add_moves(part.values, part.place(), alone ? free[next++] : 0, moves);
  }
  if (moves.empty() || !order_.try_moves(moves)) return false;
  for (const GroupOrder::Move &m : moves) seconds_[m.to] = -1;
  for (GroupId g : groups) seconds_[g] = -1;
  return true;
}

/// Whether the chosen place hangs together and is no part of another's.
bool Refiner::is_possible(const std::vector<Part> &parts, std::size_t part) const {
  const Place &place = parts[part].place();
  for (std::size_t i = 0; i < part; ++i)
    if (share_group(parts[i].place(), place)) return false;
  return prices_.are_connected(place.key,
                               [&] { return with_members(parts[part].values, place.joins); });
}

/// Places for all parts from the first given one on, for less than the limit.
bool Refiner::choose(std::vector<Part> &parts, std::size_t first, double limit) {
  if (first == parts.size()) return attempts_-- > 0 && apply(parts);
  double least = 0;  // that the parts behind take
  for (std::size_t i = first + 1; i < parts.size(); ++i) least += parts[i].places[0].seconds;
  Part &part = parts[first];
  for (part.chosen = 0; part.chosen < part.places.size() && attempts_ > 0; ++part.chosen) {
    double seconds = part.place().seconds;
    if (seconds + least >= limit) return false;
    if (is_possible(parts, first) && choose(parts, first + 1, limit - seconds)) return true;
  }
  return false;
}

bool Refiner::place_parts(std::vector<Part> parts, const std::vector<GroupId> &groups,
                          double limit) {
  for (Part &part : parts) {
    part.places = places(part.values, groups);
    if (part.places.empty()) return false;
  }
  attempts_ = kMaxAttempts;
  return choose(parts, 0, limit);
}

/// Gives one more value of two groups away: what is left may be a kernel without it.
bool Refiner::exchange(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                       const std::vector<GroupId> &groups, double limit) {
  for (PlanId v : rest) {
    std::vector<PlanId> less = rest, more = values;
    std::erase(less, v);
    if (seconds(less) >= kIllegal) continue;
    more.insert(std::lower_bound(more.begin(), more.end(), v), v);
    if (place_parts({{std::move(more), {}}, {std::move(less), {}}}, groups, limit)) return true;
  }
  return false;
}

/// The values of each group go their own way.
bool Refiner::part_each(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                        const std::vector<GroupId> &groups, double limit) {
  std::vector<Part> parts;
  add_parts_of_groups(values, groups, parts);
  parts.push_back({rest, {}});
  return place_parts(std::move(parts), groups, limit);
}

/// The rest of each group goes its own way: what stood between two kernels, and needed one of them
/// for some of its values only, no longer does.
bool Refiner::part_rest(const std::vector<PlanId> &values, const std::vector<PlanId> &rest,
                        const std::vector<GroupId> &groups, double limit) {
  std::vector<Part> parts;
  add_parts_of_groups(rest, groups, parts);
  if (parts.size() != groups.size()) return false;
  for (std::vector<PlanId> &kernel : legal_parts(values)) parts.push_back({std::move(kernel), {}});
  return place_parts(std::move(parts), groups, limit);
}

/// The values as one kernel where they can be, else all but one that needs none of them, and that
/// one: a view of an input has positions of its own.
std::vector<std::vector<PlanId>> Refiner::legal_parts(const std::vector<PlanId> &values) {
  if (seconds(values) < kIllegal) return {values};
  for (PlanId v : values) {
    auto edges = p_.edges(v);
    bool is_first = std::none_of(edges.begin(), edges.end(), [&](const PlanEdge &e) {
      return std::binary_search(values.begin(), values.end(), e.from);
    });
    std::vector<PlanId> less = values;
    std::erase(less, v);
    if (is_first && seconds(less) < kIllegal) return {std::move(less), {v}};
  }
  return {values};
}

void Refiner::add_parts_of_groups(const std::vector<PlanId> &values,
                                  const std::vector<GroupId> &groups,
                                  std::vector<Part> &parts) const {
  for (GroupId g : groups) {
    Part part;
    std::copy_if(values.begin(), values.end(), std::back_inserter(part.values),
                 [&](PlanId v) { return order_.group_of(v) == g; });
    if (!part.values.empty()) parts.push_back(std::move(part));
  }
}

/// Parts the values from their groups where that saves time, with the best places for them and for
/// what is left of the groups, as one or in the parts that hang together.
bool Refiner::split_groups(const std::vector<PlanId> &values) {
  std::vector<GroupId> groups = groups_of(values);
  std::vector<PlanId> all = with_members({}, groups), rest;
  if (all.size() > kMaxValues) return false;
  std::set_difference(all.begin(), all.end(), values.begin(), values.end(),
                      std::back_inserter(rest));
  double limit = -kMinGainSeconds;
  for (GroupId g : groups) limit += seconds_of(g);
  std::vector<Part> parts = {{values, {}}};
  if (rest.empty()) return place_parts(parts, groups, limit);
  std::vector<std::vector<PlanId>> pieces = prices_.connected_parts(rest);
  parts.push_back({rest, {}});
  if (place_parts(parts, groups, limit)) return true;
  if (groups.size() == 2 && all.size() <= kMaxExchange &&
      (exchange(values, rest, groups, limit) || part_each(values, rest, groups, limit)))
    return true;
  if (groups.size() == 2 && all.size() <= kMaxParted && part_rest(values, rest, groups, limit))
    return true;
  if (pieces.size() < 2 || pieces.size() > kMaxPieces) return false;
  parts.pop_back();
  for (std::vector<PlanId> &piece : pieces) parts.push_back({std::move(piece), {}});
  return place_parts(std::move(parts), groups, limit);
}

/// One kernel of what two do over most of their space, where small values between them, such as a
/// count of rows that both take part in, kept it from being one.
bool Refiner::join_cores(GroupId a, GroupId b) {
  if (!cores_.emplace(order_.version(a), order_.version(b)).second) return false;
  std::vector<PlanId> all = merged_members(order_, a, b);
  if (all.size() > kMaxParted) return false;
  double limit = seconds_of(a) + seconds_of(b) - kMinGainSeconds;
  std::vector<Part> parts;
  for (std::vector<PlanId> &values : core_and_ends(p_, all))
    parts.push_back({std::move(values), {}});
  if (parts.size() < 2 || seconds(parts[0].values) >= limit) return false;
  return place_parts(std::move(parts), {a, b}, limit);
}

bool Refiner::improve(PlanId v) {
  for (PlanId user : p_.users(v)) {
    GroupId a = order_.group_of(v), b = order_.group_of(user);
    if (a != b && p_.is_computed(user) && join_cores(a, b)) return true;
  }
  if (order_.members(order_.group_of(v)).size() > kMaxValues) return false;
  for (Reach reach :
       {Reach::Alone, Reach::WithUsers, Reach::WithOperands, Reach::AllUsers, Reach::AllOperands}) {
    bool anywhere = reach == Reach::AllUsers || reach == Reach::AllOperands;
    std::vector<PlanId> values = vicinity_.closure(v, reach, anywhere ? kMaxCone : kMaxValues);
    if (reach != Reach::Alone && values.size() == 1) continue;
    if (anywhere && (values.size() > kMaxCone || groups_of(values).size() < 2)) continue;
    if (split_groups(values)) return true;
  }
  return false;
}

}  // namespace

bool refine_groups(const PlanGraph &graph, KernelPrices &prices, GroupOrder &order,
                   std::vector<std::uint64_t> &tried) {
  return Refiner(graph, prices, order, tried).run();
}

}  // namespace fuse
