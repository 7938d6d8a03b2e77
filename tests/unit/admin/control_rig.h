// An AdminServer whose control calls act on a rig's reader, as they do on a Router's or Watcher's.
//
// Threads: one.   Units: milliseconds.   Errors: none.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/reader/completion.h"
#include "router/view/admissions.h"
#include "tests/unit/admin/admin_rig.h"

namespace neliroute::testing_admin {

inline constexpr const char* kJson = "Content-Type: application/json\r\n";

/// "POST target HTTP/1.1" with a body.
inline std::string posting(const std::string& target, const std::string& body,
                           const std::string& fields = kJson) {
  return request(target, "POST",
                 fields + "Content-Length: " + std::to_string(body.size()) + "\r\n") +
         body;
}

struct ControlRig : AdminRig {
  explicit ControlRig(bool watcher = false, AdminLimits limits = {}, std::string token = {},
                      milliseconds prepare_timeout = {})
      : AdminRig(watcher, {}, {}, prepare_timeout) {
    AdminOptions wanted;
    wanted.limits = limits;
    wanted.on_notice = [this](const Notice& notice) { noticed.push_back(notice.text); };
    wanted.control = control(watcher);
    wanted.control->token = std::move(token);
    server.reset();
    poll();
    auto opened = AdminServer::open(io->get_executor(), observable(), std::move(wanted));
    EXPECT_TRUE(opened) << opened.error().message();
    server = std::move(*opened);
    poll();
  }

  [[nodiscard]] AdminControl control(bool watcher) {
    AdminControl made;
    made.wait = [this](Slot slot, const Epoch& after, milliseconds limit,
                       AdminControl::RouteHandler handler) {
      wait_until_routed(*reader, slot, after, limit, std::move(handler));
    };
    if (watcher) return made;
    made.admit = [this](Slot slot, const Epoch& epoch, std::uint32_t hops) {
      ++admits;
      return Admissions(reader->view(), *owner->work(), Mode::non_exclusive, 3)
          .admit(slot, {epoch, hops}, now);
    };
    made.subscribe = [this](Listener& listener) {
      steps = &listener;
      return Subscription(owner->subscribe(listener));
    };
    made.drain = [this] { ++drains; };
    return made;
  }

  /// On a connection of its own.
  [[nodiscard]] HttpAnswer post(const std::string& target, const std::string& body,
                                const std::string& fields = kJson) {
    Client client(*this);
    client.send(posting(target, body, fields));
    return client.answer();
  }
  /// Of a request that is served: its guard's number.
  [[nodiscard]] std::string admitted(std::uint32_t slot) {
    const auto answer = post("/v1/admit", "{\"slot\":" + std::to_string(slot) + "}");
    EXPECT_EQ(answer.status, 200u) << answer.body;
    const auto row = answer.json();
    EXPECT_EQ(row.at("answer"), "serve");
    return row.contains("work") ? std::string(row.at("work").as_string()) : std::string();
  }
  [[nodiscard]] HttpAnswer done(const std::string& work) {
    return post("/v1/done", "{\"work\":\"" + work + "\"}");
  }
  /// Another process takes the partition over, and leads it; this one finishes.
  void lose(std::uint32_t partition) {
    const std::string parts = std::to_string(partition);
    const std::int64_t claim = append(partition % 2, writer(3).claim(parts));
    append(partition % 2, writer(3).leads(claim, parts));
  }
  [[nodiscard]] double metric(const std::string& name) {
    Client client(*this);
    const std::string text = client.get("/metrics").body;
    const auto at = text.find("\nneliroute_" + name + "{");
    if (at == std::string::npos) return -1;
    return std::stod(text.substr(text.find("} ", at) + 2));
  }

  std::vector<std::string> noticed;  ///< on_notice
  Listener* steps = nullptr;  ///< the server's
  int admits = 0;
  int drains = 0;
};

}  // namespace neliroute::testing_admin
