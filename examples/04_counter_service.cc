// Counters over HTTP, each in the memory of the process that owns it:
//   04_counter_service HOST:PORT BROKERS FOLDER      several, with the same folder
//   curl -X POST http://HOST:PORT/visits             adds 1; GET reads
//
// Any process may be asked: one that does not own the counter answers 421, and says who does. With
// `neliroute gateway --key path:1` before them, callers need not know that. And with
// NELIROUTE_ASSIGNMENT=assigner before each process, one of them assigns (01).
//
// A process loads a partition's counters before it serves them, in two steps. In prepare() it reads
// what is stored, while the old owner counts on. In warm_up() the old one has finished: what it
// stored since is read, which is little, and from then on the store refuses every earlier owner.
//
// Two threads: the router's, which renews leases, so nothing there may take long; and the
// service's, which has the counters and the store for itself, so they need no lock.
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
#include <neliroute/observable.h>
#include <neliroute/router.h>

#include "examples/04_fenced_file.h"

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
  made.body() = line + '\n';
  return made;
}

class Service : public neliroute::Listener {
 public:
  Service(neliroute::Router& router, asio::any_io_executor thread, std::string folder)
      : router_(router), thread_(std::move(thread)), folder_(std::move(folder)) {}

  // A token ends with the function that keeps it. What was read in vain stays: files only grow.
  void prepare(Partition p, neliroute::PrepareToken token) override {
    asio::post(thread_, [this, p, token] { FencedFile(folder_, p).read(counters_[p]); });
  }
  void warm_up(const neliroute::Transition& t, neliroute::ReadyToken token) override {
    asio::post(thread_, [this, p = t.partition, epoch = t.epoch, token] { take(p, epoch); });
  }
  // The successor waits for this, and for what is being counted: admit() gave each request a guard.
  void stopped(const neliroute::Transition& t, neliroute::BarrierToken token) override {
    asio::post(thread_, [this, p = t.partition, token] { counters_.erase(p); });
  }
  void failed(const neliroute::Error&) override {  // on_notice reported it
    exit_code = 2;
    std::raise(SIGTERM);
  }
  int exit_code = 0;

  /// On the service's thread.
  asio::awaitable<Response> answer(const Request& request) {
    const std::string name(request.target().substr(1));
    const bool adds = request.method() == http::verb::post;
    if ((!adds && request.method() != http::verb::get) || name.empty() ||
        !std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c); })) {
      co_return text(status::bad_request, "expected GET or POST /NAME, of letters and digits");
    }
    // What sent the request here. It is believed: only gateways and other owners reach this port.
    const Epoch epoch = neliroute::parse_epoch(request["Neliroute-Epoch"]).value_or(kNoEpoch);
    const int hops = std::atoi(std::string(request["Neliroute-Hops"]).c_str());
    const neliroute::Slot slot = router_.slot_of(name);
    const auto admit = [&] { return router_.admit(slot, epoch, static_cast<std::uint32_t>(hops)); };
    neliroute::Admission admitted = admit();
    if (admitted.answer() == Admit::wait) {  // until a record names the owner
      co_await router_.async_route_after(slot, epoch, seconds{2}, kAwait);
      admitted = admit();
    }
    if (admitted) co_return count(name, adds, admitted.partition(), admitted.epoch());
    if (admitted.answer() == Admit::wait) {
      co_return text(status::service_unavailable, "nobody owns it now");
    }
    if (admitted.answer() == Admit::refuse && !router_.observable().closed()) {
      co_return text(status::loop_detected, "sent on too often");
    }
    Response elsewhere = text(status::misdirected_request, "another process owns it");
    elsewhere.set("Neliroute-Slot", std::to_string(slot.value()));  // so a gateway asks that one
    if (admitted.answer() == Admit::redirect) {  // else this process has left, and knows nobody
      elsewhere.set("Neliroute-Owner", admitted.endpoint());
      elsewhere.set("Neliroute-Epoch", to_string(admitted.epoch()));
    }
    co_return elsewhere;
  }

 private:
  /// Its caller keeps the guard meanwhile.
  Response count(const std::string& name, bool adds, Partition p, const Epoch& epoch) {
    // warm_up() has taken them, unless it was late, or the epoch has changed since.
    Counters& counters = counters_[p];
    bool ours = counters.epoch == epoch || take(p, epoch);
    const auto known = counters.values.find(name);
    const auto value = (known == counters.values.end() ? 0 : known->second) + (adds ? 1 : 0);
    if (ours && adds) ours = FencedFile(folder_, p).set(counters, name, value);
    if (ours) return text(status::ok, std::to_string(value));
    // The store knows a later owner. If there is none, it was restored, say: example 02 tells more.
    counters_.erase(p);
    if (router_.holds({p, epoch, {}})) router_.refused(p, FencedFile(folder_, p).epoch());
    return text(status::service_unavailable, "the store knows a later owner");
  }
  bool take(Partition p, const Epoch& epoch) {
    return FencedFile(folder_, p).take(counters_[p], epoch);
  }

  neliroute::Router& router_;
  asio::any_io_executor thread_;
  const std::string folder_;
  std::map<Partition, Counters> counters_;
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
  if (count != 4) return std::cerr << "use: HOST:PORT BROKERS FOLDER\n", 2;
  auto options = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!options) return std::cerr << options.error().message() << '\n', 2;
  const std::string endpoint = options->process.endpoint = words[1];
  options->kafka.brokers = words[2];
  options->mode = neliroute::Mode::exclusive;
  options->timing.profile = neliroute::Profile::fast;
  options->on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  asio::io_context io;
  asio::thread_pool thread(1);
  const auto colon = endpoint.rfind(':');
  const auto host = endpoint.substr(0, colon), port = endpoint.substr(colon + 1);
  tcp::acceptor acceptor(thread, tcp::resolver(io).resolve(host, port).begin()->endpoint());
  const auto opened = neliroute::Router::open(io.get_executor(), *options);
  if (!opened) return std::cerr << opened.error().message() << '\n', 2;
  neliroute::Router& router = **opened;
  Service service(router, thread.get_executor(), words[3]);
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
