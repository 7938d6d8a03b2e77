// The simulated ledger: what is written, what is read, and when.
#include <algorithm>
#include <utility>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

/// What the gallop of the production tail overshoots by.
constexpr std::int64_t kFirstSpan = 16;

bool says_ahead(const StoredRecord& stored, BrokerTime time) {
  if (stored.value == nullptr) return false;
  const auto* record = std::get_if<Record>(stored.value.get());
  return record != nullptr &&
         greatest_incarnation_in(*record, stored.stamped) > time.time_since_epoch().count();
}

}  // namespace

Time World::unreachable_until(const Node& node, std::uint32_t log) const {
  return std::max({node.links[log].both_until(), logs_[log].away_until, topic_away_until_});
}

// --- Writing ---

// What does not fit into one record goes on in the next one of its type, at once.
void World::note_split(const WriteOnItsWay& write) {
  const bool of_protocol = std::holds_alternative<Record>(*write.value);
  if (of_protocol && write.place > 0 && plan_.record_bytes_max < kRecordBytesMax) ++splits_;
}

void World::send(Node& node, Write& write, Batch& batch) {
  const std::uint32_t l = write.log.value();
  Reader& reader = node.readers[l];
  const Time lease = plan_.lease();
  WriteOnItsWay way;
  way.log = l;
  way.seq = write.seq;
  way.value = read_value(write.value);
  way.place = batch[{l, kind_of(*way.value).value_or(-1)}]++;
  note_split(way);
  way.give_up_at = now_ + lease;
  way.topic = topic_;
  if (node.forbidden_until[l] > now_) {
    return plan_for(node, now_ + 2 * latency(node), Happening::write_forbidden, l,
                    static_cast<std::int64_t>(way.seq));
  }
  Time lands = std::max(now_ + latency(node) + node.writes_late, reader.last_landing + 1);
  if (happens(Fault::write_lost, node.random)) {
    const Time told = until(node.random.between(0, lease));
    oracle_.cut_node(node.index, told);
    return answer_write(node, way, false, told);
  }
  if (happens(Fault::write_late, node.random)) {
    lands = std::max(lands, until(node.random.between(0, 2 * lease)));
    oracle_.cut_node(node.index, lands);
  }
  if (happens(Fault::write_reordered, node.random)) {
    lands += node.random.between(0, 4 * plan_.latency_max);
  } else {
    reader.last_landing = lands;
  }
  if (happens(Fault::write_unanswered, node.random)) {
    const Time told = until(node.random.between(0, lease));
    oracle_.cut_node(node.index, told);
    way.answered = true;
    answer_write(node, way, false, told);
  }
  if (happens(Fault::write_duplicated, node.random)) {
    WriteOnItsWay copy = way;
    copy.copy = copy.answered = true;
    writes_.push_back(copy);
    const Time second = lands + (until(node.random.between(0, lease)) - now_);
    // A newcomer that finds it in the log waits for its lease, however soon it is given anything.
    oracle_.wrong(second);
    plan_for(node, second, Happening::write_lands,
             static_cast<std::uint32_t>(writes_.size() - 1));
  }
  if (lands >= way.give_up_at && !way.answered) {
    way.answered = true;
    answer_write(node, way, false, way.give_up_at);
  }
  writes_.push_back(way);
  plan_for(node, lands, Happening::write_lands, static_cast<std::uint32_t>(writes_.size() - 1));
}

// Stored, retried, or given up after T; an answer that is lost counts as given up.
void World::land(Node& node, std::uint32_t index, bool alive) {
  WriteOnItsWay& write = writes_[index];
  const Time blocked = std::max({node.links[write.log].there_until,
                                 logs_[write.log].away_until, topic_away_until_});
  if (blocked > now_) {
    if (!alive || write.copy) return;
    if (blocked + kMs < write.give_up_at) {
      return plan_for(node, blocked + kMs, Happening::write_lands, index);
    }
    if (!write.answered) answer_write(node, write, false, write.give_up_at);
    write.answered = true;
    return;
  }
  // A client learns that the topic is another one, or does not; but not of two in a row.
  const bool stored =
      write.topic == topic_ || (write.topic + 1 == topic_ && node.random.percent(50));
  if (stored) append(write.log, write.value, node.wall_offset, write.place);
  if (write.answered || !alive) return;
  write.answered = true;
  const Time answered = std::max({now_ + latency(node), node.links[write.log].back_until,
                                  logs_[write.log].stuck_until});
  const bool in_time = answered < write.give_up_at;
  answer_write(node, write, stored && in_time, in_time ? answered : write.give_up_at);
}

