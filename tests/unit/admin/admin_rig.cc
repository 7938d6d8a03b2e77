#include "tests/unit/admin/admin_rig.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/parse.hpp>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/kafka/client/kafka_statistics.h"
#include "ledgers/store_statistics.h"

namespace neliroute::testing_admin {

namespace asio = boost::asio;

namespace {

boost::json::object object_of(const std::string& text) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  EXPECT_TRUE(!error && value.is_object()) << text;
  return value.is_object() ? value.get_object() : boost::json::object{};
}

/// Of both kinds of stores.
struct Told final : LedgerStatistics {
  [[nodiscard]] const StoreStatistics* store() const noexcept override { return &other; }
  [[nodiscard]] std::optional<ClientStatistics> read(ClientKind kind) const override {
    return kafka.read(kind);
  }
  KafkaStatistics kafka;
  StoreStatistics other{boot_now() - std::chrono::hours{1}};
};

}  // namespace

Writer writer(std::uint64_t id) {
  Writer made{id};
  made.lease = kLongLease;
  return made;
}

std::string HttpAnswer::field(std::string_view name) const {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const auto at = header.find(line);
  if (at == std::string::npos) return {};
  const auto begin = at + line.size();
  return header.substr(begin, header.find("\r\n", begin) - begin);
}

boost::json::object HttpAnswer::json() const {
  EXPECT_EQ(field("Content-Type"), "application/json");
  return object_of(body);
}

boost::json::object ServerEvent::json() const { return object_of(data); }

std::string request(const std::string& target, const std::string& method,
                    const std::string& fields) {
  return method + " " + target + " HTTP/1.1\r\nHost: localhost:1\r\n" + fields + "\r\n";
}

Client::Client(AdminRig& rig, bool reads) : rig_(rig), socket_(*rig.io) {
  const std::string& address = rig.server->address();
  const auto port = static_cast<unsigned short>(std::stoul(address.substr(address.rfind(':') + 1)));
  socket_.open(asio::ip::tcp::v4());
  // Before it connects, or its window is open already.
  if (!reads) socket_.set_option(asio::socket_base::receive_buffer_size(4096));
  socket_.connect({asio::ip::address_v4::loopback(), port});
  if (reads) read();
}

void Client::send(std::string text) {
  const auto kept = std::make_shared<std::string>(std::move(text));
  *unsent_ += kept->size();
  // The server may have closed it: an error is none.
  asio::async_write(socket_, asio::buffer(*kept),
                    [kept, unsent = unsent_](const boost::system::error_code&, std::size_t sent) {
                      *unsent -= sent;
                    });
}

void Client::read() {
  socket_.async_read_some(asio::buffer(chunk_),
                          [this, alive = std::weak_ptr(alive_)](
                              const boost::system::error_code& error, std::size_t count) {
                            if (alive.expired()) return;
                            received_.append(chunk_.data(), count);
                            ended_ = static_cast<bool>(error);
                            if (!error) read();
                          });
}

bool Client::take_answer(HttpAnswer& answer, bool head) {
  const auto end = received_.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  answer.header = received_.substr(0, end + 2);
  answer.status = static_cast<unsigned>(std::stoul(answer.header.substr(9, 3)));
  const std::string length = answer.field("Content-Length");
  const std::size_t size = head || length.empty() ? 0 : std::stoul(length);
  if (received_.size() < end + 4 + size) return false;
  answer.body = received_.substr(end + 4, size);
  received_.erase(0, end + 4 + size);
  return true;
}

std::vector<HttpAnswer> Client::answers(std::size_t count, bool head) {
  std::vector<HttpAnswer> made(count);
  for (HttpAnswer& one : made) {
    EXPECT_TRUE(rig_.run_until([&] { return take_answer(one, head); })) << received_;
  }
  return made;
}

HttpAnswer Client::get(const std::string& target) {
  send(request(target));
  return answer();
}

ServerEvent Client::event(std::string_view name) {
  ServerEvent made;
  const std::string line = "event: " + std::string(name) + "\ndata: ";
  EXPECT_TRUE(rig_.run_until([&] {
    const auto at = received_.find(line);
    const auto end = at == std::string::npos ? at : received_.find("\n\n", at);
    if (end == std::string::npos) return false;
    made = {std::string(name), received_.substr(at + line.size(), end - at - line.size())};
    received_.erase(0, end + 2);
    return true;
  })) << name << " in " << received_;
  return made;
}

bool Client::ends() {
  return rig_.run_until([this] { return ended_; });
}

AdminRig::AdminRig(bool watcher, AdminLimits limits, milliseconds ago, milliseconds prepare_timeout)
    : ReaderRig({.watcher = watcher, .lease = kLongLease, .prepare_timeout = prepare_timeout}) {
  now = boot_now() - ago;
  start();
  AdminOptions wanted;
  wanted.limits = limits;
  auto opened = AdminServer::open(io->get_executor(), observable(), std::move(wanted));
  EXPECT_TRUE(opened) << opened.error().message();
  server = std::move(*opened);
  poll();
}

AdminRig::~AdminRig() {
  server.reset();
  poll();
}

void AdminRig::let_others_own() {
  append(0, writer(2).leads(9, "0,2"));
  append(1, writer(3).leads(9, "1,3"));
}

Observable AdminRig::observable() const {
  ObservedFacts facts{{"self", "self:7000", {}}, std::nullopt, "ledger", Lane{},
                      testing_records::settings(), SlotSpace(SlotCount{64}), std::nullopt,
                      options.lease};
  if (!options.watcher) {
    facts.id = ProcessId{testing_reader::kOwnId};
    facts.interval = options.lease / 10;
  }
  // As librdkafka reports it, without the fields that are not read.
  const std::string broker =
      R"("brokers":{"b:9092/1":{"nodeid":1,"state":"UP","tx":7,)"
      R"("rtt":{"cnt":1,"p50":500,"p99":900}}})";
  const auto told = std::make_shared<Told>();
  told->other.requests = 5;
  told->other.unanswered = 2;
  told->other.unsent_records = 3;
  told->other.note_answer(boot_now() - milliseconds{20}, false, boot_now());
  told->other.note_answer(boot_now() - milliseconds{20}, true, boot_now());
  told->kafka.note(ClientKind::tail, R"({"name":"c-1","type":"consumer",)" + broker + "}",
             boot_now(), /*unread_records=*/5);
  if (!options.watcher) {
    told->kafka.note(ClientKind::producer,
                     R"({"name":"p-1","type":"producer","msg_cnt":3,)" + broker + "}",
                     boot_now());
    told->kafka.note(ClientKind::group, R"({"name":"c-2","type":"consumer",)" + broker +
                                            R"(,"cgrp":{"state":"up","join_state":"steady"}})",
                     boot_now());
  }
  return {reader, std::move(facts), told};
}

}  // namespace neliroute::testing_admin
