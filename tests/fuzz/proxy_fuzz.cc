// A gateway between clients and an owner that send any bytes at any time, and go when they like:
// bodies, chunks, answers, tunnels, what is sent again. Whatever a client sends, what the owner
// gets is HTTP, up to a request for a tunnel; and when both are gone, the gateway keeps no client's
// connection.
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <iterator>
#include <limits>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tests/fuzz/bytes.h"
#include "tests/unit/forward/gateway_rig.h"

namespace neliroute::fuzz {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;
using testing_forward::Caller;
using testing_forward::GatewayRig;
using testing_forward::GatewayRigOptions;

constexpr std::size_t kClientsMost = 4;
constexpr int kStepsMost = 64;
constexpr auto kPatience = 20s;  // for machines that stand still

constexpr std::string_view kRequests[] = {
    "GET / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n",
    "HEAD / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: 5\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: 100000\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nContent-Length: 100000\r\n"
    "Expect: 100-continue\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Transfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: h\r\nX-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Content-Length: 100000\r\n\r\n",
    "GET / HTTP/1.0\r\nX-Key: k\r\n\r\n",
};
constexpr std::string_view kBodies[] = {"hello", "5\r\nhello\r\n", "0\r\n\r\n", "0\r\nA: b\r\n\r\n",
                                        "5;x=\"y\"\r\nhello\r\n", "ffffffffffffffff\r\n", "\r\n"};
constexpr std::string_view kAnswers[] = {
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "HTTP/1.1 421 Misdirected Request\r\nNeliroute-Slot: 0\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
};

/// Says what the input has it say, and reads what comes as the next server would.
class AnyOwner {
 public:
  explicit AnyOwner(boost::asio::io_context& io)
      : acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}) {
    accept();
  }
  [[nodiscard]] std::string endpoint() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  /// On the connection that was made last, or the one before it.
  void say(std::string_view bytes, bool before) {
    if (open_.empty()) return;
    auto at = std::prev(open_.end());
    if (before && at != open_.begin()) --at;
    error_code ignored;  // what does not fit is lost, as is what comes too late
    (*at)->socket.write_some(boost::asio::buffer(bytes), ignored);
  }
  void close_last() {
    if (!open_.empty()) end(open_.back());
  }
  void close_all() {
    while (!open_.empty()) end(open_.back());
  }

 private:
  struct Connection {
    explicit Connection(tcp::socket taken) : socket(std::move(taken)) { renew(); }
    void renew() {
      parser = std::make_unique<http::request_parser<http::string_body>>();
      parser->header_limit(std::numeric_limits<std::uint32_t>::max());
      parser->body_limit(std::numeric_limits<std::uint64_t>::max());
      parser->eager(true);
    }
    tcp::socket socket;
    std::array<char, 16384> chunk{};
    std::string unread;
    std::unique_ptr<http::request_parser<http::string_body>> parser;
    bool may_tunnel = false;
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  void accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (error) return;
      socket.non_blocking(true);
      open_.push_back(std::make_shared<Connection>(std::move(socket)));
      read(open_.back());
      accept();
    });
  }
  void read(const ConnectionPtr& of) {
    of->socket.async_read_some(boost::asio::buffer(of->chunk),
                               [this, of](error_code error, std::size_t count) {
                                 if (error) return end(of);
                                 of->unread.append(of->chunk.data(), count);
                                 take(*of);
                                 read(of);
                               });
  }
  static void take(Connection& of) {
    while (!of.unread.empty() && !of.may_tunnel) {
      error_code error;
      const std::size_t used = of.parser->put(boost::asio::buffer(of.unread), error);
      if (error == http::error::need_more) error = {};
      FUZZ_CHECK(!error, "what an owner gets is HTTP");
      of.unread.erase(0, used);
      if (of.parser->is_header_done()) of.may_tunnel = of.parser->get().count("Upgrade") > 0;
      if (of.parser->is_done()) of.renew();
      if (used == 0) return;
    }
  }
  void end(ConnectionPtr one) {
    error_code ignored;
    one->socket.close(ignored);
    open_.remove(one);
  }

  tcp::acceptor acceptor_;
  std::list<ConnectionPtr> open_;
};

