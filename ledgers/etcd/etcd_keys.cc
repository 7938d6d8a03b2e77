#include "ledgers/etcd/etcd_keys.h"

#include <charconv>
#include <neliroute/format.h>
#include <variant>

#include "neli_core/record/record.h"

namespace neliroute {
namespace {

RecordKind kind_of(const Record& record) {
  switch (record.type) {
    case RecordType::claim: return {"claim"};
    case RecordType::renewal: return {"renewal"};
    case RecordType::release: return {"release"};
  }
  return {"other", true};
}

RecordKind kind_of(const AssignmentRecord& record) {
  switch (record.type) {
    case AssignmentType::seat_claim: return {"seat_claim", true};
    case AssignmentType::assign: return {"assign"};
    case AssignmentType::yield: return {"yield"};
    case AssignmentType::leave: return {"leave"};
    case AssignmentType::override: return {"override", true};
    case AssignmentType::overrides: return {"overrides"};
  }
  return {"other", true};
}

RecordKind kind_of(const Ignored&) { return {"other", true}; }

}  // namespace

std::string EtcdKeys::begun(Log log) const {
  return prefix_ + "/begun/" + std::to_string(log.value());
}

std::string EtcdKeys::records(Log log) const {
  return prefix_ + "/log/" + std::to_string(log.value()) + "/";
}

std::string EtcdKeys::writer(ProcessId id) const { return prefix_ + "/writer/" + to_string(id); }

std::string EtcdKeys::record(Log log, ProcessId id, std::string_view type,
                             std::uint32_t place) const {
  return records(log) + to_string(id) + "/" + std::string(type) + "/" + std::to_string(place);
}

std::string EtcdKeys::lasting_record(Log log, ProcessId id, std::string_view type,
                                     std::uint64_t number) const {
  return records(log) + to_string(id) + "/" + std::string(type) + "/n" + std::to_string(number);
}

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');  // etcd: all keys
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::string with_stamp(BrokerTime stamped, std::string_view value) {
  return std::to_string(stamped.time_since_epoch().count()) + " " + std::string(value);
}

std::pair<BrokerTime, std::string_view> stamped_value(std::string_view stored) {
  std::int64_t stamp = 0;
  const char* const end = stored.data() + stored.size();
  const auto [read_to, error] = std::from_chars(stored.data(), end, stamp);
  if (error != std::errc{} || read_to == end || *read_to != ' ' || stamp < 0) {
    return {BrokerTime{}, stored};
  }
  return {BrokerTime{milliseconds{stamp}},
          stored.substr(static_cast<std::size_t>(read_to - stored.data()) + 1)};
}

RecordKind record_kind(std::string_view value) {
  return std::visit([](const auto& one) { return kind_of(one); }, decode_record(value));
}

}  // namespace neliroute
