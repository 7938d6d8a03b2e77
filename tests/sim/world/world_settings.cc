// Who starts with other settings than the group's: it has to refuse, and must do no harm.
#include <algorithm>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

constexpr std::int64_t kMismatchedPercent = 25;  ///< of the starts, in seeds that have them
/// Who waits for the history to be read subscribes by then all the same (claim_protocol.h).
constexpr Time kSubscribesAfter = 3 * kSecond;

}  // namespace

void World::choose_settings(Node& node, CoreOptions& core) {
  Random& chance = chance_[static_cast<std::size_t>(Fault::other_settings)];
  node.other_settings = plan_.has(Fault::other_settings) && chaos() &&
                        now_ > start_ + 4 * kSecond && chance.percent(kMismatchedPercent);
  if (!node.other_settings) return;
  count(Fault::other_settings);
  mismatched_.push_back(node.id);
  const std::int64_t which = chance.between(0, 3);
  if (which == 0) core.settings.slots = 128;
  if (which == 1) core.settings.hash = "crc16";
  if (which == 2) core.settings.group = "other";
  if (which == 3) core.mode = plan_.exclusive() ? Mode::non_exclusive : Mode::exclusive;
  tell(node, "has other settings: slots " + std::to_string(core.settings.slots) + ", hash " +
                 core.settings.hash + ", group " + core.settings.group + ", mode " +
                 std::string(neliroute::to_string(core.mode)));
}

// Where everybody else was away for long enough, who came with other settings is the running
// configuration, and those who return refuse: that is the rule. Nobody refuses otherwise.
bool World::is_mixed(std::uint8_t lane) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [lane](const Node& node) {
    return node.alive && node.lane == lane && node.other_settings;
  });
}

void World::note_mismatched(const Record& record, BrokerTime stamped) {
  if (std::ranges::find(mismatched_, record.id) == mismatched_.end()) return;
  mismatched_stamp_ = std::max(mismatched_stamp_, stamped);
}

// Without the brokers' time nothing tells a dead writer from a living one, where a log was out of
// reach for as long as it lived.
bool World::reads_of_the_dead(const Node& node) const {
  if (mismatched_until_ == 0) return false;
  if (!plan_.has(Fault::no_broker_time)) {
    // Who was cut off reads the last words of the dead before anything that was written later.
    const milliseconds lease{plan_.longest_lease() / kMs};
    const BrokerTime gone = mismatched_stamp_ + lease + plan_.timing.clock_error;
    return node.started_at < mismatched_until_ && node.latest_read < gone;
  }
  const Time while_read = 4 * plan_.longest_lease();
  return std::any_of(node.readers.begin(), node.readers.end(), [&](const Reader& reader) {
    return reader.running && now_ < reader.history_from + while_read;
  });
}

void World::on_refusal(Node& node, const Error& error) {
  if (error.code() == Errc::barrier_stuck) {
    return oracle_.disturb_node(node.index, now_ + plan_.lease());  // as it should; it leaves
  }
  const bool among_us = std::any_of(nodes_.begin(), nodes_.end(), [](const Node& other) {
    return other.alive && other.other_settings;
  });
  if (error.code() != Errc::settings_conflict ||
      !(among_us || now_ < mismatched_until_ || reads_of_the_dead(node))) {
    return oracle_.broken("a process refuses: " + error.message(), now_);
  }
  ++refusals_;
  tell(node, "refuses: " + error.message());
  oracle_.disturb_node(node.index, now_);
}

// It leads beside a process that came before it and that nothing has kept from saying so.
void World::check_harmless(const Node& node, Partition partition) {
  if (!node.other_settings) return;
  const Time calm = kSubscribesAfter + 2 * plan_.longest_lease();
  if (oracle_.disturbed_until(node.index) + calm > now_) return;
  for (const Node& other : nodes_) {
    if (!other.alive || other.other_settings || other.lane != node.lane) continue;
    if (oracle_.disturbed_until(other.index) + calm > now_) continue;
    for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
      if (!oracle_.led(other.index, part_of(other, p), now_)) continue;
      return oracle_.broken("process " + std::to_string(node.index) + " acquired partition " +
                                std::to_string(partition.value()) +
                                " with other settings than the group's",
                            now_);
    }
  }
}

}  // namespace neliroute::sim