void World::answer_write(Node& node, const WriteOnItsWay& write, bool stored, Time at) {
  plan_for(node, at, Happening::write_answered, stored ? 1 : 0,
           static_cast<std::int64_t>(write.seq), logs_[write.log].end() - 1);
}

void World::append(std::uint32_t log, std::shared_ptr<const Decoded> value, Time clock_offset,
                   std::uint32_t place) {
  TopicLog& l = logs_[log];
  leave_positions_out(l);
  if (happens(Fault::offset_hole, chance_[static_cast<std::size_t>(Fault::offset_hole)])) {
    l.records.resize(l.records.size() + 1);
  }
  const std::int64_t position =
      l.append(std::move(value), stamp_of(l, clock_offset), !plan_.has(Fault::no_broker_time));
  if (place > 0) l.places[position] = place;
  ++records_;
  const StoredRecord& stored = l.records.back();
  const Record* const record = stored.record();
  if (log == 0) note_assigner(stored, position);
  if (record != nullptr) {
    note_unread(*record);
    note_word(log, *record);
    note_mismatched(*record, stored.stamped);
  }
  const auto* assignment =
      stored.value ? std::get_if<AssignmentRecord>(stored.value.get()) : nullptr;
  if (assignment != nullptr) note_assignment(*assignment);
  if (plan_.request.trace) {
    const std::string text = record != nullptr       ? encode_record(*record)
                             : assignment != nullptr ? encode_record(*assignment)
                                                     : "none";
    tell("log " + std::to_string(log) + " [" + std::to_string(l.end() - 1) + "] stamped " +
         std::to_string(stored.stamped.time_since_epoch().count()) + " " +
         text.substr(0, 2000));
  }
  for (Node& node : nodes_) {
    if (!node.alive) continue;
    if (!happens(Fault::notice_lost, node.random)) {
      schedule_fetch(node, log, now_ + latency(node) + node.reads_late);
    } else {
      oracle_.cut_node(node.index, now_ + plan_.interval());
      schedule_fetch(node, log, now_ + plan_.interval() + node.reads_late);
    }
  }
}

// Who drains stops at such a word (rule 4), also where its writer leads no longer.
void World::note_word(std::uint32_t log, const Record& record) {
  const Node* const writer = plan_.exclusive() ? nullptr : process_of(record.id);
  if (writer == nullptr || is_beside(*writer)) return;
  for (const LogParts* const led : {&record.leading, &record.draining}) {
    led->for_each({Log{log}, plan_.logs, plan_.partitions}, [&](Partition partition) {
      oracle_.says_that_it_leads(writer->index, part_of(*writer, partition.value()), now_);
    });
  }
}

// --- What strangers write ---

// What every version freezes, incarnation among it, is as an honest process would write it: the
// greatest in the log.
void World::odd_claim(std::uint32_t log, Random& random) {
  if (topic_away_until_ > now_) return;
  // It claims and never leads, nor releases: others wait for it as for one that crashed (rule 9).
  oracle_.wrong(now_ + 6 * plan_.interval());
  const std::int64_t incarnation = logs_[log].greatest_incarnation();
  static constexpr const char* kRests[] = {
      R"(})", R"(,"v":3,"lparts":{"p":[1]},"mode":"odd"})",
      R"(,"v":3,"id":"00000000000000aa","lparts":"0","lease_ms":250})"};
  const std::int64_t lane = random.between(0, plan_.lanes - 1);
  append(log, read_value(R"({"t":"claim","lane":)" + std::to_string(lane) + R"(,"inc":)" +
                         std::to_string(incarnation) + kRests[random.between(0, 2)]));
}

