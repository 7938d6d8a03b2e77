// What waits to be stored, in its order: what waits for too long has failed.
//
// `Entry` has a `number` of no other entry, its `seq`, and when it is `due` to fail; entries are
// due in their order.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <neliroute/clock.h>
#include <neliroute/time.h>
#include <optional>
#include <utility>

namespace neliroute {

/// `position`: none, if it failed.
using Written = std::function<void(std::uint64_t seq, std::optional<std::int64_t> position)>;

template <class Entry>
class WriteQueue {
 public:
  explicit WriteQueue(boost::asio::any_io_executor strand) : overdue_(std::move(strand)) {}

  void start(Written written) { written_ = std::move(written); }
  void push(Entry entry) {
    entries_.push_back(std::move(entry));
    if (entries_.size() == 1) arm();
  }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] const std::deque<Entry>& entries() const noexcept { return entries_; }
  /// Whether that one is the first.
  [[nodiscard]] bool waits(std::uint64_t number) const {
    return !entries_.empty() && entries_.front().number == number;
  }
  /// If it still waits, as the first: else it was late, and has failed.
  void answer(std::uint64_t number, std::optional<std::int64_t> position) {
    if (waits(number)) answer_first(position);
  }
  /// Nobody is answered any more.
  void close() {
    written_ = nullptr;
    entries_.clear();
    overdue_.cancel();
  }

 private:
  void answer_first(std::optional<std::int64_t> position) {
    const std::uint64_t seq = entries_.front().seq;
    entries_.pop_front();
    arm();
    const Written written = written_;  // which may close this
    if (written) written(seq, position);
  }
  void fail_overdue() {
    while (!entries_.empty() && entries_.front().due <= boot_now()) answer_first(std::nullopt);
    arm();
  }
  void arm() {
    if (entries_.empty()) {
      overdue_.cancel();
      return;
    }
    overdue_.expires_after(std::max(entries_.front().due - boot_now(), microseconds{0}));
    overdue_.async_wait(
        [this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
          if (!error && !alive.expired()) fail_overdue();
        });
  }

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::steady_timer overdue_;  ///< when the first has failed
  std::deque<Entry> entries_;
  Written written_;
};

}  // namespace neliroute
