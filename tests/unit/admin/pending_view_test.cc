// What waits for a server whose executor is blocked.
#include "admin/pending_view.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/admin/admin_rig.h"

namespace neliroute::admin {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::request;
using testing_admin::writer;

ChangedRoute led(std::uint32_t partition, std::int64_t offset) {
  ObservedRoute route;
  route.verdict = Verdict::remote;
  route.epoch = {1, offset};
  return {Partition{partition}, route};
}

/// "PARTITION OFFSET" of each route.
std::vector<std::string> text_of(const KeptChange& change) {
  std::vector<std::string> lines;
  for (const auto& [partition, route] : change.routes) {
    lines.push_back(std::to_string(partition.value()) + " " + std::to_string(route.epoch.offset));
  }
  return lines;
}

struct Pending {
  bool add(std::vector<ChangedRoute> routes) {
    ++version;
    return view.add({LocalTime{1s * version}, version, 10 * version, routes});
  }
  PendingView view;
  std::uint64_t version = 0;
};

TEST(PendingView, keeps_of_each_partition_the_newest_and_asks_once_to_be_taken) {
  Pending pending;
  EXPECT_TRUE(pending.add({led(5, 1), led(2, 1)}));
  EXPECT_FALSE(pending.add({led(2, 2), led(9, 2)}));
  for (std::int64_t i = 3; i < 1000; ++i) EXPECT_FALSE(pending.add({led(5, i)}));
  const KeptChange taken = pending.view.take();
  EXPECT_EQ(text_of(taken), (std::vector<std::string>{"5 999", "2 2", "9 2"}));
  EXPECT_EQ(taken.version, pending.version);
  EXPECT_EQ(taken.digest, 10 * pending.version);
  EXPECT_EQ(taken.at, LocalTime{1s * pending.version});
}

TEST(PendingView, begins_again_once_it_was_taken) {
  Pending pending;
  EXPECT_TRUE(pending.add({led(5, 1), led(2, 1)}));
  static_cast<void>(pending.view.take());
  EXPECT_EQ(text_of(pending.view.take()), std::vector<std::string>{});
  EXPECT_TRUE(pending.add({led(2, 2)}));
  EXPECT_FALSE(pending.add({led(5, 2), led(2, 3)}));
  EXPECT_EQ(text_of(pending.view.take()), (std::vector<std::string>{"2 3", "5 2"}));
}

TEST(PendingView, of_a_blocked_executor_is_one_however_much_moved) {
  AdminRig rig;
  rig.append(0, writer(2).leads(9, "0,2"));
  boost::asio::io_context blocked;
  auto opened = AdminServer::open(blocked.get_executor(), rig.observable(), {});
  ASSERT_TRUE(opened) << opened.error().message();
  rig.server = std::move(*opened);
  rig.poll();
  blocked.poll();  // it has joined, and knows the first owners
  for (std::int64_t claim = 20; claim < 120; ++claim) {
    rig.append(0, writer(2 + static_cast<std::uint64_t>(claim % 2)).leads(claim, "0,2"));
  }
  Client client(rig);
  client.send(request("/v1/events"));
  const auto shown = [&](std::string_view event) {
    EXPECT_TRUE(rig.run_until([&] {
      blocked.restart();
      blocked.poll();
      return client.received().find("event: " + std::string(event)) != std::string::npos &&
             client.received().ends_with("\n\n");
    }));
    return client.event(event).json();
  };
  const auto view = shown("view");
  EXPECT_EQ(view.at("view").as_array()[0].as_array()[5], 119) << "the newest";
  EXPECT_EQ(shown("moves").at("moves").as_array().size(), 1u) << "not a copy for each of 100";
  rig.server.reset();
  blocked.restart();
  blocked.poll();
}

}  // namespace
}  // namespace neliroute::admin
