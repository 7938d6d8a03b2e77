// The admin port of a process without a view: metrics and health, and nothing else.
#include "admin/probe/probe_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/collectable.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace neliroute {
namespace {

using boost::asio::ip::tcp;
using testing::HasSubstr;
using testing::StartsWith;

class OneGauge : public prometheus::Collectable {
 public:
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    if (fails) throw std::runtime_error("no metrics today");
    prometheus::MetricFamily family;
    family.name = "one_gauge";
    family.type = prometheus::MetricType::Gauge;
    family.metric.emplace_back().gauge.value = 7;
    return {family};
  }
  bool fails = false;
};

class ProbeServerTest : public testing::Test {
 protected:
  ProbeServerTest() {
    admin::ProbeOptions options;
    options.collectables = {gauge};
    options.lacks = [this] { return lacks; };
    options.trouble = [this](LocalTime) { return trouble; };
    auto opened = admin::ProbeServer::open(io.get_executor(), std::move(options));
    EXPECT_TRUE(opened) << opened.error();
    if (opened) server = std::move(*opened);
  }
  /// All that the server answers until it closes.
  std::string ask(const std::string& request) {
    tcp::socket socket(io);
    const std::string& at = server->address();
    socket.connect({boost::asio::ip::address_v4::loopback(),
                    static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)))});
    boost::asio::write(socket, boost::asio::buffer(request));
    std::string answer;
    std::array<char, 4096> chunk;
    bool ended = false;
    std::function<void()> read = [&] {
      socket.async_read_some(boost::asio::buffer(chunk), [&](auto error, std::size_t count) {
        answer.append(chunk.data(), count);
        ended = static_cast<bool>(error);
        if (!ended) read();
      });
    };
    read();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!ended && std::chrono::steady_clock::now() < end) {
      io.restart();
      io.run_one_until(end);
    }
    EXPECT_TRUE(ended);
    return answer;
  }
  std::string get(const std::string& path, const std::string& host = "localhost") {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  }

  boost::asio::io_context io;
  std::shared_ptr<OneGauge> gauge = std::make_shared<OneGauge>();
  std::string lacks, trouble;
  std::unique_ptr<admin::ProbeServer> server;
};

TEST_F(ProbeServerTest, serves_metrics) {
  const std::string answer = get("/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("\none_gauge 7\n"));
  EXPECT_TRUE(server->is_local());
}

TEST_F(ProbeServerTest, survives_metrics_that_throw) {
  gauge->fails = true;
  const std::string answer = get("/metrics");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, HasSubstr("no metrics today"));
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ProbeServerTest, says_whether_the_process_is_ready_and_well) {
  EXPECT_THAT(get("/readyz"), HasSubstr(R"({"ready":true})"));
  EXPECT_THAT(get("/healthz"), HasSubstr(R"({"status":"ok"})"));
  lacks = "nobody leads";
  const std::string unready = get("/readyz");
  EXPECT_THAT(unready, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(unready, HasSubstr(R"({"ready":false,"error":"nobody leads"})"));
  EXPECT_THAT(get("/healthz"), StartsWith("HTTP/1.1 200 ")) << "that is no reason to restart it";
  trouble = "it hangs";
  const std::string sick = get("/healthz");
  EXPECT_THAT(sick, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(sick, HasSubstr("it hangs"));
}

TEST_F(ProbeServerTest, has_nothing_else) {
  for (const char* path : {"/", "/v1/slots", "/v1/events", "/v1/steps", "/v1/route?slot=1"}) {
    const std::string answer = get(path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(answer, HasSubstr("there are /metrics, /healthz and /readyz"));
  }
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
}

// A page in a browser could otherwise read what is for this machine only.
TEST_F(ProbeServerTest, answers_nobody_who_asks_for_another_machine) {
  EXPECT_THAT(get("/metrics", "example.com"), StartsWith("HTTP/1.1 421 "));
  EXPECT_THAT(get("/readyz", "example.com"), StartsWith("HTTP/1.1 200 ")) << "a probe may";
}

TEST(ProbeServerStartTest, says_where_it_cannot_listen) {
  boost::asio::io_context io;
  admin::ProbeOptions options;
  options.listen = "nonsense:x";
  EXPECT_FALSE(admin::ProbeServer::open(io.get_executor(), std::move(options)));
}

}  // namespace
}  // namespace neliroute
