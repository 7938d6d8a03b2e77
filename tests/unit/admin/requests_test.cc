// /v1/requests: what became of requests in this process, by who counts them.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/unit/admin/admin_rig.h"

namespace neliroute {
namespace {

using testing_admin::AdminRig;
using testing_admin::Client;

/// What it says without the time, which must be there.
std::string told(AdminRig& rig) {
  Client client(rig);
  const auto answer = client.get("/v1/requests");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_GT(answer.json().at("at").to_number<double>(), 1.7e9);
  EXPECT_TRUE(answer.body.starts_with("{\"at\":")) << answer.body;
  return '{' + answer.body.substr(answer.body.find(',') + 1);
}

void put_proxy(AdminRig& rig, std::function<ProxiedRequests()> proxied) {
  AdminOptions wanted;
  wanted.proxied = std::move(proxied);
  auto opened = AdminServer::open(rig.io->get_executor(), rig.observable(), std::move(wanted));
  ASSERT_TRUE(opened);
  rig.server = std::move(*opened);
}

TEST(Requests, of_an_owner_are_what_admit_answered) {
  AdminRig rig(/*watcher=*/false);
  for (const Admit answer : {Admit::serve, Admit::serve, Admit::serve, Admit::redirect,
                             Admit::redirect, Admit::refuse}) {
    rig.reader->view().count(answer);
  }
  EXPECT_EQ(told(rig), R"({"process":"self","source":"admit","served":3,"redirected":2,)"
                       R"("waited":0,"refused":1})");
}

TEST(Requests, through_a_proxy_are_its_counts) {
  for (const bool watcher : {false, true}) {
    AdminRig rig(watcher);
    put_proxy(rig, [] { return ProxiedRequests{1, 2, 3, 4, 5, 6, 7, 8}; });
    EXPECT_EQ(told(rig), R"({"process":"self","source":"proxy","served":1,"forwarded":2,)"
                         R"("misdirected":3,"waited":4,"refused":5,"unowned":6,"unreachable":7,)"
                         R"("failed":8})");
  }
}

TEST(Requests, are_not_counted_by_a_watcher_without_a_proxy) {
  AdminRig rig;
  EXPECT_EQ(told(rig), R"({"process":"self","source":"none"})");
}

TEST(Requests, that_cannot_be_counted_end_nothing) {
  AdminRig rig;
  put_proxy(rig, []() -> ProxiedRequests { throw std::runtime_error("no counts"); });
  Client client(rig);
  const auto answer = client.get("/v1/requests");
  EXPECT_EQ(answer.status, 500u);
  EXPECT_NE(answer.json().at("error").as_string().find("no counts"), std::string::npos);
  EXPECT_EQ(client.get("/healthz").status, 200u);
}

}  // namespace
}  // namespace neliroute
