// Sends a member's next heartbeat early, and detects when the group counts it as a member.
//
// Consumer protocol only. librdkafka sends a heartbeat at once when the subscription changes, also
// when it changes to the same list. It reports nothing when a member has joined and was assigned
// nothing, so this polls it for the member's epoch.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <neliroute/time.h>
#include <random>

#include "ledgers/kafka/group/group_member.h"

namespace neliroute {

class GroupPrompter : public std::enable_shared_from_this<GroupPrompter> {
 public:
  /// `member` outlives stop().
  GroupPrompter(boost::asio::any_io_executor strand, GroupMember& member,
                std::function<void()> joined);

  /// After a random delay of at most `within`. Calls during the delay are one.
  void expedite(milliseconds within);
  /// A membership begins: `joined` is called once the group knows it.
  void await_membership();
  void stop();

 private:
  void poll();

  boost::asio::steady_timer delay_;
  boost::asio::steady_timer poll_timer_;
  GroupMember* member_;
  std::function<void()> joined_;
  std::minstd_rand random_;
  milliseconds pause_{0};
  bool waiting_ = false;
};

}  // namespace neliroute
