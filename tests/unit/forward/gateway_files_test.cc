// A gateway in a process that may have few files open: connections are files.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <deque>
#include <string>

#include "tests/unit/forward/gateway_rig.h"

#if defined(__has_feature)  // clang
#if __has_feature(undefined_behavior_sanitizer)
#define NEEDS_FILES_TO_CHECK
#endif
#endif

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using forward::ProxyCount;

/// Of this process, until the end of the test.
class FileLimit {
 public:
  FileLimit() { EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
  ~FileLimit() { lift(); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  void set(rlim_t files) {
    rlimit lowered = before_;
    lowered.rlim_cur = files;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  void lift() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST(FewFiles, are_enough_for_a_third_as_many_clients) {
  FileLimit limit;
  limit.set(150);
  GatewayRig rig;
  limit.lift();  // the callers are here, too
  Owner owner(rig.io, [](const OwnerRequest&) { return OwnerAnswer{}; });
  rig.directions.leads(owner.endpoint());
  ASSERT_EQ(rig.gateway->most_connections(), 50u);
  std::deque<Caller> callers;
  for (std::size_t i = 0; i < 38; ++i) {  // three quarters, as they come from one address
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    callers.back().send(get("/busy"));
    ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == i + 1; }));
  }
  EXPECT_EQ(status_of(rig.exchange(get())), 503u);
}

TEST(FewFiles, do_not_limit_who_is_content_with_fewer) {
  GatewayRigOptions options;
  options.front.connections = 7;
  EXPECT_EQ(GatewayRig(options).gateway->most_connections(), 7u);
}

// UBSan opens a pipe to look at an object, and blames the object if it cannot.
#ifndef NEEDS_FILES_TO_CHECK
TEST(FewFiles, are_no_fault_of_an_owner) {
  GatewayRig rig;
  Owner owner(rig.io, [](const OwnerRequest&) { return ok("served"); });
  rig.directions.leads(owner.endpoint());
  Caller caller = rig.call();
  ASSERT_TRUE(rig.run_until([&] { return rig.gateway->connections() == 1; }));
  FileLimit limit;
  limit.set(3);
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.count(ProxyCount::unreachable) > 0; }));
  EXPECT_TRUE(rig.directions.suspects.empty());
  limit.lift();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "served");
}

TEST(FewFiles, that_are_used_up_for_a_moment_do_not_end_the_accepting) {
  GatewayRig rig;
  Owner owner(rig.io, [](const OwnerRequest&) { return ok("served"); });
  rig.directions.leads(owner.endpoint());
  Caller caller = rig.call();  // the kernel has it; the gateway has not
  FileLimit limit;
  limit.set(3);
  rig.io.restart();
  rig.io.run_for(200ms);
  EXPECT_EQ(rig.gateway->connections(), 0u);
  limit.lift();
  caller.send(get());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "served");
}
#endif

}  // namespace
}  // namespace neliroute
