// Whether this process's settings are those of the running group ("One configuration" of
// docs/protocol.md): the running configuration is that of the live record whose writer came first.
//
// Threads: one.   Units: LocalTime, broker milliseconds.   Errors: conflict() returns one.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/record/record.h"

namespace neliroute {

/// Of a settings_conflict: it is their number of partitions that differs.
[[nodiscard]] bool is_about_partitions(const Error& conflict);

class SettingsAgreement {
 public:
  /// When a process started: broker time of its first record, ties by id.
  struct Seniority {
    std::int64_t since = 0;
    ProcessId id = kNobody;
    friend auto operator<=>(const Seniority&, const Seniority&) = default;
  };

  /// `member`: takes part in the group; a watcher may stand by with any group and mode.
  SettingsAgreement(Settings own, Lane lane, bool member = true)
      : own_(std::move(own)), lane_(lane), member_(member) {}

  /// A foreign record was read. `fresh`: it was appended after the tail started, so its writer
  /// lived then; an existing record may be of a process long gone.
  void note(const Record& record, BrokerTime stamped, milliseconds lease, LocalTime read,
            bool fresh);
  /// A record was read that was appended at this time or later, by the clock of any broker. Who had
  /// been silent for its lease by then was gone, however late this process reads what it wrote. No
  /// value: nobody knows when. Precedes note().
  void note_time(std::optional<BrokerTime> at_least) noexcept { log_time_ = at_least; }

  /// The error to refuse with, if a senior with other settings is known to live. `own`: no value
  /// before anything was written; every process is senior then.
  [[nodiscard]] std::optional<Error> conflict(const std::optional<Seniority>& own,
                                              LocalTime now) const;
  /// A process has other settings, and until then it is not known whether the senior still lives.
  [[nodiscard]] std::optional<LocalTime> undecided_until(LocalTime now) const;
  /// No living process differs, so neither of these searches.
  [[nodiscard]] bool at_rest(LocalTime now) const noexcept { return now >= differing_until_; }

 private:
  struct Seen {
    Seniority seniority;
    Lane lane;
    Settings settings;
    std::int64_t version = kRecordVersion;
    std::string name;
    LocalTime live_until;
    BrokerTime stamped_until;
    bool fresh = false;
    bool differs = false;
  };
  [[nodiscard]] bool lives(const Seen& seen, LocalTime now) const noexcept {
    return seen.live_until > now && (!log_time_ || seen.stamped_until > *log_time_);
  }
  enum class Counting { all, heard };  ///< heard: since the tail started
  [[nodiscard]] const Seen* senior(bool same_lane, LocalTime now, Counting counting) const;
  [[nodiscard]] bool somebody_differs(bool same_lane, LocalTime now) const;
  [[nodiscard]] std::optional<Error> difference(const Seen& seen) const;
  void forget(LocalTime now);

  Settings own_;
  Lane lane_;
  bool member_;
  std::map<ProcessId, Seen> seen_;
  LocalTime differing_until_ = kLongAgo;  ///< in the past: steady state, nothing is searched
  std::optional<BrokerTime> log_time_;    ///< of the record read last, if its broker stamped it
  std::size_t forget_at_ = 64;
};

}  // namespace neliroute
