// Has a member's next heartbeat sent early, and notices when the group counts it as a member.
//
// Consumer protocol only. librdkafka sends a heartbeat at once when the subscription changes, also
// to the same list, which changes nothing. And it says nothing of a member that has joined and was
// given nothing, so it is asked for the member's epoch until there is one.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <neliroute/time.h>
#include <random>

#include "kafka/group/group_member.h"

namespace neliroute {

class GroupPrompter : public std::enable_shared_from_this<GroupPrompter> {
 public:
  /// `member` outlives stop().
  GroupPrompter(boost::asio::any_io_executor strand, GroupMember& member,
                std::function<void()> joined);

  /// After a random delay of at most `within`. One that is under way will do for this, too.
  void expedite(milliseconds within);
  /// A membership begins: `joined` is called once the group knows of it.
  void await_membership();
  void stop();

 private:
  void look();

  boost::asio::steady_timer delay_;
  boost::asio::steady_timer poll_;
  GroupMember* member_;
  std::function<void()> joined_;
  std::minstd_rand random_;
  milliseconds pause_{0};
  bool waiting_ = false;
};

}  // namespace neliroute
