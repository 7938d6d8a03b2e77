#include "admin/admin_view.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <neliroute/clock.h>
#include <neliroute/hash.h>
#include <utility>

#include "admin/peer_json.h"
#include "neli_core/options.h"
#include "router/text/json_text.h"
#include "slots/partition.h"

namespace neliroute::admin {
namespace {

namespace json = boost::json;

std::int64_t whole_ms(microseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

/// As the API numbers them.
int number_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::unknown:
      return 0;
    case Verdict::unowned:
      return 1;
    case Verdict::local:
      return 2;
    case Verdict::remote:
      return 3;
  }
  return 0;
}

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

std::string hex_text(std::uint64_t value) { return to_string(ProcessId{value}); }

/// {"at":..,ROW}, the last brace left open.
std::string open_object(LocalTime now, const json::object& row) {
  std::string text = "{\"at\":" + at_text(now) + "," + json::serialize(row).substr(1);
  text.pop_back();
  return text;
}

}  // namespace

std::string at_text(LocalTime now) {
  return seconds_text(now.time_since_epoch() + unix_minus_boot_now());
}

json::object json_of(const Peer& peer) {
  json::object row;
  put_text(row, "name", peer.info.name);
  row["id"] = to_string(peer.id);
  put_text(row, "endpoint", peer.info.endpoint);
  json::object tags;
  for (const auto& [name, value] : peer.info.tags) {
    if (is_utf8(name)) put_text(tags, name, value);
  }
  row["tags"] = std::move(tags);
  return row;
}

AdminView::AdminView(Observable observable)
    : observable_(std::move(observable)),
      routes_(observable_.facts().settings.partitions),
      moves_(observable_.facts().settings.partitions),
      assignment_(observable_.facts().settings.variation == kAssignedVariation),
      is_changed_(routes_.size(), 0) {
  const ObservedFacts& facts = observable_.facts();
  slots_by_verdict_[static_cast<std::size_t>(Verdict::unknown)] = facts.settings.slots;
  if (facts.id) list(std::make_shared<const Peer>(Peer{*facts.id, facts.process}));
}

void AdminView::take(const KeptChange& change) {
  ++edition_;
  if (change.assignment) assignment_.take(*change.assignment);
  if (change.routes.empty()) return;
  version_ = change.version;
  digest_ = change.digest;
  for (const ChangedRoute& one : change.routes) {
    ObservedRoute& route = routes_[one.partition.value()];
    count(route, one.partition, -1);
    moves_.note(one.partition, route, one.route, change.at);
    route = one.route;
    count(route, one.partition, 1);
    list(route.owner);
    list(route.next);
    list(route.designee);
    if (std::exchange(is_changed_[one.partition.value()], char{1}) != 0) continue;
    changed_.push_back(one.partition);
  }
  if (listed_.size() > renumber_at_) renumber();
}

void AdminView::count(const ObservedRoute& route, Partition partition, int sign) {
  std::uint32_t& slots = slots_by_verdict_[static_cast<std::size_t>(route.verdict)];
  slots = sign > 0 ? slots + slots_on(partition) : slots - slots_on(partition);
}

void AdminView::list(const PeerPtr& peer) {
  if (!peer) return;
  const auto [known, added] = indices_.try_emplace(peer->id, static_cast<int>(listed_.size()));
  if (added) {
    listed_.push_back(peer);
    relisted_.push_back(true);
    return;
  }
  const auto index = static_cast<std::size_t>(known->second);
  if (listed_[index] != peer && listed_[index]->info != peer->info) relisted_[index] = true;
  listed_[index] = peer;
}

void AdminView::renumber() {
  const auto before = std::exchange(listed_, {});
  indices_.clear();
  relisted_.clear();
  if (const auto& id = observable_.facts().id) {
    const auto self = std::find_if(before.begin(), before.end(),
                                   [&](const PeerPtr& peer) { return peer->id == *id; });
    if (self != before.end()) list(*self);
  }
  for (const ObservedRoute& route : routes_) {
    list(route.owner);
    list(route.next);
    list(route.designee);
  }
  renumber_at_ = std::max<std::size_t>(64, 2 * listed_.size());
  renumbered_ = true;
}

void AdminView::settle() {
  for (const Partition p : changed_) is_changed_[p.value()] = 0;
  changed_.clear();
  relisted_.assign(listed_.size(), false);
  renumbered_ = false;
  assignment_.settle();
}

int AdminView::index_of(const PeerPtr& peer) const {
  return peer ? indices_.at(peer->id) : -1;
}

