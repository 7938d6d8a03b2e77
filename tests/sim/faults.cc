#include "tests/sim/faults.h"

namespace neliroute::sim {

std::string_view to_string(Fault fault) noexcept {
  static constexpr std::array<std::string_view, kFaultCount> kNames{
      "write_lost",     "write_unanswered",  "write_late",       "write_duplicated",
      "write_reordered", "pause",            "cut_log",          "cut_one_way",
      "cut_coordinator", "cut_full",         "crash",            "leave",
      "short_leave",    "leader_change",     "broker_clock_step", "retention",
      "offset_hole",    "topic_made_again",  "truncation",       "other_version",
      "noise",          "coordinator_down",  "group_forgotten",  "reshuffle",
      "group_lies",     "tail_replaced",     "late_timer",       "slow_barrier",
      "slow_network",   "other_leases",      "drift",            "no_broker_time",
      "wide_skew",      "leader_flip",       "log_as_long",
      "two_lanes",      "other_settings",    "stopped_in_step",  "fetch_in_parts",
      "unclean_leader", "hang",              "store_ahead",
      "forbidden",      "out_of_reach",      "override",         "broadcast_beside",
      "stuck_log",      "sick",              "compaction",       "notice_lost"};
  return kNames[static_cast<std::size_t>(fault)];
}

}  // namespace neliroute::sim
