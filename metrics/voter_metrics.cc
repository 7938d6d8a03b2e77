#include "metrics/voter_metrics.h"

#include <algorithm>
#include <string>

#include "metrics/metric_families.h"

namespace neliroute {
namespace {

/// A series for each log.
template <class Value>
void add_each(MetricFamilies& made, const VoterStatistics& voter, const Value& value) {
  for (std::size_t log = 0; log < voter.logs.size(); ++log) {
    made.add(static_cast<double>(value(voter.logs[log])), {{"log", std::to_string(log)}});
  }
}

void add_logs(MetricFamilies& made, const VoterStatistics& voter) {
  made.gauge("voter_leads", "1 if this voter leads the log");
  add_each(made, voter, [](const LogStatistics& log) { return log.leads.load(); });
  made.gauge("voter_log_led", "1 if this voter leads the log, or knows who does");
  add_each(made, voter, [](const LogStatistics& log) { return log.is_led.load(); });
  made.gauge("voter_counts", "1 if this voter's vote counts");
  add_each(made, voter, [](const LogStatistics& log) { return log.counts.load(); });
  made.gauge("voter_term", "The term, which rises with each election");
  add_each(made, voter, [](const LogStatistics& log) { return log.term.load(); });
  made.counter("voter_leader_changes_total", "How often this voter learned of a new leader");
  add_each(made, voter, [](const LogStatistics& log) { return log.leaders.load(); });
  made.gauge("voter_followers_overdue", "Voters that have not answered this leader in time");
  add_each(made, voter, [](const LogStatistics& log) { return log.overdue.load(); });
  made.gauge("voter_committed_entries", "Entries committed since the log began");
  add_each(made, voter, [](const LogStatistics& log) { return log.committed.load(); });
  made.gauge("voter_stored_entries", "Entries of the log that this voter has, committed or not");
  add_each(made, voter, [](const LogStatistics& log) { return log.end.load(); });
  made.gauge("voter_kept_entries", "Entries that are in memory and on disk");
  add_each(made, voter, [](const LogStatistics& log) {
    return std::max<quorum::Index>(log.end.load() - log.first.load(), 0);
  });
  made.gauge("voter_disk_bytes", "Size of the log's files");
  add_each(made, voter, [](const LogStatistics& log) { return log.disk_bytes.load(); });
  made.gauge("voter_clock_ahead_seconds", "How far the newest record is ahead of the clock");
  add_each(made, voter, [](const LogStatistics& log) { return seconds_of(log.clock_ahead); });
}

}  // namespace

std::vector<prometheus::MetricFamily> VoterMetrics::Collect() const {
  MetricFamilies made({{"voter", label_text(voter_->address)},
                       {"topic", label_text(voter_->quorum)}});
  add_logs(made, *voter_);
  made.gauge("voter_election_seconds", "The election timeout");
  made.add(seconds_of(voter_->election));
  made.histogram("voter_store_seconds", "From handing records to the disk until they are stored",
                 voter_->stores);
  made.gauge("voter_peers", "Other voters that are connected to this one");
  made.add(static_cast<double>(voter_->peers));
  made.gauge("voter_clients", "Clients that are connected to this voter");
  made.add(static_cast<double>(voter_->clients));
  return made.take();
}

}  // namespace neliroute
