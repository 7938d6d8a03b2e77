// A log in memory, of which the ledgers of tests are made: it stores, and gives back what a tail
// reads. What is late, lost or made up, each ledger decides.
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

  [[nodiscard]] Reread answer(const RereadRequest& request) const {
    Reread answer{request.log, request.question, request.offset, std::nullopt};
    if (const StoredRecord* stored = find(request.offset)) {
      answer.found = identity_of(*stored->value, stored->stamped);
    }
    return answer;
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
