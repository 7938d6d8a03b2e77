// A log in memory, of which the worlds of tests are made: it stores, and gives back what a tail
// reads. What is late, lost or made up, each world decides.
//
// Threads: one.   Units: offsets.   Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/ready.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

/// What brokers' clocks show when a world's true time is 0.
inline constexpr milliseconds kBrokerEpoch{1'700'000'000'000};

/// The broker's time, where its clock is right.
[[nodiscard]] inline BrokerTime broker_time(LocalTime now) {
  return BrokerTime{kBrokerEpoch +
                    std::chrono::duration_cast<milliseconds>(now.time_since_epoch())};
}

/// The start of a tail in a log whose first record of all is at offset 0.
[[nodiscard]] inline TailStarted tail_at(Log log, std::int64_t start, std::int64_t end) {
  return {log, start, end, start == 0 ? Below::nothing : Below::older};
}

struct StoredRecord {
  std::shared_ptr<const Decoded> value;  ///< null: an offset without a record
  BrokerTime stamped;
  bool store_stamped = true;

  [[nodiscard]] const Record* record() const {
    return value ? std::get_if<Record>(value.get()) : nullptr;
  }
};

/// What a reader makes of this text.
[[nodiscard]] inline std::shared_ptr<const Decoded> read_value(const std::string& text) {
  return std::make_shared<const Decoded>(decode_record(text));
}

struct MemoryLog {
  std::vector<StoredRecord> records;  ///< by offset
  std::int64_t low = 0;               ///< retention took what is below

  [[nodiscard]] std::int64_t end() const { return std::ssize(records); }

  /// Its offset.
  std::int64_t append(std::shared_ptr<const Decoded> value, BrokerTime stamped,
                      bool store_stamped = true) {
    records.push_back({std::move(value), stamped, store_stamped});
    return end() - 1;
  }

  /// Null: no record is there (any more).
  [[nodiscard]] const StoredRecord* find(std::int64_t offset) const {
    if (offset < low || offset < 0 || offset >= end()) return nullptr;
    const StoredRecord& stored = records[static_cast<std::size_t>(offset)];
    return stored.value ? &stored : nullptr;
  }

  /// The record that is there, as the reader of this log receives it.
  [[nodiscard]] Received received(Log log, std::int64_t offset) const {
    const StoredRecord& stored = records[static_cast<std::size_t>(offset)];
    return {log, offset, stored.stamped, stored.store_stamped, stored.value.get()};
  }

  [[nodiscard]] Reread answer(const RereadRequest& request) const {
    Reread answer{request.log, request.question, request.offset, std::nullopt};
    if (const StoredRecord* stored = find(request.offset)) {
      answer.found = identity_of(*stored->value, stored->stamped);
    }
    return answer;
  }

  /// Where an owner's tail starts (rule 6): no lease that a record below gives is still in force.
  /// At least the last record is read.
  [[nodiscard]] std::int64_t history_start(milliseconds own_lease, milliseconds clock_error) const {
    if (low == end()) return low;
    const auto says_one = [](const StoredRecord& stored) {
      return stored.record() != nullptr && stored.record()->max_lease;
    };
    const auto last = std::find_if(records.rbegin(), records.rend(), says_one);
    const BrokerTime horizon = history_horizon(last == records.rend() ? nullptr : last->record(),
                                               records.back().stamped, own_lease);
    return std::min(first_since(horizon - clock_error), end() - 1);
  }

  /// The start of the records at the end that were stamped then or later.
  [[nodiscard]] std::int64_t first_since(BrokerTime time) const {
    std::int64_t first = end();
    while (first > low && records[static_cast<std::size_t>(first - 1)].stamped >= time) --first;
    return first;
  }

  /// According to the records in it, of any process.
  [[nodiscard]] std::int64_t greatest_incarnation() const {
    std::int64_t greatest = 0;
    for (const StoredRecord& stored : records) {
      const Record* record = stored.record();
      if (record == nullptr) continue;
      greatest = std::max({greatest, greatest_named_incarnation(*record), record->max_incarnation});
    }
    return greatest;
  }

  /// The last few records as text, a line each: for a test that waited in vain.
  [[nodiscard]] std::string newest(std::int64_t count = 4) const {
    std::string text;
    for (std::int64_t offset = std::max(low, end() - count); offset < end(); ++offset) {
      const StoredRecord* stored = find(offset);
      text += "  [" + std::to_string(offset) + "] " + (stored ? text_of(*stored->value) : "none");
      text += '\n';
    }
    return text;
  }

 private:
  [[nodiscard]] static std::string text_of(const Decoded& value) {
    if (const auto* record = std::get_if<Record>(&value)) return encode_record(*record);
    const auto* assignment = std::get_if<AssignmentRecord>(&value);
    return assignment != nullptr ? encode_record(*assignment) : "not a record";
  }
};

/// The newest records of each.
[[nodiscard]] inline std::string newest_of(const std::vector<MemoryLog>& logs) {
  std::string text;
  for (std::size_t l = 0; l < logs.size(); ++l) {
    text += "log " + std::to_string(l) + ":\n" + logs[l].newest();
  }
  return text;
}

}  // namespace neliroute
