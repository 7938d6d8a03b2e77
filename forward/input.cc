#include "forward/input.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/beast/core/error.hpp>
#include <utility>

namespace neliroute::forward {

void Input::more(const std::shared_ptr<void>& keeps, std::optional<milliseconds> limit, Then then) {
  then_ = std::move(then);
  until_ = limit ? Clock::now() + *limit : Clock::time_point::max();
  if (limit && (!armed_ || timer_.expiry() > until_)) await_limit(keeps);
  if (!reading_) read(keeps);
}

void Input::extend(const std::shared_ptr<void>& keeps, milliseconds limit) {
  if (!then_) return;
  until_ = Clock::now() + limit;
  if (!armed_ || timer_.expiry() > until_) await_limit(keeps);
}

void Input::pause(std::function<void()> then) {
  until_ = Clock::time_point::max();
  if (!reading_) return then();
  then_ = [then = std::move(then)](Error) { then(); };
  // The only kind that a stream with TLS heeds. One that has read something keeps it all the same.
  cancelled_.emit(boost::asio::cancellation_type::terminal);
}

void Input::read(std::shared_ptr<void> keeps) {
  reading_ = true;
  if (received.size() + kSize > kMost)
    return on_read(boost::beast::http::error::buffer_overflow, 0);
  // A long body is past, and there may be many of these.
  if (received.size() == 0 && received.capacity() > kSize) received.shrink_to_fit();
  // Without a limit: that is what the timer here is for.
  stream_.receive(
      received.prepare(kSize),
      boost::asio::bind_cancellation_slot(
          cancelled_.slot(), [this, keeps = std::move(keeps)](Error error, std::size_t count) {
            on_read(error, count);
          }));
}

void Input::on_read(Error error, std::size_t count) {
  reading_ = false;
  until_ = Clock::time_point::max();
  received.commit(count);
  if (late_) error = boost::beast::error::timeout;
  if (const Then then = std::exchange(then_, nullptr)) then(error);
}

// One wait serves many reads, as their limits are alike: it is not cancelled when one ends.
void Input::await_limit(std::weak_ptr<void> keeps) {
  armed_ = true;
  timer_.expires_at(until_);
  timer_.async_wait([this, keeps = std::move(keeps)](Error error) mutable {
    const auto alive = keeps.lock();
    if (error || !alive) return;
    armed_ = false;
    if (until_ == Clock::time_point::max()) return;
    if (Clock::now() < until_) return await_limit(std::move(keeps));
    late_ = true;
    stream_.close();
  });
}

}  // namespace neliroute::forward
