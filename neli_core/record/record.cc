#include "neli_core/record/record.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "neli_core/record/assignment_record.h"
#include "neli_core/record/json_fields.h"
#include "neli_core/record/object_writer.h"

namespace neliroute {
namespace {

// Deep enough for anything that a later version may nest in a claim, which counts all the same.
constexpr std::uint32_t kNestingMax = 256;
constexpr std::size_t kEpochsMax = kPartitionCountMax;
// A partition has one epoch, or a few that are released at once. Each costs its reader a search
// among the others: a record that named one 50,000 times kept every process busy for 6 s.
constexpr std::size_t kEpochsOfPartitionMax = 8;

std::optional<RecordType> type_of(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  if (text == nullptr) return std::nullopt;
  if (*text == "claim") return RecordType::claim;
  if (*text == "renewal") return RecordType::renewal;
  if (*text == "release") return RecordType::release;
  return std::nullopt;
}

bool names_one_too_often(const std::vector<EpochParts>& epochs) {
  if (epochs.size() <= kEpochsOfPartitionMax) return false;
  std::vector<std::uint8_t> times(kPartitionCountMax, 0);
  bool too_often = false;
  for (const EpochParts& epoch : epochs) {
    epoch.parts.for_each_number([&](std::uint32_t number) {
      if (++times[number] > kEpochsOfPartitionMax) too_often = true;
    });
  }
  return too_often;
}

// The incarnation of each claim offset whose incarnation differs from the record's.
bool read_incarnations(const json::value* value, std::string_view key, EpochParts& epoch) {
  if (value == nullptr) return true;
  const json::object* incarnations = value->if_object();
  if (incarnations == nullptr) return false;
  const json::value* named = incarnations->if_contains(key);
  if (named == nullptr) return true;
  epoch.incarnation = incarnation_of(named);
  return epoch.incarnation.has_value();
}

std::optional<std::vector<EpochParts>> epochs_of(const json::value* value,
                                                 const json::value* incarnations) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  if (object == nullptr || object->size() > kEpochsMax) return std::nullopt;
  std::vector<EpochParts> epochs;
  epochs.reserve(object->size());
  std::size_t named = 0;
  for (const auto& member : *object) {
    const std::string_view key(member.key().data(), member.key().size());
    EpochParts epoch;
    const auto [end, error] =
        std::from_chars(key.data(), key.data() + key.size(), epoch.claim_offset);
    const bool padded = key.starts_with('-') || (key.size() > 1 && key.starts_with('0'));
    if (error != std::errc{} || end != key.data() + key.size() || padded) return std::nullopt;
    auto parts = parts_of(&member.value());
    if (!parts || !read_incarnations(incarnations, key, epoch)) return std::nullopt;
    named += parts->size();
    if (named > kPartitionCountMax) return std::nullopt;
    epoch.parts = std::move(*parts);
    epochs.push_back(std::move(epoch));
  }
  if (names_one_too_often(epochs)) return std::nullopt;
  return epochs;
}

std::optional<Settings> settings_of(const json::object& object) {
  const auto slots = small_of(object.if_contains("slots"));
  const auto partitions = small_of(object.if_contains("partitions"));
  const auto logs = small_of(object.if_contains("logs"));
  Settings settings;
  settings.group = text_of(object.if_contains("group"));
  settings.hash = text_of(object.if_contains("hash"));
  settings.mode = text_of(object.if_contains("mode"));
  if (const json::value* named = object.if_contains("variation")) {
    settings.variation = text_of(named);
  }
  if (!slots || !partitions || !logs || settings.group.empty() || settings.hash.empty() ||
      settings.mode.empty()) {
    return std::nullopt;
  }
  settings.slots = *slots;
  settings.partitions = *partitions;
  settings.logs = *logs;
  return settings;
}

std::optional<MemberFields> member_of(const json::value* value) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  if (object == nullptr) return std::nullopt;
  MemberFields member;
  const auto session = lease_of(object->if_contains("session_ms"));
  if (!session) return std::nullopt;
  member.session = std::max(*session, kMemberSessionMin);
  member.weight = std::min(small_of(object->if_contains("weight")).value_or(1), kWeightMax);
  member.cordoned = truth_of(object->if_contains("cordoned"));
  member.seat_priority =
      std::min(small_of(object->if_contains("seat_priority")).value_or(kSeatPriorityDefault),
               kSeatPriorityMax);
  member.host = text_of(object->if_contains("host")).substr(0, kPlaceBytesMax);
  member.zone = text_of(object->if_contains("zone")).substr(0, kPlaceBytesMax);
  member.seat = seat_of(object->if_contains("seat"));
  member.seat_by = id_of(object->if_contains("seat_by")).value_or(kNobody);
  member.upto = integer_of(object->if_contains("upto")).value_or(-1);
  member.assigning = truth_of(object->if_contains("assigning"));
  member.reads = truth_of(object->if_contains("reads"));
  member.lag = lease_of(object->if_contains("lag_ms"));
  member.unread = ranges_of(object->if_contains("unread")).value_or(PartitionRanges{});
  member.leaving = truth_of(object->if_contains("leaving"));
  member.preparing = lease_of(object->if_contains("preparing_ms")).value_or(milliseconds{0});
  member.preparing_parts = ranges_of(object->if_contains("preparing"));
  return member;
}

