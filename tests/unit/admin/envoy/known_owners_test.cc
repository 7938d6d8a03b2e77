// Which owners an Envoy is told of, and what becomes of names.
#include "admin/envoy/known_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace neliroute::admin {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::nullopt_t kNone = std::nullopt;
const SocketAddress kA{"10.0.0.1", 80};
const SocketAddress kB{"10.0.0.2", 80};

struct Asked {
  std::string host;
  HostNames::Found found;
};

/// Four partitions, and a resolver that answers when the test says so.
struct Rig {
  explicit Rig(OwnerTimes times = {1h, 1h, 1h, 1h}, bool begins = true)
      : owners(
            io.get_executor(), 4,
            {[this] { ++changes; }, [this](const std::string& text) { reports.push_back(text); }},
            [this, kept = finder](const std::string& host, HostNames::Found found) {
              asked.push_back({host, std::move(found)});
            },
            times) {
    if (begins) owners.begin();
  }

  void tell(const std::vector<std::uint32_t>& partitions, Verdict verdict,
            const std::string& endpoint = {}) {
    std::vector<ChangedRoute> routes;
    for (const std::uint32_t p : partitions) {
      ObservedRoute route;
      route.verdict = verdict;
      if (verdict == Verdict::remote || verdict == Verdict::local) {
        route.owner = std::make_shared<const Peer>(Peer{ProcessId{1}, {"p", endpoint, {}}});
      }
      routes.push_back({Partition{p}, route});
    }
    owners.take(routes);
  }
  void own(const std::vector<std::uint32_t>& partitions, const std::string& endpoint) {
    tell(partitions, Verdict::remote, endpoint);
  }
  /// Says where the host of that lookup is.
  void answer(std::size_t lookup, const std::vector<std::string>& ips) {
    HostNames::Addresses addresses;
    for (const std::string& ip : ips) addresses.push_back(boost::asio::ip::make_address(ip));
    const auto found = asked.at(lookup).found;  // it may ask again
    found({}, addresses);
  }
  void answer_nowhere(std::size_t lookup) {
    const auto found = asked.at(lookup).found;
    found(boost::asio::error::host_not_found, {});
  }
  void run_for(std::chrono::milliseconds time) {
    io.restart();
    io.run_for(time);
  }
  void run_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_for(1s);
    }
    EXPECT_TRUE(condition());
  }

  boost::asio::io_context io;
  int changes = 0;
  std::vector<std::string> reports;
  std::vector<Asked> asked;
  std::shared_ptr<int> finder = std::make_shared<int>();  ///< shared while lookups may call back
  KnownOwners owners;
};

TEST(KnownOwnersTest, are_settled_once_every_partition_is_known) {
  Rig rig;
  EXPECT_FALSE(rig.owners.settled());
  rig.own({0, 1}, "10.0.0.1:80");
  EXPECT_TRUE(rig.owners.has_owner());
  EXPECT_FALSE(rig.owners.settled());
  rig.tell({2}, Verdict::unowned);
  rig.tell({3}, Verdict::unknown);
  EXPECT_FALSE(rig.owners.settled());
  EXPECT_EQ(rig.changes, 1);
  rig.tell({3}, Verdict::unowned);
  EXPECT_TRUE(rig.owners.settled());
  EXPECT_EQ(rig.changes, 2) << "settled is one, too";
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kA, kA, kNone, kNone));
}

TEST(KnownOwnersTest, stay_until_the_next_is_known) {
  Rig rig;
  rig.tell({0, 1, 2, 3}, Verdict::local, "10.0.0.1:80");
  const auto version = rig.owners.version();
  rig.tell({0}, Verdict::unowned);
  rig.tell({1}, Verdict::unknown);
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kA, kA, kA, kA));
  EXPECT_EQ(rig.changes, 1);
  EXPECT_EQ(rig.owners.version(), version);
  rig.own({0}, "10.0.0.2:80");
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kA, kA, kA));
  EXPECT_EQ(rig.changes, 2);
  EXPECT_GT(rig.owners.version(), version);
  rig.own({0, 2}, "10.0.0.2:80");
  rig.own({2}, "10.0.0.1:80");
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kA, kA, kA));
}

