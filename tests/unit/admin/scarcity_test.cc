// The admin port when memory or files are short: it serves less, and the process goes on.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/admin/admin_rig.h"
#include "tests/unit/router/view/allocations.h"

namespace {

bool no_more_files = false;
int refusals = 0;  // for lack of files

}  // namespace

// The one that Asio calls. Not RLIMIT_NOFILE, because UBSan opens pipes to look at objects.
extern "C" int accept(int socket, sockaddr* address, socklen_t* length) {
  if (!no_more_files) return static_cast<int>(::syscall(SYS_accept, socket, address, length));
  ++refusals;
  errno = EMFILE;
  return -1;
}

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::HttpAnswer;
using testing_admin::request;
using testing_admin::writer;
using testing_allocations::FailAbove;

/// A view with such a name takes more memory at once than there is.
const std::string kEndlessName(50'000, 'n');
constexpr std::size_t kScarce = 32 * 1024;

testing_admin::Writer endlessly_named(std::uint64_t id) {
  auto made = writer(id);
  made.name = kEndlessName;
  return made;
}

TEST(Scarcity, of_files_ends_and_then_clients_are_accepted_again) {
  AdminRig rig;
  std::vector<std::string> notices;
  AdminOptions options;
  options.on_notice = [&](const Notice& notice) { notices.push_back(notice.text); };
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), options);
  ASSERT_TRUE(opened);
  rig.server = std::move(*opened);
  no_more_files = true;
  Client client(rig);
  EXPECT_TRUE(rig.run_until([] { return refusals >= 3; }));
  no_more_files = false;
  EXPECT_EQ(client.get("/healthz").status, 200u);
  ASSERT_EQ(notices.size(), 1u) << "not one for each attempt";
  EXPECT_NE(notices[0].find("it tries again"), std::string::npos);
}

TEST(Scarcity, of_memory_for_an_answer_is_an_error) {
  AdminRig rig;
  rig.append(0, endlessly_named(2).leads(9, "0"));
  Client client(rig);
  {
    const FailAbove scarce(kScarce);
    EXPECT_EQ(client.get("/v1/slots").status, 500u);
  }
  EXPECT_EQ(client.get("/v1/slots").status, 200u);
}

TEST(Scarcity, of_memory_for_a_stream_closes_its_client_alone) {
  AdminRig rig;
  rig.append(0, endlessly_named(2).leads(9, "0"));
  Client client(rig);
  Client other(rig);
  {
    const FailAbove scarce(kScarce);
    client.send(request("/v1/events"));
    EXPECT_TRUE(client.ends());
    EXPECT_EQ(other.get("/healthz").status, 200u);
  }
  other.send(request("/v1/events"));
  static_cast<void>(other.event("view"));
}

TEST(Scarcity, of_memory_for_an_event_closes_the_streams_which_begin_again) {
  AdminLimits limits;
  limits.merge = 500ms;
  AdminRig rig(true, limits);
  Client client(rig);
  client.send(request("/v1/events"));
  static_cast<void>(client.event("view"));
  rig.append(0, writer(2).leads(9, "0"));
  static_cast<void>(client.event("changed"));
  rig.append(0, endlessly_named(3).leads(11, "0"));  // is told 500 ms later
  Client other(rig);
  {
    const FailAbove scarce(kScarce);
    EXPECT_TRUE(client.ends());
    EXPECT_EQ(other.get("/healthz").status, 200u);
  }
  other.send(request("/v1/events"));
  EXPECT_EQ(other.event("view").json().at("processes").as_array().size(), 2u);
  rig.append(0, writer(4).leads(12, "0"));
  EXPECT_EQ(other.event("changed").json().at("view").as_array().size(), 1u);
}

// 2,048 clients may be connected at once.
TEST(Scarcity, is_not_made_by_long_headers_of_clients_that_stay) {
  constexpr std::size_t kClients = 16;
  AdminRig rig;
  std::vector<std::unique_ptr<Client>> clients;
  const auto ask = [&](const std::string& fields) {
    for (const auto& client : clients) {
      client->send(request("/healthz", "GET", fields));
      EXPECT_EQ(client->answer().status, 200u);
    }
    rig.poll();
    return testing_allocations::live_bytes();
  };
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(std::make_unique<Client>(rig));
  const std::uint64_t before = ask("");
  EXPECT_LT(ask("Cookie: " + std::string(15'000, 'c') + "\r\n"), before + kClients * 4096);
}

}  // namespace
}  // namespace neliroute