std::uint32_t AdminView::slots_on(Partition partition) const {
  const Settings& settings = observable_.facts().settings;
  return slots_on_partition(partition.value(), SlotCount{settings.slots}, settings.partitions);
}

std::string AdminView::trouble(LocalTime now) const {
  if (!failure_.empty()) return failure_;
  if (observable_.closed()) return "this process has left, and reads nothing any more";
  if (observable_.at_work(now)) return {};
  return "the router's strand has not run for " +
         std::to_string(whole_ms(observable_.overdue(now))) +
         " ms: its executor is blocked or stopped";
}

bool AdminView::ready(LocalTime now) const {
  return slots_by_verdict_[static_cast<std::size_t>(Verdict::unknown)] == 0 && trouble(now).empty();
}

void AdminView::put_state(json::object& row, LocalTime now) const {
  row["version"] = version_;
  row["digest"] = hex_text(digest_);
  row["age_ms"] = whole_ms(observable_.age(now));
  row["ready"] = ready(now);
  row["ledger"] = observable_.ledger_answers(now) ? "answering" : "silent";
}

void AdminView::put_row(std::string& out, Partition partition, LocalTime now) const {
  const ObservedRoute& route = routes_[partition.value()];
  const auto number = [&out](std::int64_t value) {
    char text[24];
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    out += ',';
  };
  number(number_of(route.verdict));
  number(index_of(route.owner));
  number(index_of(route.next));
  number(route.draining ? 1 : 0);
  if (route.owner) {
    number(route.epoch.incarnation);
    number(route.epoch.offset);
  } else {
    out += "null,null,";
  }
  if (route.since == kLongAgo) {
    out += "null,";
  } else {
    number(std::max<std::int64_t>(0, whole_ms(now - route.since)));
  }
  // Rare, and at the end.
  if (route.designee || route.stale) number(index_of(route.designee));
  if (route.stale) number(1);
  out.back() = ']';
  out += ',';
}

std::string AdminView::whole(LocalTime now) const {
  const ObservedFacts& facts = observable_.facts();
  const Settings settings = observable_.settings();
  json::object row;
  put_text(row, "process", facts.process.name);
  if (facts.id) row["id"] = to_string(*facts.id);
  put_text(row, "group", settings.group);
  row["topic"] = facts.topic;
  row["lane"] = facts.lane.value();
  row["mode"] = settings.mode;
  row["slots"] = settings.slots;
  row["partitions"] = settings.partitions;
  row["logs"] = settings.logs;
  row["hash"] = settings.hash;
  put_state(row, now);
  if (facts.interval) row["interval_ms"] = facts.interval->count();
  row["lease_ms"] = observable_.lease().count();
  std::string text = open_object(now, row);
  put_list(text, "processes", [&] {
    for (const PeerPtr& peer : listed_) text += json::serialize(json_of(*peer)) + ',';
  });
  put_list(text, "view", [&] {
    for (std::uint32_t p = 0; p < routes_.size(); ++p) {
      text += '[';
      put_row(text, Partition{p}, now);
    }
  });
  return text + '}';
}

std::string AdminView::changes(LocalTime now) const {
  json::object row;
  put_state(row, now);
  std::string text = open_object(now, row);
  put_list(text, "processes", [&] {
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (!relisted_[i]) continue;
      text += "{\"index\":" + std::to_string(i) + ',' +
              json::serialize(json_of(*listed_[i])).substr(1) + ',';
    }
  });
  put_list(text, "view", [&] {
    for (const Partition p : changed_) {
      text += '[' + std::to_string(p.value()) + ',';
      put_row(text, p, now);
    }
  });
  return text + '}';
}

std::string AdminView::age(LocalTime now) const {
  json::object row;
  put_state(row, now);
  return open_object(now, row) + '}';
}

std::vector<AdminView::Holding> AdminView::holdings(LocalTime now) const {
  std::vector<Holding> all(listed_.size());
  for (std::uint32_t p = 0; p < routes_.size(); ++p) {
    const ObservedRoute& route = routes_[p];
    if (route.next) ++all[static_cast<std::size_t>(index_of(route.next))].coming;
    if (!route.owner) continue;
    Holding& one = all[static_cast<std::size_t>(index_of(route.owner))];
    const std::uint32_t slots = slots_on(Partition{p});
    ++one.partitions;
    one.slots += slots;
    if (route.draining) one.draining += slots;
    const microseconds valid_for = observable_.route(Slot{p}, now).valid_for;
    one.oldest = std::max(one.oldest, route.lease - std::min<microseconds>(valid_for, route.lease));
  }
  return all;
}

