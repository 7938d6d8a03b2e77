#include "tool/exec/behind.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <future>
#include <memory>
#include <utility>

#include "admin/listen_address.h"
#include "forward/rules/trusted_peers.h"
#include "tool/admin_port.h"
#include "tool/exec/notifier.h"
#include "tool/exec/program.h"
#include "tool/exec/program_listener.h"
#include "tool/print/log.h"
#include "tool/upstream_ready.h"

namespace neliroute::tool {
namespace {

// For the program to begin to accept connections, unless --timeout says something else.
constexpr milliseconds kReady{60'000};

/// The program, and what it is told.
class Run {
 public:
  explicit Run(std::optional<int>& status) : status_(status) {}

  [[nodiscard]] Result<void> start(boost::asio::io_context& io, const BehindOptions& options,
                                   milliseconds bound) {
    if (options.exec) {
      Program::Handlers handlers;
      handlers.on_line = [this](std::string_view line) { listener_.on_line(line); };
      handlers.on_exit = [this](int status) { on_exit(status); };
      auto started = Program::start(io.get_executor(), *options.exec, std::move(handlers));
      if (!started) return started.error();
      program_ = std::move(*started);
    }
    stop_ = options.front.stop;
    notified_elsewhere_ = options.notify.has_value();
    if (options.upstream) {
      if (auto ready = await(io, "--upstream", *options.upstream, bound); !ready) return ready;
    }
    // Or it would miss what happens first.
    return options.notify ? await(io, "--notify", options.notify->address(), bound)
                          : Result<void>();
  }
  ~Run() {
    if (program_) program_->stop(stop_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// From now on its end, or its hanging, ends the owner; unless that is leaving already: another
  /// signal would be the second, at which it leaves nothing in order.
  void watch(const boost::asio::any_io_executor& executor) {
    watched_ = true;
    signals_.emplace(executor, SIGTERM, SIGINT);
    signals_->async_wait([this](const boost::system::error_code& error, int) {
      if (!error) watched_ = false;
    });
    if (status_) std::raise(SIGTERM);
  }
  /// Null: there is no program, or it is notified elsewhere.
  [[nodiscard]] Listener* listener() noexcept {
    return program_ && !notified_elsewhere_ ? &listener_ : nullptr;
  }
  /// Any thread.
  void on_hung() {
    if (watched_) std::raise(SIGTERM);
  }

 private:
  [[nodiscard]] Result<void> await(boost::asio::io_context& io, const std::string& flag,
                                   const std::string& address, milliseconds bound) {
    auto ready =
        await_upstream(io, flag, address, bound, [this] { return status_.has_value(); });
    if (!ready && status_) {
      return Error{Errc::closed, fmt::format("--exec: the program ended with status {} before it "
                                             "accepted a connection", *status_)};
    }
    return ready;
  }
  // An owner whose application is gone hands over, as if it had been asked to.
  void on_exit(int status) {
    status_ = status;
    listener_.on_exit();
    log(Severity::error, fmt::format("the program ended with status {}", status));
    if (watched_) std::raise(SIGTERM);
  }

  std::optional<int>& status_;
  std::unique_ptr<Program> program_;
  milliseconds stop_{0};
  bool notified_elsewhere_ = false;
  std::atomic<bool> watched_ = false;
  std::optional<boost::asio::signal_set> signals_;
  ProgramListener listener_{[this](std::string line) { return program_->write(std::move(line)); },
                            [this] { on_hung(); }};
};

/// Serves at the endpoint, and notifies, for as long as the router is open, and then finishes.
class Served {
 public:
  explicit Served(const BehindOptions& options) : stop_(options.front.stop) {}
  ~Served() {
    if (front) {
      std::promise<void> ended;
      front->drain([&ended] { ended.set_value(); });
      ended.get_future().wait();
    }
    subscription.cancel();
    if (notifier) notifier->finish(stop_);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::unique_ptr<HttpFront> front;
  std::unique_ptr<Notifier> notifier;
  Subscription subscription;

 private:
  milliseconds stop_;
};

Result<std::unique_ptr<HttpFront>> front_of(Router& router, const OwnerOptions& owner,
                                            const BehindOptions& options) {
  const SlotSpace slots{SlotCount{router.settings().slots}, owner.common.router.hash};
  auto peers = forward::TrustedPeers::parse(options.trusted).value();
  auto front = HttpFront::open(
      options.front, router.process().endpoint, slots,
      std::make_unique<forward::AdmittedDirections<Router>>(router, *options.upstream),
      [peers = std::move(peers)](const auto& address) { return peers.contains(address); });
  if (front) {
    log(Severity::info, fmt::format("serves {}://{}/, key {}, by {}", options.front.scheme(),
                                    (*front)->address(), options.front.key->to_string(),
                                    *options.upstream));
  }
  return front;
}

std::unique_ptr<Notifier> notifier_of(const OwnerOptions& owner, const BehindOptions& options,
                                      const std::weak_ptr<Run>& running) {
  NotifierOptions made{*options.notify};
  const milliseconds bound = owner.common.router.prepare_timeout;
  if (bound.count() > 0) made.each = bound;
  return std::make_unique<Notifier>(std::move(made), [running] {
    if (const auto run = running.lock()) run->on_hung();
  });
}

}  // namespace

void add_behind_options(CommandLine& line, BehindOptions& options) {
  line.heading("HTTP");
  line.value("--upstream", "HOST:PORT", "An HTTP server that knows nothing of slots: serve at "
             "--endpoint, send it the requests for keys that this process owns, and the others to "
             "their owners. Joins once it accepts connections",
             [&options](const std::string& text) -> Result<void> {
               if (const auto read = admin::parse_listen(text); !read) return read.error();
               options.upstream = text;
               return {};
             });
  line.value("--exec", "COMMAND", "Start this program, by a shell; leave when it ends, and end it "
             "on leaving. Lines of JSON on its stdin say what it owns",
             [&options](const std::string& text) -> Result<void> {
               options.exec = text;
               return {};
             });
  line.value("--notify", "URL", "POST there, to a server on this machine, what --exec says on "
             "stdin: in order for each partition; an answer 2xx ends a step",
             [&options](const std::string& text) -> Result<void> {
               auto read = parse_notify_url(text);
               if (!read) return read.error();
               options.notify = std::move(*read);
               return {};
             });
  add_front_options(line, options.front);
  line.value("--trust-peers", "CIDR,...", "Whose Neliroute- fields count: gateways and other "
             "owners (default 127.0.0.0/8,::1)",
             [&options](const std::string& text) -> Result<void> {
               if (const auto read = forward::TrustedPeers::parse(text); !read) return read.error();
               options.trusted = text;
               return {};
             });
}

Result<void> BehindOptions::check(const OwnerOptions& owner) const {
  const auto unfit = [](std::string text) { return Error{Errc::bad_option, std::move(text)}; };
  const std::string& endpoint = owner.common.router.process.endpoint;
  if (endpoint.empty()) return unfit("--endpoint is missing: say where callers should connect");
  if (!upstream) return {};
  if (!front.key) return unfit("--upstream needs --key: say where in a request its key is");
  if (auto fits = check_front(front); !fits) return fits;
  return AdminPort::check(endpoint, "--endpoint");
}

int run_before(const std::string& command, const OwnerOptions& owner,
               const BehindOptions& options) {
  std::optional<int> status;
  std::weak_ptr<Run> running;
  const BeforeOpen before = [&](boost::asio::io_context& io) -> Result<std::shared_ptr<void>> {
    auto run = std::make_shared<Run>(status);
    const auto started = run->start(io, options, owner.common.timeout.value_or(kReady));
    if (!started) return started.error();
    running = run;
    return std::shared_ptr<void>(std::move(run));
  };
  const Companion beside = [&](Router& router,
                               const boost::asio::any_io_executor& executor)
      -> std::shared_ptr<void> {
    const auto served = std::make_shared<Served>(options);
    if (options.upstream) {
      auto opened = front_of(router, owner, options);
      if (!opened) {
        log(Severity::error, "--endpoint: " + opened.error().message());
        status = exit_code_of(opened.error().code());
        std::raise(SIGTERM);
        return nullptr;
      }
      served->front = std::move(*opened);
    }
    const auto run = running.lock();
    if (options.notify) {
      served->notifier = notifier_of(owner, options, running);
      served->subscription = router.subscribe(*served->notifier);
    } else if (run && run->listener() != nullptr) {
      served->subscription = router.subscribe(*run->listener());
    }
    if (run) run->watch(executor);
    return served;
  };
  OwnerOptions served = owner;
  if (options.upstream) served.proxy = options.front.counters;
  const int code = run_owner(command, served, beside, before);
  return status && code == kExitYes ? *status : code;
}

}  // namespace neliroute::tool
