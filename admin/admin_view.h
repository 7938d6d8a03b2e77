// The view as the admin port serves it: a copy of what observers receive, and its JSON.
//
// Processes are in a list, and rows name them by their index in it. An index stays valid as long as
// the list; the list is rebuilt when most of its processes have left.
//
// Threads: one (the server's strand).   Units: milliseconds and Unix seconds in the JSON.
// Errors: none.
#pragma once

#include <array>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <neliroute/observable.h>
#include <optional>
#include <string>
#include <vector>

#include "admin/assignment_view.h"
#include "admin/move_history.h"
#include "router/reader/meter.h"

namespace neliroute::admin {

/// A ViewChange that owns its data.
struct KeptChange {
  std::uint64_t version = 0;
  std::uint64_t digest = 0;
  LocalTime at;
  std::vector<ChangedRoute> routes;
  std::optional<KeptAssignment> assignment = std::nullopt;
};

class AdminView {
 public:
  explicit AdminView(Observable observable);

  void take(const KeptChange& change);
  void give_up(std::string why) { failure_ = std::move(why); }
  void recover() { failure_.clear(); }

  /// {"at":..,"process":..,"view":[..]}: all of it.
  [[nodiscard]] std::string whole(LocalTime now) const;
  /// What changed since the last settle().
  [[nodiscard]] std::string changes(LocalTime now) const;
  [[nodiscard]] bool has_changed() const noexcept { return renumbered_ || !changed_.empty(); }
  /// Who assigns, and to whom: what a stream begins with, and what /v1/assignment answers.
  [[nodiscard]] const AssignmentView& assignment() const noexcept { return assignment_; }
  [[nodiscard]] std::string assignment_text(LocalTime now) const {
    return assignment_.text(routes_, observable_.meter().count(Count::assigner_waits), now);
  }
  /// Whether indices changed their meaning: then send whole(), not changes().
  [[nodiscard]] bool renumbered() const noexcept { return renumbered_; }
  /// All changes so far have been sent.
  void settle();
  [[nodiscard]] std::string age(LocalTime now) const;
  /// What moved in the last ten minutes, as MoveHistory shows it.
  [[nodiscard]] std::string moves(LocalTime now) const { return moves_.text(now); }
  [[nodiscard]] std::string processes(LocalTime now) const;
  [[nodiscard]] std::string route(const std::optional<std::string>& key, Slot slot,
                                  LocalTime now) const;
  /// `lacks`: what else is missing.
  [[nodiscard]] std::string readiness(LocalTime now, const std::string& lacks = {}) const;
  /// Empty: the strand runs, and the process has not given up. Otherwise what is wrong.
  [[nodiscard]] std::string trouble(LocalTime now) const;
  [[nodiscard]] bool ready(LocalTime now) const;

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Grows with whatever was taken; the version, with the routes only.
  [[nodiscard]] std::uint64_t edition() const noexcept { return edition_; }
  [[nodiscard]] const Observable& observable() const noexcept { return observable_; }

 private:
  struct Holding {
    std::uint32_t partitions = 0;
    std::uint32_t slots = 0;
    std::uint32_t draining = 0;
    std::uint32_t coming = 0;  ///< partitions that it claimed and does not lead yet
    microseconds oldest{0};
  };
  [[nodiscard]] int index_of(const PeerPtr& peer) const;
  void list(const PeerPtr& peer);
  void count(const ObservedRoute& route, Partition partition, int sign);
  void renumber();
  [[nodiscard]] std::vector<Holding> holdings(LocalTime now) const;
  [[nodiscard]] std::uint32_t slots_on(Partition partition) const;
  void put_row(std::string& out, Partition partition, LocalTime now) const;
  /// "version", "digest", "age_ms", "ready" and "ledger" of every answer.
  void put_state(boost::json::object& row, LocalTime now) const;
  void put_assignment(boost::json::object& row, const ObservedRoute& seen) const;

  Observable observable_;
  std::vector<ObservedRoute> routes_;
  MoveHistory moves_;
  AssignmentView assignment_;
  std::vector<PeerPtr> listed_;
  std::map<ProcessId, int> indices_;
  std::vector<bool> relisted_;  ///< of listed_: not sent yet
  std::vector<Partition> changed_;
  std::vector<char> is_changed_;
  std::array<std::uint32_t, 4> slots_by_verdict_{};
  std::uint64_t version_ = 0;
  std::uint64_t digest_ = 0;
  std::uint64_t edition_ = 0;
  std::size_t renumber_at_ = 64;
  bool renumbered_ = false;
  std::string failure_;
};

}  // namespace neliroute::admin
