#include "admin/assignment_view.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <utility>

#include "admin/peer_json.h"
#include "base/base64.h"
#include "neli_core/core.h"
#include "neli_core/record/partition_ranges.h"
#include "router/text/json_text.h"

namespace neliroute::admin {
namespace {

namespace json = boost::json;

std::string_view to_string(MemberState state) {
  switch (state) {
    case MemberState::living:
      return "living";
    case MemberState::leaving:
      return "leaving";
    case MemberState::silent:
      return "silent";
  }
  return "";
}

json::object json_of(const ObservedMember& member) {
  json::object row = admin::json_of(*member.peer);
  row["state"] = to_string(member.state);
  row["session_ms"] = member.session.count();
  row["weight"] = member.weight;
  row["cordoned"] = member.cordoned;
  row["seat_priority"] = member.seat_priority;
  if (member.on_probation) row["on_probation"] = true;
  if (member.preparing) row["preparing"] = true;
  if (!member.host.empty()) put_text(row, "host", member.host);
  if (!member.zone.empty()) put_text(row, "zone", member.zone);
  return row;
}

/// Names that are no UTF-8 stand apart, as in put_text().
template <class Value>
void put_by_name(json::object& row, const std::string& key,
                 const std::map<std::string, Value>& values) {
  json::object plain;
  json::object encoded;
  for (const auto& [name, value] : values) {
    is_utf8(name) ? plain[name] = value : encoded[base64(name)] = value;
  }
  row[key] = std::move(plain);
  if (!encoded.empty()) row[key + "_base64"] = std::move(encoded);
}

/// What the view's rows say of a member.
struct Share {
  std::uint32_t owned = 0;
  /// What it is to have: what it owns and nobody else is named for, and what it is named for.
  std::uint32_t designated = 0;
};

std::map<ProcessId, Share> shares_of(std::span<const ObservedRoute> routes) {
  std::map<ProcessId, Share> shares;
  for (const ObservedRoute& route : routes) {
    if (route.owner) ++shares[route.owner->id].owned;
    const PeerPtr& designee = route.designee ? route.designee : route.owner;
    if (designee) ++shares[designee->id].designated;
  }
  return shares;
}

/// Of partitions that are not where they are designated to be: from whom, to whom.
using Moves = std::map<std::pair<ProcessId, ProcessId>, std::vector<Partition>>;

Moves moves_of(std::span<const ObservedRoute> routes) {
  Moves moves;
  for (std::uint32_t p = 0; p < routes.size(); ++p) {
    const auto& [owner, designee] = std::tie(routes[p].owner, routes[p].designee);
    if (!designee) continue;
    moves[{owner ? owner->id : kNobody, designee->id}].push_back(Partition{p});
  }
  return moves;
}

}  // namespace

void KeptAssignment::add(const AssignmentNews& news) {
  assigner = news.assigner;
  seat = news.seat;
  assigning = news.assigning;
  overrides = news.overrides;
  for (const ObservedMember& member : news.members) {
    gone.erase(member.peer->id);
    members[member.peer->id] = member;
  }
  for (const ProcessId id : news.gone) {
    members.erase(id);
    gone.insert(id);
  }
}

void AssignmentView::take(const KeptAssignment& news) {
  known_ = changed_ = true;
  assigner_ = news.assigner;
  seat_ = news.seat;
  assigning_ = news.assigning;
  if (std::exchange(overrides_, news.overrides) != news.overrides) overrides_changed_ = true;
  for (const auto& [id, member] : news.members) {
    members_[id] = member;
    changed_members_.insert(id);
    gone_.erase(id);
  }
  for (const ProcessId id : news.gone) {
    members_.erase(id);
    changed_members_.erase(id);
    gone_.insert(id);
  }
}

void AssignmentView::settle() {
  changed_members_.clear();
  gone_.clear();
  changed_ = overrides_changed_ = false;
}

// ,"overrides":{..}: all that stand, which is at most a record.
void AssignmentView::put_overrides(std::string& text) const {
  static const ObservedOverrides none;
  const ObservedOverrides& overrides = overrides_ ? *overrides_ : none;
  json::array cordoned;
  json::array encoded;
  for (const std::string& name : overrides.cordoned) {
    is_utf8(name) ? cordoned.emplace_back(name) : encoded.emplace_back(base64(name));
  }
  json::object row{{"cordoned", std::move(cordoned)}};
  if (!encoded.empty()) row["cordoned_base64"] = std::move(encoded);
  put_by_name(row, "weights", overrides.weights);
  put_by_name(row, "pins", overrides.pins);
  row["moves_paused"] = overrides.moves_paused;
  text += ",\"overrides\":" + json::serialize(row);
}

// {"at":..,"source":..,"assigner":{..}: the last brace left open.
std::string AssignmentView::opened(LocalTime now) const {
  std::string text = "{\"at\":" + at_text(now) + ",\"source\":";
  if (!known_) return text + "\"group\"";
  text += "\"assigner\",\"assigner\":";
  if (!assigner_) return text + "null";
  json::object row = admin::json_of(*assigner_);
  row["seat"] = neliroute::json_of(seat_);
  row["assigning"] = assigning_;
  // Boost.JSON would write the time as 1.7E9.
  return text + "{\"since\":" + seconds_text(milliseconds{seat_.incarnation}) + ',' +
         json::serialize(row).substr(1);
}

std::string AssignmentView::text(std::span<const ObservedRoute> routes, std::uint64_t waits,
                                 LocalTime now) const {
  std::string text = opened(now);
  if (!known_) return text + '}';
  if (waits > 0) text += ",\"waits\":\"" + std::string(kWaitReasons.at(waits - 1)) + '"';
  put_overrides(text);
  auto shares = shares_of(routes);
  StatedEndpoints stated;
  for (const auto& [id, member] : members_) {
    if (member.state == MemberState::living) stated.add(member.peer->info.endpoint);
  }
  put_list(text, "members", [&] {
    for (const auto& [id, member] : members_) {
      json::object row = json_of(member);
      row["partitions"] = shares[id].owned;
      row["designated"] = shares[id].designated;
      const bool living = member.state == MemberState::living;
      if (living && stated.shared(member.peer->info.endpoint)) row["endpoint_shared"] = true;
      text += json::serialize(row) + ',';
    }
  });
  put_list(text, "moves", [&] {
    for (const auto& [ends, partitions] : moves_of(routes)) {
      const auto& [from, to] = ends;
      json::object row{{"from", nullptr},
                       {"to", neliroute::to_string(to)},
                       {"partitions", PartitionRanges::of(partitions).to_string()}};
      if (from != kNobody) row["from"] = neliroute::to_string(from);
      text += json::serialize(row) + ',';
    }
  });
  return text + '}';
}

std::string AssignmentView::whole(LocalTime now) const {
  std::string text = opened(now) + ",\"whole\":true";
  put_overrides(text);
  put_list(text, "members", [&] {
    for (const auto& [id, member] : members_) text += json::serialize(json_of(member)) + ',';
  });
  return text + ",\"gone\":[]}";
}

std::string AssignmentView::changes(LocalTime now) const {
  std::string text = opened(now) + ",\"whole\":false";
  if (overrides_changed_) put_overrides(text);
  put_list(text, "members", [&] {
    for (const ProcessId id : changed_members_) {
      text += json::serialize(json_of(members_.at(id))) + ',';
    }
  });
  put_list(text, "gone", [&] {
    for (const ProcessId id : gone_) text += '"' + neliroute::to_string(id) + "\",";
  });
  return text + '}';
}

}  // namespace neliroute::admin