TEST(KnownOwnersTest, of_before_this_process_stay_too) {
  Rig rig;
  rig.owners.remember({kB, kB, kNone, kNone});
  EXPECT_FALSE(rig.owners.has_owner()) << "this process knows none";
  rig.tell({0, 1, 2}, Verdict::unowned);
  rig.own({3}, "10.0.0.1:80");
  EXPECT_TRUE(rig.owners.settled());
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kB, kNone, kA));
  Rig same;
  same.owners.remember({kA, kA, kA, kA});
  same.own({0, 1, 2, 3}, "10.0.0.1:80");
  EXPECT_TRUE(same.owners.has_owner());
  EXPECT_EQ(same.changes, 1) << "now it is known that they are right";
}

TEST(KnownOwnersTest, are_told_of_beside_their_successors_for_a_while) {
  Rig rig;
  rig.own({0, 1}, "10.0.0.1:80");
  EXPECT_EQ(rig.owners.former_of(Partition{0}, kA), kNone);
  EXPECT_EQ(rig.owners.former_of(Partition{0}, kB), kA) << "who was not told to be the owner yet";
  rig.own({0}, "10.0.0.2:80");
  EXPECT_EQ(rig.owners.former_of(Partition{0}, kB), kA);
  EXPECT_EQ(rig.owners.former_of(Partition{1}, kA), kNone);
  Rig later({1h, 1h, 1h, 0ms});
  later.own({0}, "10.0.0.1:80");
  later.own({0}, "10.0.0.2:80");
  EXPECT_EQ(later.owners.former_of(Partition{0}, kB), kNone);
}

TEST(KnownOwnersTest, with_names_are_told_once_those_are_resolved) {
  Rig rig;
  rig.own({0, 1}, "alpha.example:80");
  rig.own({2, 3}, "10.0.0.2:80");
  ASSERT_EQ(rig.asked.size(), 1u) << "once, for however many partitions";
  EXPECT_EQ(rig.asked[0].host, "alpha.example");
  EXPECT_FALSE(rig.owners.settled());
  EXPECT_EQ(rig.owners.address_of("alpha.example:80"), kNone);
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kNone, kNone, kB, kB));
  rig.answer(0, {"10.0.0.1"});
  EXPECT_TRUE(rig.owners.settled());
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kA, kA, kB, kB));
  EXPECT_EQ(rig.owners.address_of("alpha.example:80"), kA);
  EXPECT_EQ(rig.owners.address_of("10.0.0.1:80"), kA) << "an address needs nobody";
  EXPECT_EQ(rig.owners.address_of("beta.example:80"), kNone);
  EXPECT_THAT(rig.reports, IsEmpty());
}

TEST(KnownOwnersTest, whose_name_is_not_resolved_in_time_are_reported_by_name) {
  Rig rig({1ms, 1ms, 1h, 1h});
  rig.own({0, 1, 2, 3}, "10.0.0.2:80");
  rig.own({0}, "alpha.example:80");
  EXPECT_FALSE(rig.owners.settled());
  rig.run_until([&] { return !rig.reports.empty(); });
  EXPECT_TRUE(rig.owners.settled()) << "nobody waits for it any longer";
  EXPECT_THAT(rig.reports[0], HasSubstr("\"alpha.example:80\""));
  EXPECT_THAT(rig.reports[0], HasSubstr("within 1 ms"));
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kB, kB, kB)) << "who it was before";
}

TEST(KnownOwnersTest, are_asked_for_once_at_a_time_and_late_answers_count) {
  Rig rig({1ms, 1ms, 1h, 1h});
  rig.own({0, 1, 2, 3}, "alpha.example:80");
  rig.run_until([&] { return rig.reports.size() == 1; });
  rig.run_for(50ms);  // often enough for another lookup
  EXPECT_EQ(rig.asked.size(), 1u) << "as the first one is under way";
  const int changes = rig.changes;
  rig.answer(0, {"10.0.0.1"});
  EXPECT_EQ(rig.changes, changes + 1);
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kA, kA, kA, kA));
  EXPECT_EQ(rig.reports.size(), 1u);
  rig.own({0, 1, 2, 3}, "beta.example:80");
  rig.run_until([&] { return rig.reports.size() == 2; });
  rig.answer_nowhere(1);
  rig.run_until([&] { return rig.asked.size() == 3; });
  EXPECT_EQ(rig.reports.size(), 2u) << "once, however often it is tried";
}

TEST(KnownOwnersTest, that_are_not_listed_any_more_are_not_looked_up) {
  Rig rig({1h, 1ms, 1h, 1h});
  rig.own({0, 1, 2, 3}, "alpha.example:80");
  rig.own({0, 1, 2, 3}, "10.0.0.2:80");
  rig.run_for(20s);  // ends at once, as no timer is left
  rig.answer(0, {"10.0.0.1"});
  EXPECT_EQ(rig.owners.address_of("alpha.example:80"), kNone);
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kB, kB, kB));
  EXPECT_EQ(rig.asked.size(), 1u);
}