ProcessInfo process_of(const json::object& object) {
  ProcessInfo process;
  process.name = text_of(object.if_contains("by"));
  process.endpoint = text_of(object.if_contains("at"));
  const json::value* tags = object.if_contains("tags");
  if (tags != nullptr && tags->is_object()) {
    for (const auto& tag : tags->get_object()) {
      process.tags.emplace_back(std::string(tag.key().data(), tag.key().size()),
                                text_of(&tag.value()));
    }
  }
  return process;
}

Decoded record_of(const json::object& object) {
  const auto type = type_of(object.if_contains("t"));
  if (!type) return decode_assignment(object);
  const auto lane = small_of(object.if_contains("lane"));
  if (!lane) return Ignored::no_lane;
  Record record;
  record.type = *type;
  record.lane = Lane{*lane};
  const auto id = id_of(object.if_contains("id"));
  const auto incarnation = incarnation_of(object.if_contains("inc"));
  record.version = integer_of(object.if_contains("v")).value_or(0);
  const json::value* parts = object.if_contains("lparts");
  if (*type == RecordType::claim) {
    // A claim counts whatever else is wrong with it: its writer may be about to lead by it.
    record.parts = parts_of(parts);
  } else {
    auto epochs = epochs_of(parts, object.if_contains("incs"));
    // The epochs of version 1 are not read, only that its writer lives, and with which settings.
    const bool former = record.version == 1 && parts == nullptr;
    if (!id || !incarnation || (!epochs && !former)) return Ignored::malformed;
    if (epochs) record.epochs = std::move(*epochs);
  }
  record.id = id.value_or(kNobody);
  record.incarnation = incarnation.value_or(0);
  record.max_incarnation = incarnation_of(object.if_contains("max_inc")).value_or(0);
  const auto seq = integer_of(object.if_contains("seq")).value_or(0);
  record.seq = static_cast<std::uint64_t>(std::max<std::int64_t>(seq, 0));
  record.lease = lease_of(object.if_contains("lease_ms"));
  record.max_lease = lease_of(object.if_contains("max_ms"));
  if (const auto read = incarnation_of(object.if_contains("read_ms"))) {
    record.read_until = BrokerTime{milliseconds{*read}};
  }
  record.since = integer_of(object.if_contains("since"));
  record.process = process_of(object);
  record.settings = settings_of(object);
  if (*type == RecordType::renewal && record.version != 1) {
    record.leading = parts_of(object.if_contains("leading")).value_or(LogParts{});
    record.draining = parts_of(object.if_contains("draining")).value_or(LogParts{});
    record.stale = parts_of(object.if_contains("stale")).value_or(LogParts{});
    const auto serve = integer_of(object.if_contains("stale_ms")).value_or(0);
    record.serve_stale = std::clamp(milliseconds{serve}, milliseconds{0}, kServeStaleMax);
    record.member = member_of(object.if_contains("member"));
  }
  return record;
}

const char* name_of(RecordType type) {
  switch (type) {
    case RecordType::claim:
      return "claim";
    case RecordType::renewal:
      return "renewal";
    case RecordType::release:
      return "release";
  }
  return "";
}

void write_epochs(ObjectWriter& out, const std::vector<EpochParts>& epochs) {
  out.begin("lparts");
  for (const EpochParts& epoch : epochs) {
    out.text(std::to_string(epoch.claim_offset), epoch.parts.to_string());
  }
  out.end();
  const auto differs = [](const EpochParts& epoch) { return epoch.incarnation.has_value(); };
  if (!std::any_of(epochs.begin(), epochs.end(), differs)) return;
  out.begin("incs");
  for (const EpochParts& epoch : epochs) {
    if (epoch.incarnation) out.number(std::to_string(epoch.claim_offset), *epoch.incarnation);
  }
  out.end();
}

