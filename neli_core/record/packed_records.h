// Puts partitions into few records: one that would be too long is halved until each half fits.
// Private to the variations, which both write them.
//
// Threads: any.   Units: bytes.   Errors: none; a record of one partition may be too long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <string>
#include <vector>

#include "neli_core/record/record.h"

namespace neliroute {

/// One partition, and what a renewal or a release says of it.
struct NamedEpoch {
  Partition partition;
  Epoch epoch;
  /// Renewals: what it says of its state; neither: looking.
  bool leading = false;
  bool draining = false;
  /// Beside one of these: its lease is over, or its log was lost.
  bool stale = false;
};

struct PackedRecord {
  std::uint64_t seq = 0;
  std::string value;
  /// What it names, as indices into the input.
  std::vector<std::size_t> named;
};

/// Claims of partitions of one log. `header`: what all of them carry. Takes their seqs from
/// `next_seq`. No partitions: no records.
[[nodiscard]] std::vector<PackedRecord> claim_records(const Record& header,
                                                      const std::vector<Partition>& partitions,
                                                      std::uint32_t logs, std::uint64_t& next_seq,
                                                      std::size_t bytes_max = kRecordBytesMax);

/// The same for renewals or releases.
[[nodiscard]] std::vector<PackedRecord> epoch_records(const Record& header,
                                                      const std::vector<NamedEpoch>& named,
                                                      std::uint32_t logs, std::uint64_t& next_seq,
                                                      std::size_t bytes_max = kRecordBytesMax);

}  // namespace neliroute