void World::noise(std::uint32_t log, Random& random) {
  if (topic_away_until_ > now_) return;
  static constexpr const char* kTexts[] = {
      "", "not JSON", R"({"t":"renewal","lane":0})", R"({"t":"audit","lane":0,"id":"1"})",
      R"({"v":2,"t":"claim","lane":7,"id":"00000000000000bb","inc":9,"lparts":"0-7"})",
      R"({"t":"claim"})"};
  append(log, read_value(kTexts[random.between(0, 5)]));
}

// --- Reading ---

void World::schedule_fetch(Node& node, std::uint32_t log, Time when) {
  Reader& reader = node.readers[log];
  if (!reader.running || (reader.fetch_at != 0 && reader.fetch_at <= when)) return;
  reader.fetch_at = when;
  plan_for(node, when, Happening::fetch, log, reader.version, when);
}

void World::fetch(Node& node, std::uint32_t log) {
  Reader& reader = node.readers[log];
  reader.fetch_at = 0;
  if (reader.topic != topic_) return;  // it is told, or goes on later: see make_topic_again()
  const Time blocked = unreachable_until(node, log);
  if (blocked > now_) return schedule_fetch(node, log, blocked + latency(node));
  TopicLog& l = logs_[log];
  const std::int64_t version = reader.version;
  const std::uint16_t life = node.life;
  const auto goes_on = [&] {
    return node.alive && node.life == life && reader.version == version &&
           node.paused_until <= now_;
  };
  if (reader.next > l.end() || reader.next < l.low || reader.compacted) {
    if (std::exchange(reader.compacted, false)) oracle_.disturb_node(node.index, now_);
    ++reader.version;
    reader.running = false;
    return step(node, GapFound{Log{log}, GapReason::out_of_range});
  }
  reader.answered_at = now_;
  const std::int64_t end = l.visible_end(now_);
  std::int64_t most = end;
  if (happens(Fault::fetch_in_parts, node.random)) most = reader.next + node.random.between(1, 4);
  while (goes_on() && reader.next < std::min({most, end, l.end()})) {
    const std::int64_t offset = reader.next++;
    if (l.find(offset) == nullptr || is_left_out(reader, offset)) continue;
    const StoredRecord stored = *l.find(offset);
    node.latest_read = std::max(node.latest_read, stored.stamped);
    step(node, Received{Log{log}, offset, stored.stamped, stored.store_stamped,
                        stored.value.get()});
  }
  const bool is_read_on = node.alive && node.life == life && reader.version == version;
  if (is_read_on && reader.next < std::min(end, l.end())) {
    return schedule_fetch(node, log, std::max(now_, node.paused_until) + latency(node));
  }
  if (!goes_on()) return;
  // The log's end is reported at last, even if nothing is written any more.
  if (!node.random.percent(plan_.end_percent)) {
    return schedule_fetch(node, log, now_ + plan_.interval());
  }
  step(node, LogPosition{Log{log}, reader.next});
}

void World::restart_reader(Node& node, std::uint32_t log, Time wait) {
  Reader& reader = node.readers[log];
  reader.running = false;
  reader.fetch_at = 0;
  ++reader.version;
  plan_for(node, now_ + wait + latency(node), Happening::tail_probe, log, reader.version);
}

// Where does it end, and from where must one read? Then the reading starts.
void World::probe(Node& node, std::uint32_t log) {
  const Time blocked = unreachable_until(node, log);
  if (blocked > now_) {
    return plan_for(node, blocked + latency(node), Happening::tail_probe, log,
                    node.readers[log].version);
  }
  const TopicLog& l = logs_[log];
  Reader& reader = node.readers[log];
  reader.next = start_of_reading(node, l);
  if (nothing_lies_below(l, reader.next)) reader.next = l.low;
  reader.topic = topic_;
  plan_for(node, now_ + latency(node), Happening::tail_begin, log, reader.version,
           l.visible_end(now_));
}

