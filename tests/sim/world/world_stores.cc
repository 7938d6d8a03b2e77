// What other stores than Kafka do: positions that are not dense, stamps of the writers' clocks, a
// history of the newest records only.
#include <algorithm>
#include <map>
#include <tuple>
#include <variant>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

/// Where the newest record of a kind stands: its writer, its type, and its place in its batch.
using Key = std::tuple<ProcessId, int, std::uint32_t>;

}  // namespace

// What is no record of the protocol has no kind, nor has an override or a seat claim: all are kept.
std::optional<int> World::kind_of(const Decoded& value) {
  constexpr int kAssignments = 100;
  if (const auto* record = std::get_if<Record>(&value)) return static_cast<int>(record->type);
  const auto* assignment = std::get_if<AssignmentRecord>(&value);
  if (assignment == nullptr || assignment->type == AssignmentType::override ||
      assignment->type == AssignmentType::seat_claim) {
    return std::nullopt;
  }
  return kAssignments + static_cast<int>(assignment->type);
}

BrokerTime World::stamp_of(const TopicLog& log, Time clock_offset) const {
  const Time offset = plan_.store().writers_stamps ? clock_offset : broker_skew_[log.broker];
  const BrokerTime stamp{milliseconds{(now_ + offset) / kMs + kBrokerEpochMs}};
  const bool rises = plan_.store().stamps_rise && !log.records.empty();
  return rises ? std::max(stamp, log.records.back().stamped) : stamp;
}

void World::leave_positions_out(TopicLog& log) {
  const std::int64_t most = plan_.store().step;
  if (most == 1) return;
  const std::int64_t rise = positions_.between(1, most);
  const std::int64_t before = log.end() == 0 ? rise : rise - 1;  // none is at 0
  log.records.resize(log.records.size() + static_cast<std::size_t>(before));
}

std::vector<std::int64_t> World::newest_of_each(const TopicLog& log, std::int64_t end) {
  std::map<Key, std::int64_t> newest;
  std::vector<std::int64_t> all;
  for (std::int64_t i = log.low; i < end; ++i) {
    const StoredRecord* const stored = log.find(i);
    if (stored == nullptr) continue;
    const std::optional<int> kind = kind_of(*stored->value);
    if (!kind) {
      all.push_back(i);
      continue;
    }
    const Record* const record = stored->record();
    const ProcessId writer =
        record != nullptr ? record->id : std::get<AssignmentRecord>(*stored->value).id;
    const auto place = log.places.find(i);
    newest[{writer, *kind, place == log.places.end() ? 0 : place->second}] = i;
  }
  for (const auto& [key, position] : newest) all.push_back(position);
  std::sort(all.begin(), all.end());
  return all;
}

// It asks for what is there, and then for all that comes.
Below World::start_at_the_newest(Reader& reader, std::uint32_t log, std::int64_t end) const {
  reader.newest = newest_of_each(logs_[log], end);
  reader.whole_from = end;
  reader.next = reader.newest.empty() ? end : reader.newest.front();
  return end == 0 ? Below::nothing : Below::unread;
}

bool World::is_left_out(const Reader& reader, std::int64_t position) {
  return position < reader.whole_from &&
         !std::binary_search(reader.newest.begin(), reader.newest.end(), position);
}

// Who reads on from before then is told that it cannot.
void World::compact(std::uint32_t log) {
  logs_[log].compacted_below = logs_[log].end();
  for (Node& node : nodes_) {
    const bool away = unreachable_until(node, log) > now_ || node.paused_until > now_;
    if (node.alive && away) node.readers[log].compacted = true;
  }
}

// Of what was compacted, the newest of each kind can still be read.
Reread World::read_again(const RereadRequest& request) const {
  const TopicLog& l = logs_[request.log.value()];
  Reread answer = l.answer(request);
  if (request.offset >= l.compacted_below || !answer.found) return answer;
  const std::vector<std::int64_t> kept = newest_of_each(l, l.end());
  if (!std::binary_search(kept.begin(), kept.end(), request.offset)) answer.found.reset();
  return answer;
}

}  // namespace neliroute::sim
