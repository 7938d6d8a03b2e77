// A broker on a thread of its own, and clients that a test serves.
#pragma once

#include <gmock/gmock.h>
#include <librdkafka/rdkafka.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <neliroute/clock.h>

#include "embedded_broker/embedded_broker.h"
#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/client/queue_wakeup.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/ledgers/kafka/serve_until.h"

namespace neliroute {

/// A broker on a thread of its own, and a loop in which the test serves one client.
class ClientOnBroker : public testing::Test {
 protected:
  void SetUp() override {
    open_broker(0);
    options_.brokers = broker_->address();
    timing_.lease = std::chrono::seconds{20};
    timing_.session = std::chrono::seconds{6};
    timing_.heartbeat = milliseconds{100};
    ASSERT_TRUE(wakeup_->open().has_value());
  }
  void TearDown() override {
    wakeup_->close();
    close_broker();
  }
  void open_broker(std::uint16_t port) {
    broker_io_.run([&] {
      auto opened = EmbeddedBroker::open(broker_io_.executor(), {port, {{"neliroute", 4}}});
      ASSERT_TRUE(opened.has_value()) << opened.error().message();
      broker_ = std::move(*opened);
    });
  }
  void close_broker() {
    broker_io_.run([&] { broker_.reset(); });
  }
  [[nodiscard]] ClientSettings settings() const {
    return {options_, timing_, GroupProtocol::classic, true};
  }
  template <class Client>
  bool serve_until(Client& client, const std::function<bool()>& condition) {
    return neliroute::serve_until(client, io_, condition);
  }

  IoThread broker_io_;
  std::unique_ptr<EmbeddedBroker> broker_;
  KafkaOptions options_;
  Timing timing_;
  boost::asio::io_context io_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
};

}  // namespace neliroute
