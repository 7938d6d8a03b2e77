// Claims that variation `broadcast` writes beside its records, so that others find the owner.
//
// The records of `broadcast` carry nothing. With hints, a process that leads a partition says so as
// in `claimed`: a claim when it begins, renewals while it leads, a release when it stopped.
// Nobody's leading depends on them; they serve the Directory, comparing settings, and ending a
// drain early when the successor says that it leads.
//
// Threads: one (inside Broadcast).   Units: LocalTime.
// Errors: a claim that is lost is written again; conflict() reports other settings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/lease_bound.h"
#include "neli_core/log/log_progress.h"
#include "neli_core/options.h"
#include "neli_core/ready.h"
#include "neli_core/settings_agreement.h"

namespace neliroute {

class HintClaims {
 public:
  /// `beat`: time between two renewals.
  HintClaims(const CoreOptions& options, milliseconds beat);

  // What the process does.
  void lead(Partition partition, LocalTime now);
  void drain(Partition partition, bool draining);
  void stop(Partition partition);

  // What it reads.
  void on(const TailStarted& event, LocalTime now);
  void on(const Received& event, LocalTime now);
  void on(const LogPosition& event, LocalTime now);
  void on(const GapFound& event, LocalTime now);
  void on(const WriteAcknowledged& event, LocalTime now);
  void on(const WriteFailed& event, LocalTime now);
  template <class Other>
  void on(const Other&, LocalTime) {}

  /// Puts what is due into `ready`.
  void write(Ready& ready, LocalTime now);
  [[nodiscard]] LocalTime next_deadline() const noexcept {
    return std::min(next_beat_, claims_at_);
  }

  /// Every log was read up to where it ended when its tail started.
  [[nodiscard]] bool history_was_read() const;
  /// Another process still says that it leads the partition, by a later claim than this process's.
  [[nodiscard]] bool has_successor(Partition partition, LocalTime now) const;
  /// The error to refuse with, if the group runs with other settings.
  [[nodiscard]] std::optional<Error> conflict(LocalTime now) const;
  [[nodiscard]] std::optional<LocalTime> undecided_until(LocalTime now) const {
    return agreement_.undecided_until(now);
  }

 private:
  using EpochsHeld = std::map<Epoch, std::vector<Partition>>;
  struct State {
    bool leading = false;
    bool draining = false;
    bool claim_due = false;
    std::uint64_t claim_seq = 0;  ///< 0: none is in flight
    LocalTime claim_written = kLongAgo;
    std::optional<Epoch> own;
    Epoch newest = kNoEpoch;  ///< anybody's
    /// Until when its owner counts as still saying so.
    LocalTime newest_until = kLongAgo;
    bool has_successor = false;
  };
  struct LogState : LogProgress {
    std::int64_t greatest_incarnation = 0;  ///< 0: none known
    std::optional<BrokerTime> read_until;  ///< broker time of the last record that was read
    bool renewal_due = false;
    std::uint32_t in_flight = 0;
    EpochsHeld releases;
  };

  void on_claim(const Received& event, const Record& record, LocalTime now);
  void on_renewal(const Received& event, const Record& record, LocalTime now);
  void on_release(const Received& event, const Record& record);
  void note_newest(State& p, const Epoch& epoch, LocalTime now);
  [[nodiscard]] bool claims_again(const State& p, LocalTime now) const;
  void write_claims(Log log, Ready& ready, LocalTime now);
  void write_renewals(Log log, Ready& ready);
  void write_epochs(RecordType type, Log log, const EpochsHeld& held, Ready& ready);
  [[nodiscard]] Record header(RecordType type, Log log) const;
  [[nodiscard]] LogPlace place(Log log) const {
    return {log, options_.settings.logs, options_.settings.partitions};
  }
  [[nodiscard]] State& state(Partition p) { return partitions_[p.value()]; }
  [[nodiscard]] LogState& log_of(Partition p) {
    return logs_[neliroute::log_of(p, options_.settings.logs).value()];
  }

  CoreOptions options_;
  milliseconds beat_;
  std::vector<State> partitions_;
  std::vector<LogState> logs_;
  SettingsAgreement agreement_;
  /// T*, for others: processes of `claimed` lanes wait that long for those that they cannot see.
  LeaseBound lease_bound_;
  std::map<std::uint64_t, Log> on_the_way_;  ///< renewals
  std::optional<std::int64_t> since_;
  bool wrote_ = false;
  std::uint64_t next_seq_ = 1;
  LocalTime next_beat_ = kLongAgo;
  /// When new claims are written: together, not one by one as partitions are acquired.
  LocalTime claims_at_ = kNever;
};

}  // namespace neliroute
