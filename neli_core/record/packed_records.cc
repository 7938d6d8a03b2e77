#include "neli_core/record/packed_records.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace neliroute {
namespace {

using Which = std::vector<std::size_t>;

struct Packing {
  std::uint64_t& next_seq;
  std::size_t bytes_max;
  std::vector<PackedRecord> records;
};

/// `record_of(which)` returns the record that names those.
template <class RecordOf>
void pack(Packing& into, const Which& which, const RecordOf& record_of) {
  Record record = record_of(which);
  record.seq = into.next_seq;
  std::string value = encode_record(record);
  if (value.size() > into.bytes_max && which.size() > 1) {
    const auto middle = which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2);
    pack(into, Which(which.begin(), middle), record_of);
    return pack(into, Which(middle, which.end()), record_of);
  }
  ++into.next_seq;
  into.records.push_back({record.seq, std::move(value), which});
}

Record epoch_record_of(const Record& header, const std::vector<NamedEpoch>& named,
                       const Which& which, std::uint32_t logs) {
  Record record = header;
  std::map<std::int64_t, EpochParts> by_claim;
  record.incarnation = named[which.front()].epoch.incarnation;
  for (const std::size_t i : which) {
    const NamedEpoch& one = named[i];
    EpochParts& epoch = by_claim[one.epoch.offset];
    epoch.parts.insert(one.partition, logs);
    epoch.incarnation = one.epoch.incarnation;
    record.incarnation = std::max(record.incarnation, one.epoch.incarnation);
    if (one.leading) record.leading.insert(one.partition, logs);
    if (one.draining) record.draining.insert(one.partition, logs);
    if (one.stale) record.stale.insert(one.partition, logs);
  }
  for (auto& [offset, epoch] : by_claim) {
    epoch.claim_offset = offset;
    if (epoch.incarnation == record.incarnation) epoch.incarnation.reset();
    record.epochs.push_back(std::move(epoch));
  }
  return record;
}

}  // namespace

std::vector<PackedRecord> claim_records(const Record& header,
                                        const std::vector<Partition>& partitions,
                                        std::uint32_t logs, std::uint64_t& next_seq,
                                        std::size_t bytes_max) {
  if (partitions.empty()) return {};
  Packing packing{next_seq, bytes_max, {}};
  Which all(partitions.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  pack(packing, all, [&](const Which& which) {
    std::vector<Partition> some;
    some.reserve(which.size());
    for (const std::size_t i : which) some.push_back(partitions[i]);
    Record record = header;
    record.parts = LogParts::of(some, logs);
    return record;
  });
  return std::move(packing.records);
}

std::vector<PackedRecord> epoch_records(const Record& header, const std::vector<NamedEpoch>& named,
                                        std::uint32_t logs, std::uint64_t& next_seq,
                                        std::size_t bytes_max) {
  // A record gives a claim offset one incarnation. Epochs of two topics of one name, the one
  // released and the other held, may have two.
  std::map<std::int64_t, std::vector<std::int64_t>> incarnations;
  std::vector<Which> records;
  for (std::size_t i = 0; i < named.size(); ++i) {
    auto& known = incarnations[named[i].epoch.offset];
    const auto found = std::find(known.begin(), known.end(), named[i].epoch.incarnation);
    const auto nth = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) known.push_back(named[i].epoch.incarnation);
    if (nth == records.size()) records.emplace_back();
    records[nth].push_back(i);
  }
  Packing packing{next_seq, bytes_max, {}};
  for (const Which& all : records) {
    pack(packing, all,
         [&](const Which& which) { return epoch_record_of(header, named, which, logs); });
  }
  return std::move(packing.records);
}

}  // namespace neliroute
