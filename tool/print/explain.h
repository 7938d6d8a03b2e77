// Why a key's route is what it is, step by step: hash, slot, partition, epoch, owner, and which
// rule of docs/protocol.md gave the verdict.
//
// Threads: one (the strand).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/observable.h>
#include <neliroute/observer.h>
#include <neliroute/route.h>
#include <string>
#include <string_view>
#include <vector>

#include "admin/admin_view.h"

namespace neliroute::tool {

/// Everything that an explanation is based on.
struct Explained {
  std::string key;
  std::string_view hash;      ///< "xxh3"
  std::string hashed;         ///< the key, or its tag
  std::uint64_t value = 0;
  Settings settings;
  milliseconds lease{0};      ///< how long a watcher believes silence
  RouteCopy route;
  ObservedRoute seen;         ///< of the route's partition
  microseconds silence{0};    ///< since the most silent log answered
  bool answers = false;       ///< whether every log's leader does
  bool assigned = false;      ///< a member assigns, and not a group, as far as is known
  PeerPtr assigner;           ///< null: nobody does
  std::size_t takers = 0;     ///< members that may be named for a partition
  LocalTime now;
};

/// In words.
[[nodiscard]] std::string reason_of(const Explained& explained);
/// Lines of at most 80 columns, as far as names allow.
[[nodiscard]] std::string text_of(const Explained& explained);

/// Pass it to Observable::observe().
class Explainer : public Observer {
 public:
  explicit Explainer(Observable observable);
  void on_view(const ViewChange& change) override;
  void on_assignment(const AssignmentNews& news) override;

  [[nodiscard]] bool told() const noexcept { return told_; }
  [[nodiscard]] bool knows_assigner() const noexcept {
    return view_.assignment().assigner() != nullptr;
  }
  [[nodiscard]] std::string text(const std::string& key, LocalTime now) const;
  /// What /v1/route answers.
  [[nodiscard]] std::string json(const std::string& key, LocalTime now) const;

 private:
  Observable observable_;
  admin::AdminView view_;
  std::vector<ObservedRoute> routes_;
  bool told_ = false;
};

}  // namespace neliroute::tool
