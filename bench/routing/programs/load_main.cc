// The load of the routing benchmark.
//
//     routing_load --way any --targets A:P,A:P --rate 5000 --out FILE        to a random owner
//     routing_load --way one --targets A:P ...                              to a proxy
//     routing_load --way watch --brokers B --topic T ...                    to whom a Watcher names
//     routing_load --way one --targets A:P --plain --closed 32 --out FILE   as fast as it goes
//
// On stdin: "targets A:P,..." replaces the owners of --way any; "stop", or its end, begins no more
// calls. On stdout a line of JSON at the first call, {"started":S}, and one when all have ended.
// FILE gets a CallRecord (call.h) for each call.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <fstream>
#include <iostream>
#include <istream>
#include <memory>
#include <neliroute/clock.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cpu_clock.h"
#include "bench/routing/programs/callers.h"
#include "bench/routing/programs/program.h"

namespace neliroute::bench {
namespace {

struct Wanted {
  std::string way;
  std::vector<std::string> targets;
  std::string brokers;
  std::string topic;
  std::uint32_t slots = 4096;
  std::uint32_t closed = 0;
  std::uint32_t deadline_ms = 15'000;
  std::string out;
  LoadOptions load;
};

double seconds_of(LocalTime at) { return static_cast<double>(at.time_since_epoch().count()) / 1e6; }

void save(const Load& load, const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(load.records().data()),
            static_cast<std::streamsize>(load.records().size() * sizeof(CallRecord)));
  if (!out.flush()) fail(file + " cannot be written");
}

/// The whole program.
class Program {
 public:
  explicit Program(const Wanted& wanted)
      : wanted_(wanted),
        input_(io_, dup(STDIN_FILENO)),
        load_(io_, wanted.load, SlotSpace{SlotCount{wanted.slots}}) {}

  int run() {
    for (const std::string& name : wanted_.targets) load_.target(name);
    if (wanted_.way == "watch") {
      watch();
    } else if (wanted_.way == "one") {
      if (wanted_.targets.size() != 1) fail("--way one needs one of --targets");
      caller_ = std::make_unique<OneProxy>(load_, load_.target(wanted_.targets.front()));
      begin();
    } else {
      if (wanted_.targets.empty()) fail("--way any needs --targets");
      auto any = std::make_unique<AnyOwner>(load_);
      any_ = any.get();
      any_->choose_from(load_.targets());
      caller_ = std::move(any);
      begin();
    }
    io_.run();
    return 0;
  }

 private:
  void watch() {
    WatcherOptions options;
    options.kafka.brokers = wanted_.brokers;
    options.kafka.topic = wanted_.topic;
    options.slots = SlotCount{wanted_.slots};
    auto opened = Watcher::open(io_.get_executor(), std::move(options));
    if (!opened) fail(opened.error().message());
    watcher_ = std::move(*opened);
    watcher_->on_failure([](const Error& error) { fail(error.message()); });
    caller_ = std::make_unique<WatchedOwner>(load_, *watcher_);
    watcher_->async_ready([this](boost::system::error_code error) {
      if (error) fail("not every slot became known: " + error.message());
      begin();
    });
  }

  void begin() {
    read_line();
    load_.start(*caller_, [this] {
      std::cout << "{\"started\":" << std::fixed << seconds_of(load_.started()) << "}" << std::endl;
    });
  }

  void read_line() {
    boost::asio::async_read_until(input_, boost::asio::dynamic_buffer(line_), '\n',
                                  [this](boost::system::error_code error, std::size_t size) {
                                    if (error) return stop();
                                    obey(std::string_view(line_).substr(0, size - 1));
                                    line_.erase(0, size);
                                    read_line();
                                  });
  }

  void obey(std::string_view line) {
    constexpr std::string_view kTargets = "targets ";
    if (line == "stop") return stop();
    if (!line.starts_with(kTargets) || any_ == nullptr) {
      fail("cannot obey \"" + std::string(line) + "\"");
    }
    std::vector<Target*> targets;
    line.remove_prefix(kTargets.size());
    while (!line.empty()) {
      const std::size_t comma = std::min(line.find(','), line.size());
      targets.push_back(&load_.target(std::string(line.substr(0, comma))));
      line.remove_prefix(std::min(comma + 1, line.size()));
    }
    any_->choose_from(std::move(targets));
  }

  void stop() {
    load_.stop([this] {
      save(load_, wanted_.out);
      boost::json::array targets;
      for (const Target* target : load_.targets()) targets.emplace_back(target->name);
      boost::json::array refusals;
      for (const auto& [call, status, text] : load_.refusals()) {
        refusals.push_back(boost::json::object{{"call", call}, {"status", status}, {"text", text}});
      }
      const boost::json::object said{{"ended", seconds_of(boot_now())},
                                     {"calls", load_.records().size()},
                                     {"cpu_seconds", thread_cpu_seconds()},
                                     {"targets", targets},
                                     {"refusals", refusals}};
      std::cout << boost::json::serialize(said) << std::endl;
      // Connections and the watcher go with the process.
      std::_Exit(0);
    });
  }

  const Wanted& wanted_;
  boost::asio::io_context io_{1};
  boost::asio::posix::stream_descriptor input_;
  std::string line_;
  Load load_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<Caller> caller_;
  AnyOwner* any_ = nullptr;
};

}  // namespace
}  // namespace neliroute::bench

int main(int count, char** arguments) {
  using namespace neliroute::bench;
  Wanted wanted;
  CLI::App app{"The load of bench/routing."};
  app.add_option("--way", wanted.way)->required()->check(CLI::IsMember({"any", "one", "watch"}));
  app.add_option("--targets", wanted.targets, "ADDRESS:PORT,...")->delimiter(',');
  app.add_option("--brokers", wanted.brokers);
  app.add_option("--topic", wanted.topic);
  app.add_option("--slots", wanted.slots)->check(CLI::Range(1U, neliroute::kSlotCountMax));
  app.add_option("--rate", wanted.load.rate, "calls a second")->check(CLI::Range(1.0, 1e6));
  app.add_option("--closed", wanted.closed, "a closed loop of so many instead");
  app.add_option("--connections", wanted.load.connections, "kept open, and used in turn");
  app.add_option("--most-connections", wanted.load.most_connections);
  app.add_option("--keys", wanted.load.keys)->check(CLI::Range(1, 10'000'000));
  app.add_option("--deadline-ms", wanted.deadline_ms)->check(CLI::Range(1, 600'000));
  app.add_option("--without-keys", wanted.load.without_keys, "percent of the calls")
      ->check(CLI::Range(0, 100));
  app.add_flag("--plain", wanted.load.plain, "GET; any 200 will do");
  app.add_option("--out", wanted.out)->required();
  CLI11_PARSE(app, count, arguments);
  std::signal(SIGPIPE, SIG_IGN);
  wanted.load.deadline = neliroute::milliseconds{wanted.deadline_ms};
  if (wanted.closed > 0) {
    wanted.load.rate = 0;
    wanted.load.connections = wanted.closed;
  }
  return Program(wanted).run();
}
