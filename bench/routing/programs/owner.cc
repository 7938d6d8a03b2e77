// An owner for callers that look up themselves: `neliroute run` with the application inside. It
// asks admit() about each request, and answers 421 to those that it does not serve; it forwards
// nothing.
//
//     routing_owner --endpoint 127.0.0.1:8001 --name alpha --store 127.0.0.1:9000 --brokers ...
#include "tool/owner.h"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <future>
#include <memory>
#include <neliroute/router.h>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "bench/routing/programs/counting.h"
#include "bench/routing/programs/program.h"
#include "forward/rules/peer_fields.h"
#include "tool/command_line/command_line.h"
#include "tool/command_line/take.h"

namespace neliroute::bench {
namespace {

// A caller that waits here for longer had better look up again.
constexpr milliseconds kPatience{1000};
// Where a newer claim is known to the caller and was not read here yet.
constexpr milliseconds kReadSoon{1};

/// A request that may have to wait before it can be decided.
struct Asked {
  ServedPtr served;
  Increment what;
  Slot slot;
  Epoch epoch = kNoEpoch;
  std::uint32_t hops = 0;
  std::chrono::steady_clock::time_point until;
  /// A strand that hangs ends no wait: this does.
  boost::asio::steady_timer limit;
  boost::asio::steady_timer again;
  bool answered = false;

  void answer(const HttpAnswer& answer) {
    if (std::exchange(answered, true)) return;
    limit.cancel();
    served->answer(answer);
  }
};
using AskedPtr = std::shared_ptr<Asked>;

/// Serves at the endpoint, on a thread of its own.
class Front {
 public:
  Front(Router& router, const std::string& store, const std::string& name)
      : router_(router),
        store_(io_, endpoint_of(store), name),
        server_(io_, endpoint_of(router.process().endpoint),
                [this](const ServedPtr& served) { serve(served); }),
        thread_([this] { io_.run(); }) {}

  ~Front() {
    std::promise<void> drained;
    boost::asio::post(io_, [&] { server_.drain([&] { drained.set_value(); }); });
    drained.get_future().wait_for(kPatience);
    io_.stop();
    thread_.join();
  }
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

 private:
  void serve(const ServedPtr& served) {
    const auto what = read_increment(served->request());
    const auto read = forward::read_peer_fields(served->request());
    const auto* said = std::get_if<forward::PeerFields>(&read);
    if (!what || said == nullptr) {
      HttpAnswer answer;
      answer.status = 400;
      return served->answer(answer);
    }
    decide(std::make_shared<Asked>(
        Asked{served, *what, router_.slot_of(key_text(what->key)), said->epoch, said->hops,
              std::chrono::steady_clock::now() + kPatience, boost::asio::steady_timer(io_),
              boost::asio::steady_timer(io_)}));
  }

  void decide(const AskedPtr& asked) {
    if (asked->answered) return;
    auto admitted = router_.admit(asked->slot, asked->epoch, asked->hops);
    switch (admitted.answer()) {
      case Admit::serve: {
        asked->answered = true;
        asked->limit.cancel();
        const Epoch epoch = admitted.epoch();
        auto guard = std::make_shared<Admission>(std::move(admitted));
        return increment(store_, asked->served, asked->what, asked->slot, epoch, std::move(guard));
      }
      case Admit::redirect:
        return asked->answer(misdirected(asked->slot, admitted.epoch()));
      case Admit::wait:
        return wait(asked);
      case Admit::refuse:
        HttpAnswer refused = misdirected(asked->slot);
        refused.close = true;
        return asked->answer(refused);
    }
  }

  void wait(const AskedPtr& asked) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(asked->until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return asked->answer(misdirected(asked->slot));
    asked->limit.expires_at(asked->until);
    asked->limit.async_wait([asked](boost::system::error_code error) {
      if (!error) asked->answer(misdirected(asked->slot));
    });
    router_.async_route_after(
        asked->slot, asked->epoch, left,
        boost::asio::bind_executor(
            io_, [this, asked](boost::system::error_code error, const Route& route) {
              if (error) return asked->answer(misdirected(asked->slot));
              // Such a wait ends at once, as this process leads.
              const bool behind = route.verdict == Verdict::local && route.epoch < asked->epoch;
              behind ? decide_soon(asked) : decide(asked);
            }));
  }

  void decide_soon(const AskedPtr& asked) {
    asked->again.expires_after(kReadSoon);
    asked->again.async_wait([this, asked](boost::system::error_code error) {
      if (!error) decide(asked);
    });
  }

  Router& router_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  StoreLink store_;
  HttpServer server_;
  std::thread thread_;  // last: it uses all of the above
};

int run_counting_owner(const std::vector<std::string>& arguments) {
  tool::CommandLine line(
      {"routing_owner", "As `neliroute run`, and counts; for bench/routing.", "", ""});
  tool::OwnerOptions options;
  tool::add_owner_options(line, options);
  std::string store;
  line.add({.flag = "--store", .type = "ADDRESS:PORT", .help = "Where the counters are"},
           tool::into(store));
  if (const auto code = line.parse({arguments})) return *code;
  if (store.empty()) fail("--store is missing");
  return tool::run_owner(
      line.name(), options, [&](const tool::OpenOwner& owner) {
        Router& router = owner.router;
        // The id is of this start, the name of all of them.
        const std::string name = to_string(router.id()) + "." + router.process().name;
        return std::shared_ptr<void>(std::make_shared<Front>(router, store, name));
      });
}

}  // namespace
}  // namespace neliroute::bench

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  return neliroute::bench::run_counting_owner({arguments + 1, arguments + count});
}
