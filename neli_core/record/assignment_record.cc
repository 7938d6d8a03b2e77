#include "neli_core/record/assignment_record.h"

#include <boost/json.hpp>
#include <utility>

#include "neli_core/record/object_writer.h"
#include "neli_core/record/override_json.h"

namespace neliroute {
namespace {

struct Name {
  AssignmentType type;
  std::string_view name;
};
constexpr Name kNames[] = {
    {AssignmentType::seat_claim, "seat_claim"},
    {AssignmentType::assign, "assign"},
    {AssignmentType::yield, "yield"},
    {AssignmentType::leave, "leave"},
    {AssignmentType::override, "wish"},
    {AssignmentType::overrides, "wishes"},
};

bool read_designations(const json::value* value, std::vector<Designation>& into) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  if (object == nullptr || object->size() > kPartitionCountMax) return false;
  std::size_t named = 0;
  into.reserve(object->size());
  for (const auto& member : *object) {
    const json::value key(json::string_view(member.key().data(), member.key().size()));
    const auto id = id_of(&key);
    if (!id || !member.value().is_string()) return false;
    const auto partitions = PartitionRanges::parse(text_of(&member.value()));
    if (!partitions) return false;
    named += partitions->size();
    if (named > kPartitionCountMax) return false;
    into.push_back({*id, *partitions});
  }
  return true;
}

// What only some types have. False: it cannot be read.
bool read_contents(const json::object& object, AssignmentRecord& into) {
  if (into.type == AssignmentType::override) {
    auto override = override_of(object);
    if (override) into.override = std::move(*override);
    return override.has_value();
  }
  if (into.type == AssignmentType::leave) return true;
  const auto seat = seat_of(object.if_contains("seat"));
  if (into.type == AssignmentType::seat_claim) {
    into.seat = seat.value_or(kNoEpoch);
    return true;
  }
  if (!seat) return false;
  into.seat = *seat;
  if (into.type == AssignmentType::yield) {
    into.yields_to = id_of(object.if_contains("to")).value_or(kNobody);
    return into.yields_to != kNobody;
  }
  if (into.type == AssignmentType::assign) {
    return read_designations(object.if_contains("to"), into.designations);
  }
  const auto upto = integer_of(object.if_contains("upto"));
  auto standing = standing_of(object);
  if (!upto || *upto < 0 || !standing) return false;
  into.upto = *upto;
  into.standing = std::move(*standing);
  return true;
}

}  // namespace

std::optional<Epoch> seat_of(const json::value* value) {
  const auto seat = parse_epoch(text_of(value));
  return seat && seat->offset >= 0 ? seat : std::nullopt;
}

Decoded decode_assignment(const json::object& object) {
  const std::string named = text_of(object.if_contains("t"));
  for (const auto& [type, name] : kNames) {
    if (named != name) continue;
    const auto lane = small_of(object.if_contains("lane"));
    if (!lane) return Ignored::no_lane;
    const auto id = id_of(object.if_contains("id"));
    if (!id) return Ignored::malformed;
    AssignmentRecord record;
    record.type = type;
    record.lane = Lane{*lane};
    record.id = *id;
    const auto seq = integer_of(object.if_contains("seq")).value_or(0);
    record.seq = seq < 0 ? 0 : static_cast<std::uint64_t>(seq);
    if (!read_contents(object, record)) return Ignored::malformed;
    return record;
  }
  return Ignored::unknown_type;
}

std::string encode_record(const AssignmentRecord& record) {
  ObjectWriter out;
  out.number("v", kRecordVersion);
  for (const auto& [type, name] : kNames) {
    if (type == record.type) out.text("t", name);
  }
  out.number("lane", record.lane.value());
  out.text("id", to_string(record.id));
  out.number("seq", record.seq);
  if (record.seat != kNoEpoch) out.text("seat", to_string(record.seat));
  if (record.type == AssignmentType::yield) out.text("to", to_string(record.yields_to));
  if (record.type == AssignmentType::assign) {
    out.begin("to");
    for (const Designation& one : record.designations) {
      out.text(to_string(one.to), one.partitions.to_string());
    }
    out.end();
  }
  if (record.type == AssignmentType::override) write_override(out, record.override);
  if (record.type == AssignmentType::overrides) {
    out.number("upto", record.upto);
    write_standing(out, record.standing);
  }
  return out.take();
}

}  // namespace neliroute