std::string AdminView::processes(LocalTime now) const {
  const std::vector<Holding> all = holdings(now);
  const auto sharing = std::count_if(all.begin(), all.end(), [](const Holding& one) {
    return one.partitions > 0 || one.coming > 0;
  });
  const double fair = static_cast<double>(observable_.facts().settings.slots) /
                      static_cast<double>(std::max<std::ptrdiff_t>(1, sharing));
  const std::string fair_text = "\"fair_slots\":" + number_text(fair);
  const auto stays = [](const Holding& one) { return one.slots > one.draining || one.coming > 0; };
  StatedEndpoints stated;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (stays(all[i])) stated.add(listed_[i]->info.endpoint);
  }
  std::string text = "{\"at\":" + at_text(now) + ',' + fair_text;
  put_list(text, "processes", [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Holding& one = all[i];
      const bool self = observable_.facts().id == listed_[i]->id;
      if (one.partitions == 0 && one.coming == 0 && !self) continue;  // it has left
      json::object row = json_of(*listed_[i]);
      row["partitions"] = one.partitions;
      row["slots"] = one.slots;
      row["draining"] = one.draining;
      row["oldest_ms"] = whole_ms(one.oldest);
      if (stays(one) && stated.shared(listed_[i]->info.endpoint)) row["endpoint_shared"] = true;
      text += json::serialize(row);
      text.pop_back();
      text += ',' + fair_text + "},";
    }
  });
  return text + '}';
}

std::string AdminView::route(const std::optional<std::string>& key, Slot slot,
                             LocalTime now) const {
  const SlotSpace& space = observable_.facts().space;
  json::object row;
  if (key) {
    put_text(row, "key", *key);
    row["hash"] = to_string(space.scheme());
    const std::string_view hashed =
        space.scheme().tags == HashTags::on ? hash_tag(*key) : std::string_view(*key);
    if (hashed.size() != key->size()) put_text(row, "tag", hashed);
    row["hash_value"] = hex_text(hash_value(space.scheme().hash, hashed));
    slot = space.slot_of(*key);
  }
  const Route route = observable_.route(slot, now);
  const ObservedRoute& seen = routes_[route.partition.value()];
  row["slot"] = route.slot.value();
  row["partition"] = route.partition.value();
  row["verdict"] = to_string(route.verdict);
  if (route.verdict == Verdict::local || route.verdict == Verdict::remote) {
    put_text(row, "owner", route.owner());
    // Between a change and its arrival here, the ids seen are those of the former owner.
    const bool current = seen.owner && seen.epoch == route.epoch;
    if (current) row["id"] = to_string(seen.owner->id);
    put_text(row, "endpoint", route.endpoint());
    row["epoch"] = neliroute::json_of(route.epoch);
    row["valid_for_ms"] = whole_ms(route.valid_for);
    row["draining"] = current && seen.draining;
    if (route.stale) row["stale"] = true;
  }
  if (!route.next_owner().empty()) {
    put_text(row, "next_owner", route.next_owner());
    put_text(row, "next_endpoint", route.next_endpoint());
  }
  put_assignment(row, seen);
  return json::serialize(row);
}

void AdminView::put_assignment(json::object& row, const ObservedRoute& seen) const {
  if (!assignment_.known()) return;
  if (const PeerPtr& assigner = assignment_.assigner()) {
    put_text(row, "assigner", assigner->info.name);
  }
  if (!seen.designee) return;
  put_text(row, "designee", seen.designee->info.name);
  put_text(row, "designee_endpoint", seen.designee->info.endpoint);
  row["designee_id"] = to_string(seen.designee->id);
}

std::string AdminView::readiness(LocalTime now, const std::string& lacks) const {
  json::object row{
      {"ready", ready(now) && lacks.empty()},
      {"unknown", slots_by_verdict_[static_cast<std::size_t>(Verdict::unknown)]},
      {"age_ms", whole_ms(observable_.age(now))}};
  const std::string trouble_now = trouble(now);
  if (const auto& why = trouble_now.empty() ? lacks : trouble_now; !why.empty()) {
    put_text(row, "error", why);
  }
  const auto stale = std::count_if(routes_.begin(), routes_.end(),
                                   [](const ObservedRoute& route) { return route.stale; });
  if (stale > 0) {
    put_text(row, "stale", "the log of " + std::to_string(stale) +
                               " partitions is silent: their last owners serve on");
  }
  return json::serialize(row);
}

}  // namespace neliroute::admin