// Rule 6: the first offset stamped >= the horizon - e, at least one record back.
std::int64_t World::start_of_reading(Node& node, const TopicLog& log) const {
  if (plan_.has(Fault::no_broker_time)) return log.low;
  std::int64_t last = log.visible_end(now_) - 1;
  while (last >= log.low && log.find(last) == nullptr) --last;
  if (last < log.low) return log.low;
  const auto record_at = [&](std::int64_t i) -> const StoredRecord& {
    return log.records[static_cast<std::size_t>(i)];
  };
  const BrokerTime horizon = history_horizon(record_at(last).record(), record_at(last).stamped,
                                             node.lease) -
                             plan_.timing.clock_error;
  if (!plan_.exact_tail) {
    std::int64_t span = kFirstSpan;
    for (;; span *= 8) {
      std::int64_t at = log.end() - span;
      if (at <= log.low) return log.low;
      while (record_at(at).value == nullptr) ++at;
      if (record_at(at).stamped <= horizon) return log.end() - span;
    }
  }
  for (std::int64_t i = log.low; i < last; ++i) {
    if (record_at(i).value != nullptr && record_at(i).stamped >= horizon) return i;
  }
  return last;
}

// Holes carry no record.
bool World::nothing_lies_below(const TopicLog& log, std::int64_t offset) {
  for (std::int64_t i = log.low; i < offset; ++i) {
    if (log.find(i) != nullptr) return false;
  }
  return true;
}

void World::begin_reading(Node& node, const Planned& event) {
  const std::uint32_t log = event.a;
  Reader& reader = node.readers[log];
  const TopicLog& l = logs_[log];
  if (reader.topic != topic_ || reader.next < l.low || l.end() < event.c) {
    return restart_reader(node, log, 0);
  }
  reader.running = true;
  reader.compacted = false;
  reader.answered_at = now_;
  const Below below = plan_.store().newest_only ? start_at_the_newest(reader, log, event.c)
                      : reader.next == 0        ? Below::nothing
                      : reader.next <= l.low    ? Below::expired
                                                : Below::older;
  if (log == 0) node.tail_since = now_;
  if (reader.next <= l.low) reader.history_from = now_;
  const TailStarted started{Log{log}, reader.next, event.c, below};
  if (plan_.request.trace) {
    tell(node, "reads log " + std::to_string(log) + " from " + std::to_string(started.start) +
                   ", it ends at " + std::to_string(started.end));
  }
  step(node, started);
  if (node.alive && node.readers[log].version == event.b) {
    schedule_fetch(node, log, now_ + latency(node));
  }
}

void World::ask_again(Node& node, const RereadRequest& request) {
  rereads_.push_back({request.log, request.question, request.offset, std::nullopt});
  plan_for(node, now_ + latency(node), Happening::reread_lands,
           static_cast<std::uint32_t>(rereads_.size() - 1));
}

void World::reread_lands(Node& node, std::uint32_t index) {
  Reread& answer = rereads_[index];
  const std::uint32_t log = answer.log.value();
  const Time blocked = unreachable_until(node, log);
  if (blocked > now_) {
    return plan_for(node, blocked + latency(node), Happening::reread_lands, index);
  }
  answer = read_again({answer.log, answer.question, answer.offset});
  plan_for(node, now_ + latency(node), Happening::reread_answered, index);
}

// A replica in sync fetches nothing: what is written is not acknowledged, and nobody reads it.
void World::stick(std::uint32_t log, Random& random) {
  TopicLog& l = logs_[log];
  if (l.stuck_until > now_) return;
  l.stuck_at = l.end();
  l.stuck_until = until(random.magnitude(10 * kMs, 3 * plan_.lease()));
  oracle_.cut_log(log, l.stuck_until);
  for (Node& node : nodes_) {
    if (node.alive) plan_for(node, l.stuck_until, Happening::log_flows, log);
  }
}

// What a store made an inc rise to is kept for as long as it is ahead of the time (assumption 5).
void World::expire_log(std::uint32_t log) {
  TopicLog& l = logs_[log];
  if (l.end() == 0) return;
  const StoredRecord& last = l.records.back();
  if (last.value == nullptr) return;
  const BrokerTime horizon = last.stamped - milliseconds{15 * plan_.longest_lease() / kMs};
  // Offsets without a record go with an older record only, as they share its segment.
  for (std::int64_t i = l.low; i < l.end() - 1; ++i) {
    const StoredRecord* stored = l.find(i);
    if (stored == nullptr) continue;
    if (stored->stamped >= horizon || says_ahead(*stored, last.stamped)) return;
    l.low = i + 1;
  }
}

}  // namespace neliroute::sim
