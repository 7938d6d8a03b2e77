// The fenced store of the routing benchmark, a process of its own that outlives all others.
//
//     routing_store --listen 127.0.0.1:9000 --slots 4096 --keys 10000 --out FILE
//
// SIGTERM: it writes what it counted to FILE as JSON, and to FILE.applied twelve bytes for each
// call from 0 on: key, value and how often, 32 bits each; value 0 is a call that never came.
#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bench/routing/programs/counters.h"
#include "bench/routing/programs/program.h"

namespace neliroute::bench {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

struct StoreOptions {
  std::string listen;
  std::string out;
  std::uint32_t slots = 4096;
  std::uint32_t keys = 10'000;
};

/// Numbers for the names of applications.
class Writers {
 public:
  std::uint32_t number_of(const StoreHello& hello) {
    const std::string name(hello.name.data(), strnlen(hello.name.data(), hello.name.size()));
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

/// One application's connection.
class StoreConnection : public std::enable_shared_from_this<StoreConnection> {
 public:
  StoreConnection(tcp::socket socket, FencedCounters& counters, Writers& writers)
      : socket_(std::move(socket)), counters_(counters), writers_(writers) {
    socket_.set_option(tcp::no_delay(true));
  }

  void read() {
    socket_.async_read_some(boost::asio::buffer(chunk_),
                            [self = shared_from_this()](error_code error, std::size_t size) {
                              if (error) return;
                              self->received_.append(self->chunk_.data(), size);
                              self->take_all();
                              self->read();
                            });
  }

 private:
  void take_all() {
    std::string_view rest = received_;
    if (!writer_) {
      const auto hello = take_frame<StoreHello>(rest);
      if (hello) writer_ = writers_.number_of(*hello);
    }
    while (writer_) {
      const auto request = take_frame<StoreRequest>(rest);
      if (!request) break;
      append_frame(answers_, counters_.take(*writer_, *request));
    }
    received_.erase(0, received_.size() - rest.size());
    write();
  }

  void write() {
    if (!sending_.empty() || answers_.empty()) return;
    sending_.swap(answers_);
    boost::asio::async_write(socket_, boost::asio::buffer(sending_),
                             [self = shared_from_this()](error_code error, std::size_t) {
                               self->sending_.clear();
                               if (!error) self->write();
                             });
  }

  tcp::socket socket_;
  FencedCounters& counters_;
  Writers& writers_;
  std::optional<std::uint32_t> writer_;
  std::array<char, 16'384> chunk_;
  std::string received_;
  std::string answers_;
  std::string sending_;
};

void accept(tcp::acceptor& acceptor, FencedCounters& counters, Writers& writers) {
  acceptor.async_accept([&](error_code error, tcp::socket socket) {
    if (error) fail("cannot accept: " + error.message());
    std::make_shared<StoreConnection>(std::move(socket), counters, writers)->read();
    accept(acceptor, counters, writers);
  });
}

void save(const FencedCounters& counters, const std::string& file) {
  const StoreCounts& counts = counters.counts();
  const boost::json::object made{
      {"applied", counts.applied},       {"repeats", counts.repeats},
      {"stale", counts.stale},           {"two_writers", counts.two_writers},
      {"wrong_slot", counts.wrong_slot}, {"values", boost::json::value_from(counters.values())}};
  std::ofstream applied(file + ".applied", std::ios::binary);
  applied.write(reinterpret_cast<const char*>(counters.applied().data()),
                static_cast<std::streamsize>(counters.applied().size() * sizeof(Applied)));
  std::ofstream text(file);
  text << boost::json::serialize(made) << '\n';
  if (!applied.flush() || !text.flush()) fail(file + " cannot be written");
}

int run_store(const StoreOptions& options) {
  const auto slots = SlotCount::make(options.slots);
  if (!slots) fail("--slots " + std::to_string(options.slots) + " is no number of slots");
  boost::asio::io_context io(1);
  FencedCounters counters(SlotSpace{*slots}, options.keys);
  Writers writers;
  tcp::acceptor acceptor(io, endpoint_of(options.listen));
  accept(acceptor, counters, writers);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](error_code, int) { io.stop(); });
  std::cout << "ready" << std::endl;
  io.run();
  save(counters, options.out);
  return 0;
}

}  // namespace
}  // namespace neliroute::bench

int main(int count, char** arguments) {
  neliroute::bench::StoreOptions options;
  CLI::App app{"Counters behind a fence, for bench/routing."};
  app.add_option("--listen", options.listen, "ADDRESS:PORT")->required();
  app.add_option("--out", options.out, "written on SIGTERM")->required();
  app.add_option("--slots", options.slots);
  app.add_option("--keys", options.keys, "k0, k1, ...");
  CLI11_PARSE(app, count, arguments);
  return neliroute::bench::run_store(options);
}
