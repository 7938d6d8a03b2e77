// Names that are looked up while others hang, and threads that nobody waits for.
#include "admin/envoy/name_lookups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "admin/envoy/side_threads.h"

namespace neliroute::admin {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// Doors that threads wait at, by name. Shared, as a thread may be the last one.
class Doors {
 public:
  /// Whether it is open before very long.
  bool wait_at(const std::string& name) {
    std::unique_lock lock(mutex_);
    arrived_.push_back(name);
    changed_.notify_all();
    return changed_.wait_for(lock, 30s, [&] { return open_.contains(name); });
  }
  void open(const std::string& name) {
    const std::lock_guard lock(mutex_);
    open_.insert(name);
    changed_.notify_all();
  }
  void wait_arrived(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 30s, [&] { return arrived_.size() >= count; }));
  }
  [[nodiscard]] std::vector<std::string> arrived() {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> open_;
  std::vector<std::string> arrived_;
};

struct LookupRig {
  /// Each host is where its name says, once its door is open.
  FindIp names() { return names(io.get_executor()); }
  FindIp names(const boost::asio::any_io_executor& executor) {
    return find_names(executor, [doors = doors](const std::string& host) {
      return doors->wait_at(host) ? ResolvedName{host, {}} : ResolvedName{std::nullopt, "closed"};
    });
  }
  void ask(const FindIp& find, const std::string& host) {
    wanted.push_back(find(host, [this](std::optional<std::string> ip, const std::string& why) {
      answers.push_back(ip.value_or(why));
    }));
  }
  void run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!condition() && std::chrono::steady_clock::now() < end) io.run_one_for(1s);
    EXPECT_TRUE(condition());
  }

  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  std::shared_ptr<Doors> doors = std::make_shared<Doors>();
  std::vector<Wanted> wanted;
  std::vector<std::string> answers;
};

TEST(NameLookupsTest, AreNotHeldUpByOneThatHangs) {
  LookupRig rig;
  const FindIp find = rig.names();
  rig.ask(find, "dead");
  for (const char* host : {"a", "b", "c", "d", "e"}) {
    rig.doors->open(host);
    rig.ask(find, host);
  }
  rig.run_until([&] { return rig.answers.size() == 5; });
  EXPECT_THAT(rig.answers, UnorderedElementsAre("a", "b", "c", "d", "e"));
  rig.doors->open("dead");
  rig.run_until([&] { return rig.answers.size() == 6; });
}

TEST(NameLookupsTest, OfOneHostAreOne) {
  LookupRig rig;
  const FindIp find = rig.names();
  rig.ask(find, "a");
  rig.doors->wait_arrived(1);
  rig.ask(find, "a");
  rig.wanted[0].reset();
  rig.wanted[1].reset();  // and it goes on all the same
  rig.ask(find, "a");
  rig.ask(find, "a");
  rig.doors->open("a");
  rig.run_until([&] { return rig.answers.size() == 2; });
  EXPECT_THAT(rig.doors->arrived(), ElementsAre("a"));
  rig.ask(find, "a");
  rig.run_until([&] { return rig.answers.size() == 3; });
  EXPECT_THAT(rig.doors->arrived(), ElementsAre("a", "a")) << "it may have moved";
}

TEST(NameLookupsTest, ThatNobodyWantsAnyMoreAreSkipped) {
  LookupRig rig;
  const FindIp find = rig.names();
  const std::vector<std::string> dead{"1", "2", "3", "4"};
  for (const std::string& host : dead) rig.ask(find, host);
  rig.doors->wait_arrived(4);
  rig.ask(find, "unwanted");
  rig.wanted.pop_back();
  rig.ask(find, "last");
  for (const std::string& host : {std::string("unwanted"), std::string("last"), dead[0]}) {
    rig.doors->open(host);
  }
  rig.run_until([&] { return rig.answers.size() == 2; });
  EXPECT_THAT(rig.answers, UnorderedElementsAre("1", "last"));
  EXPECT_EQ(rig.doors->arrived().size(), 5u);
  for (const std::string& host : dead) rig.doors->open(host);
  rig.ask(find, "unwanted");
  rig.run_until([&] { return rig.answers.size() == 6; });
  EXPECT_EQ(rig.doors->arrived().back(), "unwanted") << "now somebody wants it";
}

// The last of a strand takes a lock of its io_context.
TEST(NameLookupsTest, HoldNobodyUpAtTheEnd) {
  const auto doors = std::make_shared<Doors>();
  {
    LookupRig rig;
    rig.doors = doors;
    FindIp find = rig.names(boost::asio::make_strand(rig.io));
    for (const char* host : {"1", "2", "3", "4", "5"}) rig.ask(find, host);
    doors->wait_arrived(4);
    const auto before = std::chrono::steady_clock::now();
    find = nullptr;
    rig.work.reset();
    rig.io.run();
    EXPECT_LT(std::chrono::steady_clock::now() - before, 10s) << "they would take 30 s";
    EXPECT_THAT(rig.answers, IsEmpty());
  }
  for (const char* host : {"1", "2", "3", "4"}) doors->open(host);  // there is no executor now
  EXPECT_EQ(doors->arrived().size(), 4u);
}

TEST(NameLookupsTest, BySystemPreferIpv4AndSayWhatIsWrong) {
  LookupRig rig;
  const FindIp find = find_names(rig.io.get_executor());
  rig.ask(find, "localhost");
  rig.run_until([&] { return rig.answers.size() == 1; });
  EXPECT_EQ(rig.answers[0], "127.0.0.1");
  EXPECT_EQ(resolve_by_system("a name with blanks").ip, std::nullopt);
  EXPECT_FALSE(resolve_by_system("a name with blanks").why.empty());
}

TEST(SideThreadsTest, MayBeGivenTimeToEnd) {
  LookupRig rig;
  SideThreads side(rig.io.get_executor(), 1);
  const auto held = std::make_shared<int>();
  bool told = false;
  side.run([doors = rig.doors, held, &told]() -> SideThreads::Then {
    doors->wait_at("a");
    return [&told] { told = true; };
  });
  side.run([doors = rig.doors]() -> SideThreads::Then {
    doors->wait_at("never");
    return nullptr;
  });
  rig.doors->wait_arrived(1);
  side.close(0ms);
  EXPECT_EQ(held.use_count(), 2);
  rig.doors->open("a");
  side.close(30s);
  EXPECT_EQ(held.use_count(), 1) << "nothing of it is left";
  EXPECT_THAT(rig.doors->arrived(), ElementsAre("a"));
  rig.io.poll();
  EXPECT_FALSE(told) << "nobody is there to be told";
}

}  // namespace
}  // namespace neliroute::admin
