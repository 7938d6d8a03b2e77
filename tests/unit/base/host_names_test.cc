// Names that are looked up while others hang, on a system that answers as a test likes.
#include "base/host_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/base/doors.h"

namespace neliroute {
namespace {

using boost::system::error_code;
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
namespace error = boost::asio::error;

/// Where hosts are: nowhere, unless it was said. A lookup of a host ends when its door is open.
class System {
 public:
  void say(const std::string& host, const std::string& ip) {
    const std::lock_guard lock(mutex_);
    hosts_[host] = ip;
  }
  HostNames::Addresses resolve(const std::string& host, error_code& failed) {
    doors.wait_at(host);
    const std::lock_guard lock(mutex_);
    const std::string ip = hosts_[host];
    if (!ip.empty()) return {boost::asio::ip::make_address(ip)};
    failed = error::host_not_found;
    return {};
  }
  Doors doors;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> hosts_;
};

struct HostNamesTest : testing::Test {
  std::unique_ptr<HostNames> names(HostNameLimits limits = {}) { return names(limits, io); }
  template <class Executor>
  std::unique_ptr<HostNames> names(HostNameLimits limits, Executor&& executor) {
    return std::make_unique<HostNames>(
        std::forward<Executor>(executor), limits,
        [system = system](const std::string& host, error_code& failed) {
          return system->resolve(host, failed);
        });
  }
  std::unique_ptr<HostNames> names(HostNameLimits limits, boost::asio::io_context& of) {
    return names(limits, of.get_executor());
  }
  void ask(HostNames& names, const std::string& host) {
    const std::size_t before = answers.size();
    names.find(host, [this](const error_code& failed, const HostNames::Addresses& found) {
      answers.push_back(failed ? failed.message() : found.at(0).to_string());
    });
    EXPECT_EQ(answers.size(), before) << "never from inside";
  }
  /// What the only answer is that comes.
  std::string answer(HostNames& names, const std::string& host) {
    answers.clear();
    ask(names, host);
    run_until_answers(1);
    return answers.at(0);
  }
  void run_until_answers(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (answers.size() < count && std::chrono::steady_clock::now() < end) io.run_one_for(1s);
    ASSERT_EQ(answers.size(), count);
  }
  [[nodiscard]] std::vector<std::string> lookups() const { return system->doors.arrived(); }

