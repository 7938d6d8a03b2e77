// Clients of /v1/events that read nothing: what they hold, and when they are closed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/admin/admin_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using testing_admin::AdminRig;
using testing_admin::Client;
using testing_admin::request;
using testing_admin::writer;

constexpr std::size_t kLong = 50'000;

/// A long name, and an endpoint with it, make a view of kLong bytes, most of which no socket takes.
AdminLimits small_sockets() {
  AdminLimits limits;
  limits.send_buffer = 2048;
  limits.merge = 0ms;
  limits.age = 1h;
  return limits;
}

testing_admin::Writer long_named(std::uint64_t id) {
  auto made = writer(id);
  made.name = std::string(kLong / 2, 'n');
  return made;
}

std::unique_ptr<Client> deaf(AdminRig& rig) {
  auto client = std::make_unique<Client>(rig, /*reads=*/false);
  client->send(request("/v1/events"));
  rig.poll();
  return client;
}

TEST(DeafStreams, count_against_what_is_kept_for_answers) {
  AdminLimits limits = small_sockets();
  limits.answer_bytes = kLong * 3 / 2;
  AdminRig rig(true, limits);
  rig.append(0, long_named(2).leads(9, "0"));
  Client other(rig);
  EXPECT_EQ(other.get("/v1/slots").status, 200u);
  auto stream = deaf(rig);
  EXPECT_EQ(other.get("/v1/slots").status, 503u);
  EXPECT_EQ(other.get("/healthz").status, 200u);
  stream->close();
  EXPECT_TRUE(rig.run_until([&] { return other.get("/v1/slots").status == 200; }));
}

TEST(DeafStreams, are_closed_when_their_patience_is_over) {
  AdminLimits limits = small_sockets();
  limits.connections = 1;
  limits.write = 200ms;
  AdminRig rig(true, limits);
  rig.append(0, long_named(2).leads(9, "0"));
  const auto stream = deaf(rig);
  EXPECT_TRUE(rig.run_until([&] {
    Client next(rig);
    return next.get("/openapi.json").status == 200;
  })) << "its place is free";
}

TEST(DeafStreams, are_kept_while_two_whole_views_wait) {
  AdminLimits limits = small_sockets();
  limits.stream_bytes = 1;
  limits.merge = 300ms;
  AdminRig rig(true, limits);
  rig.append(1, long_named(2).leads(9, "1"));
  Client quick(rig);
  quick.send(request("/v1/events"));
  static_cast<void>(quick.event("view"));
  const auto stream = deaf(rig);
  constexpr std::uint64_t kLast = 66;  // of so many, those that have left are not listed any more
  for (std::uint64_t id = 3; id < kLast; ++id) {
    rig.append(0, writer(id).leads(static_cast<std::int64_t>(20 + id), "0"));
  }
  rig.append(0, long_named(kLast).leads(20 + kLast, "0"));
  EXPECT_EQ(quick.event("view").json().at("processes").as_array().size(), 2u);
  stream->start_reading();
  EXPECT_EQ(stream->event("view").json().at("processes").as_array().size(), 1u);
  EXPECT_EQ(stream->event("view").json().at("processes").as_array().size(), 2u);
  EXPECT_FALSE(stream->ended());
}

}  // namespace
}  // namespace neliroute
