// Counters in the memory of the process that owns them, and nowhere else: handed over, not stored.
//   08_state_in_memory HOST:PORT BROKERS             several
//   curl -X POST http://HOST:PORT/visits             adds 1; GET reads
//   curl -d 500 http://HOST:PORT/visits              the same, after 500 ms of work
//
// A planned move loses nothing, in two steps. In prepare() the next owner fetches a copy, while the
// owner counts on. Once that one has stopped, and the last request that it had admitted has ended
// (work_ended()), it sends what has changed since the copy, which is little, and only then
// completes its barrier: the next owner does not lead before. Saving in stopped() would lose what
// those requests still count.
//
// Lost are the counters of an owner that is killed, or stands still for longer than its lease. What
// must outlive it belongs into a store (02, 04).
//
// Two threads: the router's, which renews leases, so nothing there may take long; and the
// service's, which has the counters for itself, so they need no lock. Everybody who reaches the
// port can fetch and send counters there: yours are between your own processes only.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <neliroute/observable.h>
#include <neliroute/router.h>
#include <optional>
#include <sstream>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using http::status;
using neliroute::Admit, neliroute::Epoch, neliroute::kNoEpoch, neliroute::Partition;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using std::chrono::seconds, std::chrono::milliseconds;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);  // returns errors, throws none

Response text(status code, const std::string& line) {
  Response made(code, 11);
  if (code == status::service_unavailable) made.set(http::field::retry_after, "1");
  made.body() = line;
  return made;
}

/// What another process answers; no value: nothing.
asio::awaitable<std::optional<std::string>> ask(std::string endpoint, Request request) {
  const auto colon = endpoint.rfind(':');
  tcp::resolver resolver(co_await asio::this_coro::executor);
  const auto [unknown, found] = co_await resolver.async_resolve(
      endpoint.substr(0, colon), endpoint.substr(colon + 1), kAwait);
  if (unknown) co_return std::nullopt;
  boost::beast::tcp_stream stream(resolver.get_executor());
  stream.expires_after(seconds{2});
  const auto [refused, at] = co_await stream.async_connect(found, kAwait);
  if (refused) co_return std::nullopt;
  request.set(http::field::host, endpoint);
  request.prepare_payload();
  const auto [lost, sent] = co_await http::async_write(stream, request, kAwait);
  boost::beast::flat_buffer buffer;
  Response answer;
  const auto [broken, size] = co_await http::async_read(stream, buffer, answer, kAwait);
  if (lost || broken || answer.result() != status::ok) co_return std::nullopt;
  co_return answer.body();
}

/// The counters of a partition.
struct Counters {
  struct Counter {
    std::int64_t value = 0;
    std::uint64_t changed = 0;  ///< the version that it belongs to
  };
  std::map<std::string, Counter> values;
  std::uint64_t version = 0;
  std::string copied_by;     ///< the endpoint of who has a copy
  std::uint64_t copied = 0;  ///< of which version

  std::string lines_after(std::uint64_t known) const {
    std::string made;
    for (const auto& [name, counter] : values) {
      if (counter.changed <= known) continue;
      made += name + ' ' + std::to_string(counter.value) + '\n';
    }
    return made;
  }
  void take(const std::string& lines) {
    std::istringstream in(lines);
    std::string name;
    for (std::int64_t value = 0; in >> name >> value;) values[name] = {value, ++version};
  }
};

class Service : public neliroute::Listener {
 public:
  Service(neliroute::Router& router, asio::any_io_executor thread)
      : router_(router), thread_(std::move(thread)) {}

