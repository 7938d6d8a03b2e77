#include "neli_core/assigner/owners.h"

namespace neliroute {

void Owners::read(const Record& record, const LogPlace& place, milliseconds lease,
                  LocalTime now) {
  if (record.type == RecordType::claim) return;
  for_each_named(record, place, [&](Partition partition, const Epoch& epoch) {
    if (record.type == RecordType::renewal) {
      return renewed(partition, epoch, record, place, lease, now);
    }
    Owner& owner = owners_[partition.value()];
    if (owner.id != record.id || owner.epoch != epoch) return;
    owner = {};
    ++version_;
  });
}

void Owners::renewed(Partition partition, const Epoch& epoch, const Record& record,
                     const LogPlace& place, milliseconds lease, LocalTime now) {
  Owner& owner = owners_[partition.value()];
  const bool draining = record.draining.contains(partition, place.logs);
  const bool leads = draining || record.leading.contains(partition, place.logs);
  if (epoch < owner.epoch && now < owner.until) return;
  if (!leads) {
    if (owner.id != record.id || owner.epoch != epoch) return;
    owner.until = kLongAgo;
    ++version_;
    return;
  }
  if (owner.id != record.id || owner.draining != draining || now >= owner.until) ++version_;
  owner = {record.id, epoch, draining, later(now, lease)};
}

void Owners::forget(const LogPlace& place) {
  place.for_each([this](Partition partition) { owners_[partition.value()] = {}; });
  ++version_;
}

}  // namespace neliroute
