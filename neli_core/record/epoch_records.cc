#include "neli_core/record/epoch_records.h"

#include <algorithm>
#include <map>
#include <utility>

namespace neliroute {
namespace {

class Packer {
 public:
  Packer(const Record& header, const std::vector<NamedEpoch>& named, std::uint32_t logs,
         std::uint64_t& next_seq, std::size_t bytes_max)
      : header_(header),
        named_(named),
        logs_(logs),
        next_seq_(next_seq),
        bytes_max_(bytes_max) {}

  void add(const std::vector<std::size_t>& which) {
    Record record = record_of(which);
    std::string value = encode_record(record);
    if (value.size() > bytes_max_ && which.size() > 1) {
      const auto middle = which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2);
      add({which.begin(), middle});
      return add({middle, which.end()});
    }
    ++next_seq_;
    records_.push_back({record.seq, std::move(value), which});
  }
  [[nodiscard]] std::vector<EpochRecord> take() { return std::move(records_); }

 private:
  Record record_of(const std::vector<std::size_t>& which) const {
    Record record = header_;
    record.seq = next_seq_;
    std::map<std::int64_t, EpochParts> by_claim;
    record.incarnation = named_[which.front()].epoch.incarnation;
    for (const std::size_t i : which) {
      const NamedEpoch& one = named_[i];
      EpochParts& epoch = by_claim[one.epoch.offset];
      epoch.parts.insert(one.partition, logs_);
      epoch.incarnation = one.epoch.incarnation;
      record.incarnation = std::max(record.incarnation, one.epoch.incarnation);
      if (one.leading) record.leading.insert(one.partition, logs_);
      if (one.draining) record.draining.insert(one.partition, logs_);
    }
    for (auto& [offset, epoch] : by_claim) {
      epoch.claim_offset = offset;
      if (epoch.incarnation == record.incarnation) epoch.incarnation.reset();
      record.epochs.push_back(std::move(epoch));
    }
    return record;
  }

  const Record& header_;
  const std::vector<NamedEpoch>& named_;
  std::uint32_t logs_;
  std::uint64_t& next_seq_;
  std::size_t bytes_max_;
  std::vector<EpochRecord> records_;
};

}  // namespace

std::vector<EpochRecord> epoch_records(const Record& header, const std::vector<NamedEpoch>& named,
                                       std::uint32_t logs, std::uint64_t& next_seq,
                                       std::size_t bytes_max) {
  // A record gives a claim offset one incarnation. Epochs of two topics of one name, the one
  // released and the other held, may have two.
  std::map<std::int64_t, std::vector<std::int64_t>> incarnations;
  std::vector<std::vector<std::size_t>> records;
  for (std::size_t i = 0; i < named.size(); ++i) {
    auto& known = incarnations[named[i].epoch.offset];
    const auto found = std::find(known.begin(), known.end(), named[i].epoch.incarnation);
    const auto nth = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) known.push_back(named[i].epoch.incarnation);
    if (nth == records.size()) records.emplace_back();
    records[nth].push_back(i);
  }
  Packer packer(header, named, logs, next_seq, bytes_max);
  for (const auto& which : records) packer.add(which);
  return packer.take();
}

}  // namespace neliroute