  // A token ends with the coroutine that keeps it.
  void prepare(Partition p, neliroute::PrepareToken token) override {
    asio::co_spawn(thread_, fetch(p, token), asio::detached);
  }
  // The former owner has sent the rest by now, if it could.
  void warm_up(const neliroute::Transition& t, neliroute::ReadyToken token) override {
    const bool lost = t.previous && t.previous->ending != neliroute::Ending::released &&
                      t.previous->process.endpoint != router_.process().endpoint;
    asio::post(thread_, [this, p = t.partition, lost, token] {
      const auto rest = rest_.extract(p);
      if (rest) counters_[p].take(rest.mapped());
      if (!rest && lost) std::clog << "partition " << p << ": its counters are lost\n";
    });
  }
  void stopped(const neliroute::Transition& t, neliroute::BarrierToken token) override {
    if (!t.successor) return;  // it goes on by itself, or nobody does
    asio::post(thread_, [this, p = t.partition, to = t.successor->endpoint, token] {
      leaving_[p] = {to, token};
    });
  }
  // Now nobody changes them any more.
  void work_ended(Partition p, const Epoch&) override {
    asio::co_spawn(thread_, hand_over(p), asio::detached);
  }
  void failed(const neliroute::Error&) override {  // on_notice reported it
    exit_code = 2;
    std::raise(SIGTERM);
  }
  int exit_code = 0;

  /// On the service's thread.
  asio::awaitable<Response> answer(const Request& request) {
    std::istringstream words{std::string(request.target())};
    std::string empty, name, number, from;
    std::getline(std::getline(words, empty, '/'), name, '/');
    if (std::getline(words, number, '/')) {  // of another process
      const Partition p{static_cast<std::uint32_t>(std::atoi(number.c_str()))};
      std::getline(words, from);
      co_return name == "copy" ? copy(p, from) : take_rest(p, request.body());
    }
    if (name.empty() ||
        !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); })) {
      co_return text(status::bad_request, "expected GET or POST /NAME, of letters and digits");
    }
    const neliroute::Slot slot = router_.slot_of(name);
    const Epoch epoch = neliroute::parse_epoch(request["Neliroute-Epoch"]).value_or(kNoEpoch);
    const int hops = std::atoi(std::string(request["Neliroute-Hops"]).c_str());
    const auto admit = [&] { return router_.admit(slot, epoch, static_cast<std::uint32_t>(hops)); };
    neliroute::Admission admitted = admit();
    if (admitted.answer() == Admit::wait) {  // until a record names the owner
      co_await router_.async_route_after(slot, epoch, seconds{2}, kAwait);
      admitted = admit();
    }
    if (admitted) {  // which is a guard: work_ended() waits for it
      asio::steady_timer work(thread_, milliseconds{std::atoi(request.body().c_str())});
      co_await work.async_wait(kAwait);
      co_return count(admitted.partition(), name, request.method() == http::verb::post);
    }
    if (admitted.answer() == Admit::wait) {
      co_return text(status::service_unavailable, "nobody owns it now");
    }
    Response elsewhere = text(status::misdirected_request, "another process owns it");
    elsewhere.set("Neliroute-Slot", std::to_string(slot.value()));  // so a gateway asks that one
    if (admitted.answer() == Admit::redirect) elsewhere.set("Neliroute-Owner", admitted.endpoint());
    co_return elsewhere;
  }

 private:
  struct Leaving {
    std::string to;
    neliroute::BarrierToken barrier;
  };

  asio::awaitable<void> fetch(Partition p, neliroute::PrepareToken token) {
    counters_[p] = {};
    rest_.erase(p);
    const neliroute::Predecessor* const owner = token.predecessor();
    if (!owner) co_return;
    const auto lines = co_await ask(
        owner->process.endpoint,
        {http::verb::get, "/copy/" + number_of(p) + '/' + router_.process().endpoint, 11});
    if (lines) counters_[p].take(*lines);
  }
  asio::awaitable<void> hand_over(Partition p) {
    const auto leaving = leaving_.extract(p);
    if (!leaving) co_return;
    const Counters counters = std::move(counters_[p]);
    counters_.erase(p);
    // All of them to one that has no copy, or an older one.
    const bool has_copy = counters.copied_by == leaving.mapped().to;
    Request rest(http::verb::post, "/rest/" + number_of(p) + '/', 11);
    rest.body() = counters.lines_after(has_copy ? counters.copied : 0);
    if (!co_await ask(leaving.mapped().to, std::move(rest))) {
      std::clog << "partition " << p << ": " << leaving.mapped().to << " does not take it\n";
    }
  }

  Response copy(Partition p, const std::string& from) {
    Counters& counters = counters_[p];
    counters.copied_by = from;
    counters.copied = counters.version;
    return text(status::ok, counters.lines_after(0));
  }
  Response take_rest(Partition p, const std::string& lines) {
    rest_[p] = lines;
    return text(status::ok, "");
  }
  Response count(Partition p, const std::string& name, bool adds) {
    Counters& counters = counters_[p];
    if (adds) {
      auto& counter = counters.values[name];
      counter = {counter.value + 1, ++counters.version};
    }
    const auto known = counters.values.find(name);
    const auto value = known == counters.values.end() ? 0 : known->second.value;
    return text(status::ok, std::to_string(value) + '\n');
  }
  static std::string number_of(Partition p) { return std::to_string(p.value()); }

  neliroute::Router& router_;
  asio::any_io_executor thread_;
  std::map<Partition, Counters> counters_;
  std::map<Partition, Leaving> leaving_;   ///< work goes on in them
  std::map<Partition, std::string> rest_;  ///< came before this process leads
};

