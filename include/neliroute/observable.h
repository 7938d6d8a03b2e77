// Observable: what dashboards, the admin port and metrics read of a Router or Watcher.
//
// A handle, cheap to copy. It may outlive the Router or Watcher it came from (then everything is
// unknown and closed), but not their executor.
//
// Threads: any.   Units: LocalTime is CLOCK_BOOTTIME.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/observer.h>
#include <neliroute/route.h>
#include <neliroute/settings.h>
#include <neliroute/slot_space.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

namespace neliroute {

class Reader;
class LedgerStatistics;
class Meter;

using LookupCounts = std::array<std::uint64_t, 4>;     ///< by Verdict
using AdmissionCounts = std::array<std::uint64_t, 4>;  ///< by Admit

/// What never changes while a process runs.
struct ObservedFacts {
  ProcessInfo process;
  std::optional<ProcessId> id;  ///< none: a watcher
  std::string topic;
  Lane lane;
  Settings settings;
  SlotSpace space;
  std::optional<milliseconds> interval;  ///< none: a watcher
  milliseconds lease{0};  ///< a watcher's until it reads an owner's: see Observable::lease()
};

class Observable {
 public:
  /// `statistics`: null if the ledger has none.
  Observable(std::shared_ptr<Reader> reader, ObservedFacts facts,
             std::shared_ptr<const LedgerStatistics> statistics = nullptr);

  [[nodiscard]] const ObservedFacts& facts() const noexcept { return *facts_; }
  /// As in facts(), but a watcher's mode and variation are those that it has read in records.
  [[nodiscard]] Settings settings() const;
  /// T: as in facts(), but a watcher's is the owners', as far as it has read their records.
  [[nodiscard]] milliseconds lease() const noexcept;
  /// As Lookup::route(), but not counted as a lookup of the application.
  [[nodiscard]] Route route(Slot slot, LocalTime now) const;
  /// The greatest age, over all logs, of the last answer of the log's leader; counted from the
  /// start if it has not answered.
  [[nodiscard]] microseconds age(LocalTime now) const;
  /// Whether every log's leader has answered within the lease.
  [[nodiscard]] bool ledger_answers(LocalTime now) const;
  /// How long the strand's work has been due: 0 unless its executor does not run, or is blocked.
  [[nodiscard]] microseconds overdue(LocalTime now) const;
  [[nodiscard]] bool closed() const;
  /// Neither closed nor overdue by more than any timer ever is while its executor runs.
  [[nodiscard]] bool at_work(LocalTime now) const;
  /// Why the application cannot serve, as it told the Router; no value: it can.
  [[nodiscard]] std::optional<std::string> unhealthy() const;
  [[nodiscard]] LookupCounts lookups() const;
  [[nodiscard]] AdmissionCounts admissions() const;
  /// Callers that wait for an owner now.
  [[nodiscard]] std::size_t waiters() const;
  [[nodiscard]] const Meter& meter() const;
  [[nodiscard]] const LedgerStatistics* statistics() const { return statistics_.get(); }
  /// Calls the observer on the strand from now on, for as long as it lives.
  void observe(std::weak_ptr<Observer> observer) const;

 private:
  std::shared_ptr<Reader> reader_;
  std::shared_ptr<const ObservedFacts> facts_;
  std::shared_ptr<const LedgerStatistics> statistics_;
};

}  // namespace neliroute