void write_member(ObjectWriter& out, const MemberFields& member) {
  out.begin("member");
  out.number("session_ms", member.session.count());
  if (member.weight != 1) out.number("weight", member.weight);
  if (member.cordoned) out.truth("cordoned", true);
  if (member.seat_priority != kSeatPriorityDefault) {
    out.number("seat_priority", member.seat_priority);
  }
  if (!member.host.empty()) out.text("host", member.host);
  if (!member.zone.empty()) out.text("zone", member.zone);
  if (member.seat) out.text("seat", to_string(*member.seat));
  if (member.seat_by != kNobody) out.text("seat_by", to_string(member.seat_by));
  out.number("upto", member.upto);
  if (member.assigning) out.truth("assigning", true);
  if (member.reads) out.truth("reads", true);
  if (member.lag) out.number("lag_ms", member.lag->count());
  if (!member.unread.empty()) out.text("unread", member.unread.to_string());
  if (member.leaving) out.truth("leaving", true);
  if (member.preparing.count() > 0) out.number("preparing_ms", member.preparing.count());
  if (member.preparing_parts) out.text("preparing", member.preparing_parts->to_string());
  out.end();
}

}  // namespace

BrokerTime history_horizon(const Record* last, BrokerTime end, milliseconds own) noexcept {
  constexpr BrokerTime kLatest{milliseconds{kIncarnationMax}};
  end = std::clamp(end, BrokerTime{}, kLatest);
  const BrokerTime longest = end - kLeaseMax;
  if (last == nullptr || !last->max_lease || !last->read_until) return longest;
  const milliseconds bound =
      std::max({own, *last->max_lease, last->lease.value_or(milliseconds{0})});
  return std::max(std::clamp(*last->read_until, BrokerTime{}, end) - bound, longest);
}

Decoded decode_record(std::string_view value) {
  if (value.empty()) return Ignored::empty;
  json::parse_options options;
  options.max_depth = kNestingMax;
  options.allow_invalid_utf8 = true;  // names come from command lines and may be any bytes
  boost::system::error_code error;
  // One record is read at a time and by every process: most fit here, without an allocation.
  std::array<unsigned char, 8192> memory;
  json::monotonic_resource arena(memory.data(), memory.size());
  const json::value parsed =
      json::parse(json::string_view(value.data(), value.size()), error, &arena, options);
  const json::object* object = error ? nullptr : parsed.if_object();
  if (object == nullptr) return Ignored::not_json;
  return record_of(*object);
}

std::string encode_record(const Record& record) {
  ObjectWriter out;
  out.number("v", record.version);
  out.text("t", name_of(record.type));
  out.number("lane", record.lane.value());
  out.text("id", to_string(record.id));
  out.number("seq", record.seq);
  out.number("inc", record.incarnation);
  if (record.max_incarnation != 0) out.number("max_inc", record.max_incarnation);
  if (record.type == RecordType::claim) {
    if (record.parts) out.text("lparts", record.parts->to_string());
  } else {
    write_epochs(out, record.epochs);
  }
  if (record.type == RecordType::renewal) {
    out.text("leading", record.leading.to_string());
    out.text("draining", record.draining.to_string());
    if (!record.stale.empty()) out.text("stale", record.stale.to_string());
    if (record.serve_stale.count() > 0) out.number("stale_ms", record.serve_stale.count());
    if (record.member) write_member(out, *record.member);
  }
  if (record.lease) out.number("lease_ms", record.lease->count());
  if (record.max_lease) out.number("max_ms", record.max_lease->count());
  if (record.read_until) out.number("read_ms", record.read_until->time_since_epoch().count());
  if (record.since) out.number("since", *record.since);
  out.text("by", record.process.name);
  out.text("at", record.process.endpoint);
  if (record.settings) {
    out.text("group", record.settings->group);
    out.number("slots", record.settings->slots);
    out.number("partitions", record.settings->partitions);
    out.number("logs", record.settings->logs);
    out.text("hash", record.settings->hash);
    out.text("mode", record.settings->mode);
    if (record.settings->variation != Settings{}.variation) {
      out.text("variation", record.settings->variation);
    }
  }
  out.begin("tags");
  for (const auto& [key, text] : record.process.tags) out.text(key, text);
  out.end();
  return out.take();
}

}  // namespace neliroute
