// Admission: what a process does with a request that came to it, rightly or not.
//
//   neliroute::Admission admitted = router.admit(slot, request.epoch, request.hops);
//   switch (admitted.answer()) {
//     case Admit::serve: store(admitted.epoch()); break;  // its guard lives as long as it does
//     case Admit::redirect: to(admitted.endpoint(), admitted.epoch(), request.hops + 1); break;
//     case Admit::wait: router.async_route_after(...); break;
//     case Admit::refuse: answer(508); break;
//   }
//
// The caller's epoch is the one that sent it here: of its lookup, or of the redirect that it obeys.
// A redirect names a greater epoch than the request came with, so a request is never sent in a
// circle; and it is sent at most RouterOptions::hop_limit times.
//
// Threads: a value, which may be moved to any thread, one at a time.   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/work.h>
#include <string_view>
#include <utility>

namespace neliroute {

enum class Admit : std::uint8_t {
  serve,     ///< this process leads the slot: work has begun
  redirect,  ///< another process does, under a greater epoch than the caller's
  wait,      ///< nothing newer is known than what the caller knows: see async_route_after()
  refuse,    ///< it has been sent on too often, or this process has closed
};

[[nodiscard]] std::string_view to_string(Admit answer) noexcept;
std::ostream& operator<<(std::ostream& out, Admit answer);

class [[nodiscard]] Admission {
 public:
  /// Serve.
  explicit Admission(Work work, bool stale = false) noexcept
      : work_(std::move(work)),
        stale_(stale),
        partition_(work_.partition()),
        epoch_(work_.epoch()) {}
  /// Anything else. `route` stands for what is known.
  Admission(Admit answer, const Route& route) noexcept
      : answer_(answer),
        suspected_(route.suspected),
        stale_(route.stale),
        partition_(route.partition),
        owner_(route.owner_info),
        epoch_(route.epoch) {}

  [[nodiscard]] Admit answer() const noexcept { return answer_; }
  /// Serve.
  [[nodiscard]] explicit operator bool() const noexcept { return answer_ == Admit::serve; }
  [[nodiscard]] Partition partition() const noexcept { return partition_; }
  /// Serve: what a store should compare. Redirect: what to send on with the request.
  [[nodiscard]] const Epoch& epoch() const noexcept { return epoch_; }
  /// Redirect: who leads, and where. Valid as long as a Route's.
  [[nodiscard]] std::string_view owner() const noexcept {
    return owner_ ? std::string_view(owner_->name) : std::string_view();
  }
  [[nodiscard]] std::string_view endpoint() const noexcept {
    return owner_ ? std::string_view(owner_->endpoint) : std::string_view();
  }
  /// Redirect: a caller could not reach that owner, as Route::suspected has it.
  [[nodiscard]] bool suspected() const noexcept { return suspected_; }
  /// Serve, redirect: the owner serves on while its log is silent, as Route::stale has it.
  [[nodiscard]] bool stale() const noexcept { return stale_; }
  /// Serve: the guard. No work otherwise.
  [[nodiscard]] Work& work() noexcept { return work_; }

 private:
  Work work_;
  Admit answer_ = Admit::serve;
  bool suspected_ = false;
  bool stale_ = false;
  Partition partition_;
  const ProcessInfo* owner_ = nullptr;
  Epoch epoch_ = kNoEpoch;
};

}  // namespace neliroute