TEST(KnownOwnersTest, with_many_addresses_are_told_by_an_ipv4_that_all_understand) {
  Rig rig;
  rig.own({0}, "alpha.example:80");
  rig.own({1}, "beta.example:80");
  rig.own({2}, "gamma.example:80");
  rig.answer(0, {"2001:db8::1", "10.0.0.1", "10.0.0.2"});
  rig.answer(1, {"2001:db8::1", "2001:db8::2"});
  rig.answer(2, {"fe80::1%1"});
  EXPECT_EQ(rig.owners.address_of("alpha.example:80"), kA);
  EXPECT_EQ(rig.owners.address_of("beta.example:80"), (SocketAddress{"2001:db8::1", 80}));
  EXPECT_EQ(rig.owners.address_of("gamma.example:80"), kNone);
  EXPECT_THAT(rig.reports, ElementsAre(HasSubstr("on this machine only")));
}

TEST(KnownOwnersTest, are_resolved_again_as_a_name_may_move) {
  Rig rig({1h, 1ms, 1ms, 1h});
  rig.own({0, 1, 2, 3}, "alpha.example:80");
  rig.answer(0, {"10.0.0.1"});
  rig.run_until([&] { return rig.asked.size() == 2; });
  rig.answer(1, {"10.0.0.1"});
  EXPECT_EQ(rig.changes, 1) << "it did not move";
  rig.run_until([&] { return rig.asked.size() == 3; });
  rig.answer_nowhere(2);
  EXPECT_EQ(rig.changes, 1) << "a server of names that fails changes nothing";
  EXPECT_THAT(rig.reports, ElementsAre(HasSubstr("Host not found")));
  rig.run_until([&] { return rig.asked.size() == 4; });
  rig.answer(3, {"10.0.0.2"});
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kB, kB, kB, kB));
}

TEST(KnownOwnersTest, that_no_one_can_connect_to_are_reported) {
  Rig rig;
  rig.own({0, 1}, "10.0.0.1:80");
  rig.own({1}, "no port");
  rig.own({2}, "");
  rig.own({3}, "");
  rig.own({1}, "no port");
  EXPECT_TRUE(rig.owners.settled());
  EXPECT_THAT(rig.owners.addresses(), ElementsAre(kA, kA, kNone, kNone));
  EXPECT_THAT(rig.reports, ElementsAre(HasSubstr("\"no port\""), HasSubstr("\"\"")));
  EXPECT_THAT(rig.asked, IsEmpty());
}

TEST(KnownOwnersTest, trouble_nobody_until_they_are_wanted) {
  Rig rig({1h, 1h, 1h, 1h}, /*begins=*/false);
  rig.own({0, 1}, "alpha.example:80");
  rig.own({2, 3}, "no port");
  EXPECT_THAT(rig.asked, IsEmpty());
  EXPECT_THAT(rig.reports, IsEmpty());
  rig.owners.begin();
  EXPECT_EQ(rig.asked.size(), 1u);
  EXPECT_EQ(rig.reports.size(), 1u);
  rig.owners.begin();
  EXPECT_EQ(rig.asked.size(), 1u);
}

TEST(KnownOwnersTest, of_the_past_are_forgotten) {
  Rig rig;
  for (int n = 0; n < 200; ++n) {
    rig.own({0}, "h" + std::to_string(n) + ":80");
    rig.answer(rig.asked.size() - 1, {"10.0.0.1"});
  }
  EXPECT_EQ(rig.owners.address_of("h0:80"), kNone);
  EXPECT_EQ(rig.owners.address_of("h199:80"), kA);
}

TEST(KnownOwnersTest, that_are_closed_call_nobody) {
  Rig rig({1ms, 1ms, 1ms, 1ms});
  rig.own({0, 1, 2, 3}, "alpha.example:80");
  rig.owners.close();
  EXPECT_EQ(rig.finder.use_count(), 1) << "so no lookup calls back";
  rig.own({0}, "beta.example:80");
  rig.run_for(50ms);  // ends at once unless a timer was left
  EXPECT_EQ(rig.changes, 0);
  EXPECT_THAT(rig.reports, IsEmpty());
  EXPECT_EQ(rig.asked.size(), 1u);
}

}  // namespace
}  // namespace neliroute::admin
