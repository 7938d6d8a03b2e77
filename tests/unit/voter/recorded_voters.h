// What real voters asked their disks to store, and what they sent, while some of them were stopped,
// cut off or lost their disks.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quorum/encoding.h"
#include "quorum/voter.h"

namespace neliroute {

/// One store(): its `ready` has no messages.
struct RecordedStore {
  quorum::Ready ready;
  quorum::Durable voter;
};

struct Recording {
  /// Of each disk that a voter had, from when it was empty.
  std::vector<std::vector<RecordedStore>> disks;
  /// Some of each kind.
  std::vector<quorum::Message> messages;
};

[[nodiscard]] Recording record(std::uint64_t seed, int voters, milliseconds lasting);

}  // namespace neliroute
