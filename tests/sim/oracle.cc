#include "tests/sim/oracle.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace neliroute::sim {

std::string clock_text(Time now) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%" PRId64 ".%03" PRId64 " ms", now / 1000, now % 1000);
  return text.data();
}

void Oracle::leads(std::uint8_t node, std::uint32_t partition, Time until, Time now) {
  auto& ends = ends_[partition];
  const bool begins = until > now;
  if (begins && plan_.exclusive()) {
    for (std::uint8_t other = 0; other < plan_.processes; ++other) {
      if (other == node || ends[other] <= now) continue;
      broken("two leaders of partition " + std::to_string(partition) + ": processes " +
                 std::to_string(other) + " and " + std::to_string(node),
             now);
    }
  }
  if (begins && gap_since_[partition] != 0) close_gap(partition, now);
  ends[node] = begins ? until : std::min(ends[node], now);
  cover(partition, now);
}

void Oracle::died(std::uint8_t node, Time now) {
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    if (ends_[p][node] > now) leads(node, p, now, now);
  }
}

void Oracle::cover(std::uint32_t partition, Time now) {
  const bool was_led = covered_until_[partition] != 0;
  Time until = 0;
  for (std::uint8_t n = 0; n < plan_.processes; ++n) {
    until = std::max(until, ends_[partition][n]);
  }
  if (until > now) {
    covered_until_[partition] = until;
    next_end_ = std::min(next_end_, until);
  } else if (was_led) {
    covered_until_[partition] = 0;
    open_gap(partition, now);
  }
}

void Oracle::find_gaps(Time now) {
  next_end_ = INT64_MAX;
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    const Time until = covered_until_[p];
    if (until == 0) continue;
    if (until < now) {
      covered_until_[p] = 0;
      open_gap(p, until);
    } else {
      next_end_ = std::min(next_end_, until);
    }
  }
}

void Oracle::open_gap(std::uint32_t partition, Time start) {
  gap_since_[partition] = start;
  if (plan_.exclusive()) return;
  // Who was cut off for a moment may need this long to show that it is back.
  const Time grace = plan_.lease();
  bool excused = log_until_[partition % plan_.logs] + grace >= start;
  for (std::uint8_t n = 0; n < plan_.processes && !excused; ++n) {
    // A successor that died before its predecessor had read that it leads is one of them.
    excused = ends_[partition][n] + grace >= start && node_until_[n] != 0 &&
              node_until_[n] + grace >= start;
  }
  if (!excused) {
    broken("partition " + std::to_string(partition) + " becomes unowned, and nothing was wrong",
           start);
  }
}

void Oracle::close_gap(std::uint32_t partition, Time now) {
  const Time start = gap_since_[partition];
  gap_since_[partition] = 0;
  longest_gap_ = std::max(longest_gap_, now - start);
  if (now > start) ++gaps_;
  if (plan_.exclusive()) return;
  const Time since = std::max(start, std::min(disturbed_until_, now));
  const Time allowed = since + plan_.takeover() + further_rebalances(since);
  if (now > allowed) {
    broken("partition " + std::to_string(partition) + " was unowned for " +
               clock_text(now - start) + ", " + clock_text(now - allowed) +
               " longer than a take-over takes",
           now);
  }
}

// With the classic protocol everybody joins anew for each: a take-over that needs two takes twice as
// long (cooperative-sticky gives in the second what it took in the first).
Time Oracle::further_rebalances(Time since) const {
  if (plan_.assigning == Assigning::consumer) return 0;
  const auto first = std::lower_bound(rebalances_.begin(), rebalances_.end(), since);
  const auto count = static_cast<Time>(rebalances_.end() - first);
  return std::max<Time>(count - 1, 0) * (plan_.rebalance() + 4 * plan_.latency_max);
}

void Oracle::acquired(Node& node, Partition partition, const Epoch& epoch, Time now) {
  const std::string who = "process " + std::to_string(node.index) + " acquired partition " +
                          std::to_string(partition.value()) + " with " +
                          neliroute::to_string(epoch);
  Epoch& own = node.acquired[partition.value()];
  if (epoch < own) broken(who + " after its own " + neliroute::to_string(own), now);
  own = epoch;
  Acquisition& last = last_[partition.value()];
  const bool again = node.id == last.id;
  if (!again) ++transitions_;
  if (plan_.exclusive() && (again ? epoch < last.epoch : epoch <= last.epoch)) {
    broken(who + " after " + neliroute::to_string(last.epoch), now);
  }
  last = {epoch, node.id};
}

void Oracle::broken(const std::string& what, Time now) {
  if (broken_.empty()) broken_ = what + ", at " + clock_text(now);
}

}  // namespace neliroute::sim