  const std::string nowhere = error_code(error::host_not_found).message();
  std::shared_ptr<System> system = std::make_shared<System>();
  std::vector<std::string> answers;
  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
};

TEST_F(HostNamesTest, AreNotHeldUpByOneWhoseServerNeverAnswers) {
  const auto all = names();
  system->doors.close("dead");
  ask(*all, "dead");
  system->say("a", "10.0.0.1");
  system->say("b", "10.0.0.2");
  ask(*all, "a");
  ask(*all, "b");
  run_until_answers(2);
  EXPECT_THAT(answers, UnorderedElementsAre("10.0.0.1", "10.0.0.2"));
  system->doors.open("dead");
  run_until_answers(3);
  EXPECT_EQ(answers[2], nowhere);
}

TEST_F(HostNamesTest, OfOneHostAreLookedUpOnce) {
  const auto all = names();
  system->say("a", "10.0.0.1");
  system->doors.close("a");
  ask(*all, "a");
  system->doors.wait_arrived(1);
  ask(*all, "a");
  system->doors.open("a");
  run_until_answers(2);
  ask(*all, "a");
  run_until_answers(3);
  EXPECT_THAT(answers, Each("10.0.0.1"));
  EXPECT_THAT(lookups(), ElementsAre("a")) << "it is remembered";
}

TEST_F(HostNamesTest, OfAThousandHostsAreLookedUpAFewAtATime) {
  const auto all = names();
  constexpr std::size_t kHosts = 1000;
  std::vector<std::string> hosts;
  for (std::size_t n = 0; n < kHosts; ++n) hosts.push_back("h" + std::to_string(n));
  for (const std::string& host : hosts) {
    system->doors.close(host);
    ask(*all, host);
  }
  system->doors.wait_arrived(HostNameLimits{}.lookups);
  for (const std::string& host : hosts) system->doors.open(host);
  run_until_answers(kHosts);
  EXPECT_EQ(system->doors.most(), HostNameLimits{}.lookups);
  EXPECT_THAT(lookups(), testing::UnorderedElementsAreArray(hosts));
}

TEST_F(HostNamesTest, StayWhereTheyWereWhileNoServerAnswers) {
  const auto all = names({.fresh = 0ms, .patience = 10ms, .failed = 0ms});
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  system->doors.close("a");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1") << "after a while";
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1") << "at once";
  system->doors.wait_arrived(2);  // nobody waited for the second lookup to begin
  EXPECT_EQ(lookups().size(), 2u);
  system->say("a", "");
  system->doors.open("a");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1") << "the name is unknown for now";
}

TEST_F(HostNamesTest, ThatWereFoundTooLongAgoAreNowhere) {
  const auto all = names({.fresh = 0ms, .kept = 10ms, .patience = 20ms, .failed = 0ms});
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  answers.clear();
  system->say("a", "");
  system->doors.close("a");
  ask(*all, "a");
  io.run_for(40ms);
  EXPECT_THAT(answers, IsEmpty());
  system->doors.open("a");
  run_until_answers(1);
  EXPECT_EQ(answers[0], nowhere);
}

TEST_F(HostNamesTest, ThatAreNotKeptFailAtOnce) {
  const auto all = names({.fresh = 0ms, .kept = 0ms, .patience = 0ms, .failed = 0ms});
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  system->say("a", "");
  EXPECT_EQ(answer(*all, "a"), nowhere);
}

TEST_F(HostNamesTest, ThatFailedAreNotAskedForAtOnceAgain) {
  const auto all = names({.failed = 1h});
  EXPECT_EQ(answer(*all, "a"), nowhere);
  EXPECT_EQ(answer(*all, "a"), nowhere);
  EXPECT_THAT(lookups(), ElementsAre("a"));
}

TEST_F(HostNamesTest, ThatFailedAreFoundLater) {
  const auto all = names({.failed = 0ms});
  EXPECT_EQ(answer(*all, "a"), nowhere);
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
}

TEST_F(HostNamesTest, ThatMovedAreFoundOnceTheyAreNotFresh) {
  const auto all = names({.fresh = 0ms, .patience = 1h});
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  system->say("a", "10.0.0.2");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.2");
}

TEST_F(HostNamesTest, ThatMovedAreFoundOnceTheyAreDoubted) {
  const auto all = names({.fresh = 1h, .patience = 1h});
  system->say("a", "10.0.0.1");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  system->say("a", "10.0.0.2");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.1");
  all->doubt("a");
  all->doubt("unknown");
  EXPECT_EQ(answer(*all, "a"), "10.0.0.2");
}

TEST_F(HostNamesTest, ThatAreClosedCallNobody) {
  const auto all = names();
  EXPECT_EQ(answer(*all, "known"), nowhere);
  answers.clear();
  system->doors.close("a");
  ask(*all, "a");
  system->doors.wait_arrived(2);
  ask(*all, "known");  // its answer is on its way
  all->close();
  ask(*all, "a");
  ask(*all, "b");
  system->doors.open("a");
  work.reset();
  io.run();
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_THAT(lookups(), ElementsAre("known", "a"));
}

// The last of a strand takes a lock of its io_context.
TEST_F(HostNamesTest, HoldNobodyUpAtTheEnd) {
  std::vector<std::string> hosts;
  for (int n = 0; n < 9; ++n) hosts.push_back("h" + std::to_string(n));
  for (const std::string& host : hosts) system->doors.close(host);
  {
    boost::asio::io_context own;
    auto all = names({}, boost::asio::make_strand(own));
    for (const std::string& host : hosts) ask(*all, host);
    system->doors.wait_arrived(8);
    all.reset();
    own.run();
    EXPECT_THAT(answers, IsEmpty());
  }
  // They did not end before; and there is no executor now.
  for (const std::string& host : hosts) system->doors.open(host);
  EXPECT_EQ(lookups().size(), 8u);
}

TEST_F(HostNamesTest, BySystemAreThoseOfItsFiles) {
  HostNames all(io.get_executor());
  std::vector<std::string> found;
  all.find("localhost", [&](const error_code& failed, const HostNames::Addresses& addresses) {
    answers.push_back(failed.message());
    for (const auto& address : addresses) found.push_back(address.to_string());
  });
  run_until_answers(1);
  EXPECT_THAT(found, Contains("127.0.0.1"));
  error_code failed;
  EXPECT_THAT(HostNames::by_system("a name with blanks", failed), IsEmpty());
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace neliroute
