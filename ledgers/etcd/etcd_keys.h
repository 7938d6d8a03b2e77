// The names of our keys in an etcd, all below one prefix P:
//
//   P/id              which logs these are: an id that was drawn when they were made, and how many
//   P/begun/LOG       the log has, or had, a record
//   P/log/LOG/ID/...  a log's records: each at the place that newer ones of its writer, type and
//                     place in a batch take over, so that the newest of each can be found
//   P/writer/ID       whoever appends moves it, so that a late request cannot come after
//
// Threads: values and pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

namespace neliroute {

class EtcdKeys {
 public:
  explicit EtcdKeys(std::string prefix) : prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string identity() const { return prefix_ + "/id"; }
  [[nodiscard]] std::string begun(Log log) const;
  /// What the keys of all records of a log begin with.
  [[nodiscard]] std::string records(Log log) const;
  [[nodiscard]] std::string writer(ProcessId id) const;
  /// `type`: record_type(). `place`: among the records of that type in one batch.
  [[nodiscard]] std::string record(Log log, ProcessId id, std::string_view type,
                                   std::uint32_t place) const;
  /// Of a record that no other replaces. `number`: of no other record of that writer.
  [[nodiscard]] std::string lasting_record(Log log, ProcessId id, std::string_view type,
                                           std::uint64_t number) const;

 private:
  std::string prefix_;
};

/// The first key that does not begin with it: for a range.
[[nodiscard]] std::string end_of_prefix(std::string prefix);

/// What is stored: a record, and its writer's time before it; a stranger's has none.
[[nodiscard]] std::string with_stamp(BrokerTime stamped, std::string_view value);
[[nodiscard]] std::pair<BrokerTime, std::string_view> stamped_value(std::string_view stored);

/// What kind of record it is, for its key.
struct RecordKind {
  std::string_view type;
  /// No other record replaces it: readers need each of them (`Below::unread`).
  bool lasting = false;
};
[[nodiscard]] RecordKind record_kind(std::string_view value);

}  // namespace neliroute
