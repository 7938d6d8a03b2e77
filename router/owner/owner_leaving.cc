// OwningReader: how it leaves: when it begins to hand over, and until when it waits for those who
// take over.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "router/owner/owning_reader.h"

namespace neliroute {
namespace {

// Part of a planned leave's bound that is reserved for a ledger that does not answer: to wait for
// the releases, to close, and to end its clients. One that answers takes some milliseconds of it.
constexpr milliseconds kSilentReserve{2500};
constexpr milliseconds kSilentClose{2000};
constexpr milliseconds kSilentEnd{1000};
// A ledger that answered nothing for three intervals, or for this, is silent.
constexpr milliseconds kSilentLeast{500};
// How long a planned leave waits for the number of other members.
constexpr milliseconds kCountBound{1000};
// How often it checks whether they are still members, and how often in a row they must not be: a
// coordinator that has just taken over may not know them yet.
constexpr milliseconds kCountAgain{200};
constexpr int kNobodyInARow = 6;
// An executor that runs its timer later than this was blocked, and still has to handle what the
// ledger received meanwhile.
constexpr milliseconds kTimerLate{100};

}  // namespace

void OwningReader::begin_drain(milliseconds bound) {
  const LocalTime now = clock_();
  drained_by_ = std::min(drained_by_, later(now, bound));
  look_at_drain_ = drained_by_ - std::min(kSilentReserve, bound / 2);
  if (closing_ || bound.count() <= 0) return request_close(drained_by_);
  close_unless_alone(bound);
}

LocalTime OwningReader::close_bound() const { return drained_by_ - kSilentEnd; }

// Nothing can be handed over through a ledger that does not answer, and ending it takes time.
void OwningReader::stop_draining_if_silent(LocalTime now) {
  if (now < look_at_drain_) return;
  if (now > later(look_at_drain_, kTimerLate) && now < drained_by_) {
    look_at_drain_ = later(now, kTimerLate);
    return arm();
  }
  look_at_drain_ = kNever;
  const microseconds silence = std::max(3 * interval_, kSilentLeast);
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    const LocalTime at = directory_.last_answer(Log{l});
    if (at != kLongAgo && now - at <= silence) return;
  }
  request_close(now);
}

// Alone, a process has nobody to hand over to, and the bound would pass in vain. So the group is
// queried before leaving; without a prompt answer, other members are assumed.
void OwningReader::close_unless_alone(milliseconds bound) {
  closing_ = true;
  auto limit = std::make_shared<boost::asio::steady_timer>(strand_);
  limit->expires_after(std::min(bound, kCountBound));
  // The wait owns the timer: an answer that arrives after the end must not touch the executor's.
  limit->async_wait([weak = weak(), limit](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->leave();
  });
  count_others([weak = weak(), waiting = std::weak_ptr(limit)](
                   std::optional<std::size_t> others) {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::post(self->strand_, [self, waiting, others] {
      // It is over, or about to be: the close was requested without this answer.
      const auto timer = waiting.lock();
      if (!timer || timer->cancel() == 0) return;
      self->is_alone(others) ? self->request_close(self->clock_()) : self->leave();
    });
  });
}

// Whoever assigns knows who there is: the group, or the members' records.
void OwningReader::count_others(std::function<void(std::optional<std::size_t>)> answer) {
  const auto others = core_->other_members();
  if (others) return answer(others);
  group_ != nullptr ? group_->count_others(std::move(answer)) : answer(std::nullopt);
}

// Whatever the group answers: a process that leads exists, unless it is leaving as well.
bool OwningReader::is_alone(std::optional<std::size_t> others) const {
  return others == std::size_t{0} && !directory_.others_lead(self_->id);
}

void OwningReader::leave() {
  request_close(drained_by_);
  if (!closed_) close_when_nobody_is_left(0);
}

// If all leave at once, each would wait for the others to take over until its bound ends. A member
// without a partition writes nothing to the logs, so the group is queried: once all have left, it
// has no member.
void OwningReader::close_when_nobody_is_left(int in_a_row) {
  if (in_a_row == kNobodyInARow) return request_close(clock_());
  count_again_.expires_after(kCountAgain);
  const auto count = [weak = weak(), in_a_row](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->closed_) return;
    self->count_others([weak, in_a_row](std::optional<std::size_t> others) {
      const auto owner = weak.lock();
      if (!owner) return;
      boost::asio::post(owner->strand_, [owner, others, in_a_row] {
        if (owner->closed_) return;
        owner->close_when_nobody_is_left(owner->is_alone(others) ? in_a_row + 1 : 0);
      });
    });
  };
  count_again_.async_wait(count);
}

void OwningReader::request_close(LocalTime until) {
  if (closed_) return;
  closing_ = true;
  const bool bounded = drained_by_ != kNever;
  on_event(CloseRequested{until, bounded ? drained_by_ - kSilentClose : kNever}, clock_());
}

}  // namespace neliroute
