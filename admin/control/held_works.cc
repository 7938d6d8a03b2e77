#include "admin/control/held_works.h"

#include <iterator>
#include <limits>
#include <random>

namespace neliroute::admin {

std::uint64_t HeldWorks::hold(Work work) {
  std::random_device source;
  std::uniform_int_distribution<std::uint64_t> any(1, std::numeric_limits<std::uint64_t>::max());
  std::uint64_t number = any(source);
  while (works_.contains(number)) number = any(source);
  in_order_.push_back({std::move(work), number, Clock::now() + each_});
  works_.emplace(number, std::prev(in_order_.end()));
  if (in_order_.size() == 1) arm();
  return number;
}

bool HeldWorks::end(std::uint64_t number) {
  const auto found = works_.find(number);
  if (found == works_.end()) return false;
  in_order_.erase(found->second);
  works_.erase(found);
  return true;
}

void HeldWorks::close() {
  timer_.cancel();
  works_.clear();
  in_order_.clear();
}

// The timer is not moved when a guard ends: it looks, and waits on.
void HeldWorks::arm() {
  timer_.expires_at(in_order_.front().until);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->end_late();
  });
}

void HeldWorks::end_late() {
  const auto now = Clock::now();
  while (!in_order_.empty() && in_order_.front().until <= now) {
    works_.erase(in_order_.front().number);
    in_order_.pop_front();
    if (++late_ == 1) on_first_late_();
  }
  if (!in_order_.empty()) arm();
}

}  // namespace neliroute::admin
