#include "ledgers/kafka/group/group_prompter.h"

#include <algorithm>
#include <utility>

namespace neliroute {
namespace {

constexpr milliseconds kPollFirst{5};
constexpr milliseconds kPollLast{250};

}  // namespace

GroupPrompter::GroupPrompter(boost::asio::any_io_executor strand, GroupMember& member,
                             std::function<void()> joined)
    : delay_(strand),
      poll_timer_(strand),
      member_(&member),
      joined_(std::move(joined)),
      random_(std::random_device{}()) {}

void GroupPrompter::expedite(milliseconds within) {
  if (waiting_ || member_ == nullptr) return;
  waiting_ = true;
  const std::int64_t most = std::max<std::int64_t>(microseconds{within}.count(), 0);
  std::uniform_int_distribution<std::int64_t> draw(0, most);
  delay_.expires_after(microseconds{draw(random_)});
  delay_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->member_ == nullptr) return;
    self->waiting_ = false;
    self->member_->subscribe_again();
  });
}

void GroupPrompter::await_membership() {
  pause_ = kPollFirst;
  poll();
}

// Joining takes a few round trips, or longer if the coordinator cannot be reached.
void GroupPrompter::poll() {
  if (member_ == nullptr) return;
  poll_timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, kPollLast);
  poll_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->member_ == nullptr) return;
    if (!self->member_->is_counted()) return self->poll();
    self->joined_();
  });
}

void GroupPrompter::stop() {
  member_ = nullptr;
  delay_.cancel();
  poll_timer_.cancel();
}

}  // namespace neliroute
