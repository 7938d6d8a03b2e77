#include "admin/control/route_wait.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace neliroute::admin {
namespace {

/// The server's strand, for a handler of the router. What arrives when the server is gone is
/// dropped; and it does not keep the server's executor busy, as a wait would that its router, which
/// has stopped, never ends.
class LooseStrand {
 public:
  explicit LooseStrand(RouteWait::WeakStrand strand) noexcept : strand_(std::move(strand)) {}

  template <class Function>
  void execute(Function&& function) const {
    if (const auto strand = strand_.lock()) {
      boost::asio::post(*strand, std::forward<Function>(function));
    }
  }
  friend bool operator==(const LooseStrand& a, const LooseStrand& b) noexcept {
    return !a.strand_.owner_before(b.strand_) && !b.strand_.owner_before(a.strand_);
  }
  friend bool operator!=(const LooseStrand& a, const LooseStrand& b) noexcept { return !(a == b); }

 private:
  RouteWait::WeakStrand strand_;
};

}  // namespace

void RouteWait::start(milliseconds limit) {
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error) return;
    self->cancelled_->emit(boost::asio::cancellation_type::terminal);
    self->finish({});
  });
}

AdminControl::RouteHandler RouteWait::handler(WeakStrand strand) {
  return boost::asio::bind_executor(
      LooseStrand(std::move(strand)),
      boost::asio::bind_cancellation_slot(
          cancelled_->slot(), [weak = weak_from_this(), kept = cancelled_](
                                  const boost::system::error_code& error, const Route&) {
            const auto self = weak.lock();
            if (self && error != boost::asio::error::operation_aborted) self->finish(error);
          }));
}

void RouteWait::cancel() {
  if (!std::exchange(done_, nullptr)) return;
  place_.reset();
  timer_.cancel();
  cancelled_->emit(boost::asio::cancellation_type::terminal);
}

void RouteWait::finish(boost::system::error_code error) {
  const Done done = std::exchange(done_, nullptr);
  if (!done) return;
  place_.reset();
  timer_.cancel();
  done(error);
}

}  // namespace neliroute::admin
