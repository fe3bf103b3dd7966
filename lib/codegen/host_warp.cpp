// Shuffles, votes and barriers of one warp, on the request arrays of its lanes.
//
// A mask's lanes are served together or not at all: all of them must stand at the same place with
// the same mask. Lanes that the block does not have are ignored in masks, but cannot be read.
#include "codegen/host_warp.h"

#include "ir/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fuse {

namespace {

bool is_of_warp(std::uint32_t call) { return collective_of(call) >= Collective::WarpBarrier; }

/// The lane that a shuffle reads, as PTX defines it; the lane itself where that is out of range.
template <Collective kCollective>
std::uint32_t source_lane(std::uint32_t lane, std::uint32_t argument, std::uint32_t clamp) {
  std::uint32_t segment = clamp >> 8 & 31;
  std::uint32_t bound = (lane & segment) | (clamp & 31 & ~segment);
  argument &= 31;
  if constexpr (kCollective == Collective::ShuffleUp)
    return lane >= bound + argument ? lane - argument : lane;
  std::uint32_t source = lane ^ argument;
  if constexpr (kCollective == Collective::ShuffleDown) source = lane + argument;
  if constexpr (kCollective == Collective::ShuffleIndex)
    source = (lane & segment) | (argument & ~segment);
  return source <= bound ? source : lane;
}

template <class Body>
void for_lanes(std::uint32_t group, Body body) {
  if (group == ~0u) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) body(lane);
    return;
  }
  for (; group; group &= group - 1) body(static_cast<std::uint32_t>(std::countr_zero(group)));
}

[[noreturn]] void fail_source(const WarpRequests &warp, std::uint32_t lane, std::uint32_t source,
                              const WarpPlace &place) {
  fail(ErrorCode::Internal,
       "kernel {}: block {}, warp {}: {} of lane {} reads lane {}, which does not take part (mask "
       "{:#x})",
       place.kernel, place.block, place.warp, name_of(warp.call[lane]), lane, source,
       warp.mask[lane]);
}

template <Collective kCollective>
void shuffle(WarpRequests &warp, std::uint32_t group, const WarpPlace &place) {
  std::uint32_t values[kLanes];
  std::memcpy(values, warp.value, sizeof values);
  for_lanes(group, [&](std::uint32_t lane) {
    std::uint32_t source = source_lane<kCollective>(lane, warp.argument[lane], warp.clamp[lane]);
    if (!(group >> source & 1)) fail_source(warp, lane, source, place);
    warp.value[lane] = values[source];
  });
}

void vote(WarpRequests &warp, Collective collective, std::uint32_t group) {
  std::uint32_t ballot = 0;
  for_lanes(group, [&](std::uint32_t lane) { ballot |= (warp.value[lane] & 1) << lane; });
  std::uint32_t result = ballot;
  if (collective == Collective::VoteAll) result = ballot == group;
  if (collective == Collective::VoteAny) result = ballot != 0;
  for_lanes(group, [&](std::uint32_t lane) { warp.value[lane] = result; });
}

void serve_group(WarpRequests &warp, std::uint32_t call, std::uint32_t group,
                 const WarpPlace &place) {
  const Collective collective = collective_of(call);
  switch (collective) {
    case Collective::ShuffleUp: return shuffle<Collective::ShuffleUp>(warp, group, place);
    case Collective::ShuffleDown: return shuffle<Collective::ShuffleDown>(warp, group, place);
    case Collective::ShuffleXor: return shuffle<Collective::ShuffleXor>(warp, group, place);
    case Collective::ShuffleIndex: return shuffle<Collective::ShuffleIndex>(warp, group, place);
    case Collective::VoteAll:
    case Collective::VoteAny:
    case Collective::Ballot: return vote(warp, collective, group);
    case Collective::WarpBarrier:
    case Collective::Done:
    case Collective::BlockBarrier:
    case Collective::ClusterWait: return;
  }
}

/// The lanes of the mask of one lane, all checked to be where it is.
std::uint32_t group_of(const WarpRequests &warp, std::uint32_t lane, std::uint32_t present,
                       const WarpPlace &place) {
  std::uint32_t group = warp.mask[lane] & present;
  if (!(group >> lane & 1))
    fail(ErrorCode::Internal,
         "kernel {}: block {}, warp {}: lane {} is at a {} whose mask {:#x} "
         "leaves it out",
         place.kernel, place.block, place.warp, lane, name_of(warp.call[lane]), warp.mask[lane]);
  for_lanes(group, [&](std::uint32_t other) {
    if (warp.call[other] != warp.call[lane])
      fail_divergent(place, place.warp * kLanes + lane, warp.call[lane],
                     place.warp * kLanes + other, warp.call[other]);
    if (warp.mask[other] != warp.mask[lane])
      fail(ErrorCode::Internal,
           "kernel {}: block {}, warp {}: lanes {} and {} are at one {} with masks {:#x} and {:#x}",
           place.kernel, place.block, place.warp, lane, other, name_of(warp.call[lane]),
           warp.mask[lane], warp.mask[other]);
  });
  return group;
}

bool all_equal(const std::uint32_t *words) {
  std::uint32_t difference = 0;
  for (unsigned i = 0; i < kLanes; ++i) difference |= words[i] ^ words[0];
  return difference == 0;
}

}  // namespace

std::string_view name_of(std::uint32_t call) {
  static constexpr std::string_view kNames[] = {"exit",         "block barrier", "cluster barrier",
                                                "warp barrier", "shuffle up",    "shuffle down",
                                                "shuffle xor",  "shuffle index", "vote all",
                                                "vote any",     "ballot"};
  return kNames[static_cast<std::size_t>(collective_of(call))];
}

void fail_divergent(const WarpPlace &place, std::uint32_t thread, std::uint32_t call,
                    std::uint32_t other, std::uint32_t other_call) {
  fail(ErrorCode::Internal,
       "kernel {}: block {}, warp {}: divergent threads: {} is at {} {}, {} at {} {}", place.kernel,
       place.block, place.warp, thread, name_of(call), site_of(call), other, name_of(other_call),
       site_of(other_call));
}

std::uint32_t serve_warp(WarpRequests &warp, unsigned lanes, const WarpPlace &place) {
  std::uint32_t present = lanes == kLanes ? ~0u : (1u << lanes) - 1;
  if (present == ~0u && warp.mask[0] == ~0u && all_equal(warp.call) && all_equal(warp.mask)) {
    if (!is_of_warp(warp.call[0])) return 0;
    serve_group(warp, warp.call[0], present, place);
    return present;
  }
  std::uint32_t served = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (served >> lane & 1 || !is_of_warp(warp.call[lane])) continue;
    std::uint32_t group = group_of(warp, lane, present, place);
    serve_group(warp, warp.call[lane], group, place);
    served |= group;
  }
  return served;
}

}  // namespace fuse
