// Guards of work that other programs began by `POST /v1/admit`, each until it is ended by its
// number, or its time is over: a program that dies must not hold up a hand-over for a whole lease.
//
// Threads: one (the server's strand).   Units: milliseconds.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <neliroute/time.h>
#include <neliroute/work.h>
#include <unordered_map>
#include <utility>

namespace neliroute::admin {

class HeldWorks : public std::enable_shared_from_this<HeldWorks> {
 public:
  /// `on_first_late` is called once, when the first guard outlives its time.
  HeldWorks(const boost::asio::any_io_executor& strand, std::size_t most, milliseconds each,
            std::function<void()> on_first_late)
      : timer_(strand), most_(most), each_(each), on_first_late_(std::move(on_first_late)) {}

  [[nodiscard]] bool full() const noexcept { return works_.size() >= most_; }
  [[nodiscard]] std::size_t size() const noexcept { return works_.size(); }
  /// How many outlived their time.
  [[nodiscard]] std::uint64_t late() const noexcept { return late_; }
  /// Not full. Its number is drawn at random: one of a process before this one is nobody's here.
  [[nodiscard]] std::uint64_t hold(Work work);
  /// False: there is none of that number, or none any more.
  [[nodiscard]] bool end(std::uint64_t number);
  /// Ends all.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct One {
    Work work;
    std::uint64_t number = 0;
    Clock::time_point until;
  };
  void arm();
  void end_late();

  boost::asio::steady_timer timer_;
  std::size_t most_;
  milliseconds each_;
  std::function<void()> on_first_late_;
  std::list<One> in_order_;  ///< the first to end first: all have the same time
  std::unordered_map<std::uint64_t, std::list<One>::iterator> works_;
  std::uint64_t late_ = 0;
};

}  // namespace neliroute::admin