GatewayRigOptions brief() {
  GatewayRigOptions options;
  options.exchange.deadline = 20ms;
  options.exchange.progress = 20ms;
  options.exchange.tunnel = 20ms;
  options.exchange.kept_body = 64;
  options.front.header = 20ms;
  options.front.idle = 20ms;
  return options;
}

/// One for all inputs; each leaves nothing behind.
struct World {
  GatewayRig rig{brief()};
  AnyOwner owner{rig.io};
  std::list<Caller> clients;

  void turn() {
    for (int i = 0; i < 4; ++i) {  // one may make another one ready
      rig.io.restart();
      rig.io.poll();
    }
  }
  Caller& client(Bytes& input) {
    if (clients.empty() || (input.below(8) == 0 && clients.size() < kClientsMost)) {
      clients.emplace_back(rig.io, rig.gateway->endpoint());
    }
    return input.flag() ? clients.back() : clients.front();
  }
  void drop(const Caller& gone) {
    check(gone);
    clients.remove_if([&](const Caller& one) { return &one == &gone; });
  }
  static void check(const Caller& one) {
    FUZZ_CHECK(one.received().empty() || one.received().starts_with("HTTP/1.1 "),
               "what a client gets begins as an answer");
  }
  void end() {
    for (const Caller& one : clients) check(one);
    clients.clear();
    turn();
    owner.close_all();
    const auto by = std::chrono::steady_clock::now() + kPatience;
    while (rig.gateway->connections() > 0 && std::chrono::steady_clock::now() < by) {
      rig.io.restart();
      rig.io.run_one_for(5ms);
    }
    FUZZ_CHECK(rig.gateway->connections() == 0, "who is gone has no place any more");
    turn();
    owner.close_all();
  }
};

std::string_view piece(Bytes& input, std::span<const std::string_view> known) {
  return known[input.below(static_cast<std::uint32_t>(known.size()))];
}

std::string raw(Bytes& input) {
  std::string bytes;
  for (std::uint32_t left = input.byte(); left > 0 && !input.empty(); --left) {
    bytes.push_back(static_cast<char>(input.byte()));
  }
  return bytes;
}

void client_step(World& world, Bytes& input) {
  Caller& client = world.client(input);
  if (client.ended()) return world.drop(client);
  switch (input.below(7)) {
    case 0:
      return client.send(raw(input));
    case 1:
    case 2:
      return client.send(std::string(piece(input, kBodies)));
    case 3:
      return client.send(std::string(200 * (1 + input.byte()), 'x'));
    case 4:
      return world.drop(client);
    default:
      return client.send(std::string(piece(input, kRequests)));
  }
}

void owner_step(World& world, Bytes& input) {
  const bool before = input.below(4) == 0;
  switch (input.below(6)) {
    case 0:
      return world.owner.say(raw(input), before);
    case 1:
      return world.owner.say(piece(input, kBodies), before);
    case 2:
      return world.owner.close_last();
    default:
      return world.owner.say(piece(input, kAnswers), before);
  }
}

}  // namespace
}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace neliroute::fuzz;
  static World world;
  Bytes input(data, size);
  world.rig.directions.suspects.clear();
  world.rig.directions.leads(world.owner.endpoint());
  for (int step = 0; step < kStepsMost && !input.empty(); ++step) {
    switch (input.below(8)) {
      case 0:
        world.rig.directions.nobody_leads();
        break;
      case 1:
        world.rig.directions.leads(world.owner.endpoint());
        break;
      case 2:
      case 3:
      case 4:
        owner_step(world, input);
        break;
      default:
        client_step(world, input);
    }
    world.turn();
  }
  world.end();
  return 0;
}