asio::awaitable<void> serve(boost::beast::tcp_stream stream, Service& service) {
  boost::beast::flat_buffer buffer;
  for (bool more = true; more;) {
    Request request;
    stream.expires_after(seconds{30});
    const auto [broken, size] = co_await http::async_read(stream, buffer, request, kAwait);
    if (broken) co_return;
    Response response = co_await service.answer(request);
    more = request.keep_alive() && response.result() != status::misdirected_request;
    response.keep_alive(more);
    response.prepare_payload();
    stream.expires_after(seconds{30});
    co_await http::async_write(stream, response, kAwait);
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, Service& service) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (!error) {
      boost::beast::tcp_stream stream(std::move(socket));
      asio::co_spawn(acceptor.get_executor(), serve(std::move(stream), service), asio::detached);
    } else {  // no descriptor is left, most likely
      co_await asio::steady_timer(acceptor.get_executor(), milliseconds{100}).async_wait(kAwait);
    }
  }
}

int main(int count, char** words) try {
  if (count != 3) return std::cerr << "use: HOST:PORT BROKERS\n", 2;
  auto options = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!options) return std::cerr << options.error().message() << '\n', 2;
  const std::string endpoint = options->process.endpoint = words[1];
  options->kafka.brokers = words[2];
  options->mode = neliroute::Mode::exclusive;
  options->on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  asio::io_context io;
  asio::thread_pool thread(1);
  const auto colon = endpoint.rfind(':');
  const auto host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  tcp::acceptor acceptor(thread, tcp::resolver(io).resolve(host, port).begin()->endpoint());
  const auto opened = neliroute::Router::open(io.get_executor(), *options);
  if (!opened) return std::cerr << opened.error().message() << '\n', 2;
  neliroute::Router& router = **opened;
  Service service(router, thread.get_executor());
  const auto subscription = router.subscribe(service);
  asio::co_spawn(thread, accept(acceptor, service), asio::detached);

  asio::steady_timer later(io);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](auto, int) {
    // Longer than successors may prepare. Some callers do not know yet that they lead.
    router.async_drain(router.timing().drain + 2 * options->prepare_timeout, [&](auto) {
      later.expires_after(milliseconds{500});
      later.async_wait([&](auto) { io.stop(); });
    });
  });
  io.run();
  thread.stop();
  thread.join();
  return service.exit_code;
} catch (const std::exception& error) {  // Asio throws; neliroute returns values
  std::cerr << words[1] << ": " << error.what() << '\n';
  return 2;
}
