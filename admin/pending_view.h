// The changes of the view that are on their way to the server's strand: one change, into which
// later ones are merged until the strand takes it. So a strand that is blocked costs one view.
//
// Threads: any; no call waits for more than another one's copying.   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <mutex>
#include <neliroute/observer.h>
#include <utility>
#include <vector>

#include "admin/admin_view.h"

namespace neliroute::admin {

class PendingView {
 public:
  /// Whether nothing was pending, so that the caller must see to it that take() is called.
  [[nodiscard]] bool add(const ViewChange& change) {
    const std::lock_guard lock(mutex_);
    const bool first = is_empty();
    pending_.version = change.version;
    pending_.digest = change.digest;
    pending_.at = change.at;
    for (const ChangedRoute& one : change.routes) add(one);
    return first;
  }
  [[nodiscard]] bool add(const AssignmentNews& news) {
    const std::lock_guard lock(mutex_);
    const bool first = is_empty();
    if (!pending_.assignment) pending_.assignment.emplace();
    pending_.assignment->add(news);
    return first;
  }
  /// Of each partition that changed since the last call, its newest route, and of each
  /// member its newest state.
  [[nodiscard]] KeptChange take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(pending_, {});
  }

 private:
  [[nodiscard]] bool is_empty() const noexcept {
    return pending_.routes.empty() && !pending_.assignment;
  }
  void add(const ChangedRoute& one) {
    const std::size_t partition = one.partition.value();
    if (places_.size() <= partition) places_.resize(partition + 1);
    std::uint32_t& place = places_[partition];
    // What was taken since has left the place to another partition, or to none.
    if (place < pending_.routes.size() && pending_.routes[place].partition == one.partition) {
      pending_.routes[place] = one;
      return;
    }
    place = static_cast<std::uint32_t>(pending_.routes.size());
    pending_.routes.push_back(one);
  }

  std::mutex mutex_;
  KeptChange pending_;
  std::vector<std::uint32_t> places_;  ///< by partition, in pending_.routes
};

}  // namespace neliroute::admin
