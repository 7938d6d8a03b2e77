#include "tool/exec/behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <memory>
#include <utility>

#include "forward/rules/trusted_peers.h"
#include "router/text/listen_address.h"
#include "tool/admin_port.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/exec/finish_time.h"
#include "tool/exec/notifier.h"
#include "tool/exec/program.h"
#include "tool/exec/program_listener.h"
#include "tool/exec/when_ready.h"
#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/upstream/health_watch.h"
#include "tool/upstream/ready.h"

namespace neliroute::tool {
namespace {

// For the program to begin to accept connections, unless --timeout says something else.
constexpr milliseconds kReady{60'000};
// Shorter would take a busy machine for a dead application.
constexpr milliseconds kUnhealthyLeast{100};

Result<std::string> parse_path(const std::string& text) {
  const bool printable = std::all_of(text.begin(), text.end(),
                                     [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (text.starts_with('/') && printable) return text;
  return Error{Errc::bad_option, "\"" + text + "\": expected a path, as in /health"};
}

/// The program, and what it is told. Its end, or its hanging, has the owner leave.
class Run {
 public:
  Run(std::optional<int>& status, FinishTime& finish, Leave leave)
      : status_(status), finish_(finish), leave_(std::move(leave)) {}
  ~Run() {
    if (!program_) return;
    program_->finish(finish_.left());
    if (const auto status = program_->stop(finish_.last())) ended(*status);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] Result<void> start(boost::asio::io_context& io, const BehindOptions& options,
                                   milliseconds bound) {
    if (options.exec) {
      auto started =
          Program::start(io.get_executor(), *options.exec, options.front.stop, handlers());
      if (!started) return started.error();
      program_ = std::move(*started);
    }
    notified_elsewhere_ = options.notify.has_value();
    if (options.upstream) {
      HealthProbe probe(io.get_executor(), *options.upstream, options.health);
      if (auto ready = await(io, "--upstream", probe, bound); !ready) return ready;
    }
    // Or it would miss what happens first.
    if (!options.notify) return {};
    HealthProbe probe(io.get_executor(), options.notify->address(), std::nullopt);
    return await(io, "--notify", probe, bound);
  }

  /// Whether the program is notified by its stdin: of what this router owns, from now on.
  [[nodiscard]] Subscription notify_of(Router& router) {
    if (!program_ || notified_elsewhere_) return {};
    program_->expect(router.settings().partitions);
    listener_.of_process(router.id());
    return router.subscribe(listener_);
  }
  [[nodiscard]] const Leave& leave() const noexcept { return leave_; }
  void leave_as_hung() {
    if (!status_) status_ = kExitUnreachable;
    leave_("the program hangs");
  }
  /// Before the router was opened.
  [[nodiscard]] bool ended_early() const noexcept { return ended_early_; }

 private:
  [[nodiscard]] Program::Handlers handlers() {
    Program::Handlers made;
    made.on_line = [this](std::string_view line) { listener_.on_line(line); };
    made.on_silent = [this] { listener_.on_silent(); };
    made.on_exit = [this](int status) {
      ended(status);
      leave_("the program has ended");
    };
    made.on_hung = [this] {
      log(Severity::error, "the program does not read its stdin: it counts as hung");
      leave_as_hung();
    };
    made.on_deaf = [] {
      log(Severity::warning,
          "the program reads nothing of its stdin, and has written nothing on its descriptor 3: it "
          "is told nothing any more of what it owns");
    };
    return made;
  }
  void ended(int status) {
    if (!status_) status_ = status;  // or else why it has to leave came before
    log(Severity::error, fmt::format("the program ended with status {}", status));
  }
  [[nodiscard]] Result<void> await(boost::asio::io_context& io, const std::string& flag,
                                   HealthProbe& probe, milliseconds bound) {
    auto ready = await_upstream(io, flag, probe, bound, [this] { return status_.has_value(); });
    if (!ready && status_) {
      ended_early_ = true;
      return Error{Errc::closed, fmt::format("--exec: the program ended with status {} before it "
                                             "accepted a connection", *status_)};
    }
    return ready;
  }

  std::optional<int>& status_;
  FinishTime& finish_;
  Leave leave_;
  bool notified_elsewhere_ = false;
  bool ended_early_ = false;
  ProgramListener listener_{[this](std::string_view line) { program_->write(line); }};
  std::unique_ptr<Program> program_;
};

/// Serves at the endpoint, and notifies, for as long as the router is open, and then finishes.
class Served {
 public:
  explicit Served(FinishTime& finish) : finish_(finish) {}
  ~Served() {
    ready.reset();
    health.reset();
    static_cast<void>(finish_.left());  // it begins here; the front itself has all of it
    if (front) {
      std::promise<void> ended;
      front->drain([&ended] { ended.set_value(); });
      ended.get_future().wait();
    }
    subscription.cancel();
    if (notifier) notifier->finish(finish_.left());
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::unique_ptr<HttpFront> front;
  std::unique_ptr<WhenReady> ready;  ///< the front listens then
  std::unique_ptr<HealthWatch> health;
  std::unique_ptr<Notifier> notifier;
  Subscription subscription;

 private:
  FinishTime& finish_;
};

Result<std::unique_ptr<HttpFront>> front_of(const Router& router, const BehindOptions& options) {
  return HttpFront::bind(
      options.front, options.listen.value_or(router.process().endpoint),
      [&](boost::asio::any_io_executor executor, ForwarderOptions made) {
        made.application = *options.upstream;
        made.limits.application_idle = options.upstream_idle;
        made.trusted_peers = options.trusted;
        if (options.handover_grace) made.limits.handover_grace = *options.handover_grace;
        return Forwarder::bind(std::move(executor), router, std::move(made));
      });
}

Result<void> listen(HttpFront& front, const BehindOptions& options) {
  if (auto listens = front.listen(); !listens) return listens;
  log(Severity::info, fmt::format("serves {}://{}/, key {}, by {}", options.front.scheme(),
                                  front.address(), options.front.key->to_string(),
                                  *options.upstream));
  return {};
}

std::unique_ptr<Notifier> notifier_of(const NotifyUrl& url, milliseconds each, ProcessId process,
                                      std::function<void()> hung) {
  NotifierOptions made{url};
  if (each.count() > 0) made.each = each;
  auto notifier = std::make_unique<Notifier>(std::move(made), std::move(hung));
  notifier->of_process(process);
  return notifier;
}

}  // namespace

void add_behind_options(CommandLine& line, BehindOptions& options) {
  line.heading("HTTP");
  line.add({.field = "application", .flag = "--upstream", .type = "HOST:PORT",
            .help = "An HTTP server that knows nothing of slots: serve at --endpoint, send it the "
                    "requests for keys that this process owns, and the others to their owners. "
                    "Joins once it is healthy: within a minute, or --timeout",
            .first_day = true},
           into_if(options.upstream, parse_listen));
  line.add({.flag = "--listen", .type = "HOST:PORT",
            .help = "Where it serves, if not at --endpoint: behind a port mapping, NAT or a proxy "
                    "that ends TLS, callers connect elsewhere than it can listen",
            .first_day = true},
           into_if(options.listen, parse_listen));
  line.add({.flag = "--health", .type = "PATH",
            .help = "It is healthy if it answers GET PATH with 2xx (default: if it accepts "
                    "connections)"},
           into(options.health, parse_path));
  line.add({.flag = "--unhealthy-after", .type = "TIME",
            .help = "Hand over and own nothing once it was not healthy for this time, until it is "
                    "again (default: the session)"},
           into(options.unhealthy_after, parse_duration));
  line.add({.field = "limits.application_idle", .flag = "--upstream-idle", .type = "TIME",
            .help = "How long a connection to it is kept for the next request: less than it keeps "
                    "one itself, 0ms: not at all (default: a second less than its Keep-Alive: "
                    "timeout says, else 1s)"},
           into(options.upstream_idle, parse_duration));
  line.add({.flag = "--exec", .type = "COMMAND",
            .help = "Start this program, by a shell; leave when it ends, and end it on leaving. "
                    "Lines of JSON on its stdin say what it owns",
            .first_day = true},
           into(options.exec));
  line.add({.flag = "--notify", .type = "URL",
            .help = "POST there, to a server on this machine, what --exec says on stdin: in order "
                    "for each partition; an answer 2xx ends a step"},
           into(options.notify, parse_notify_url));
  line.add({.field = "prepare_timeout", .flag = "--prepare-timeout", .type = "TIME",
            .help = "How long the program may take for each prepare and warm_up, and with --notify "
                    "for any event (default 5s); raise --drain-timeout by as much"},
           into(options.prepare, parse_duration));
  add_front_options(line, options.front);
  line.add({.field = "limits.handover_grace", .flag = "--handover-grace", .type = "TIME",
            .help = "Exclusive mode: how long a request may hold up the hand-over of its partition "
                    "before it is sent to the next owner, or cut (default 1s)"},
           into(options.handover_grace, parse_duration));
  line.add({.field = "trusted_peers", .flag = "--trust-peers", .type = "CIDR,...",
            .help = "Whose Neliroute- fields count: gateways and other owners (default "
                    "127.0.0.0/8,::1)"},
           into_if(options.trusted, forward::TrustedPeers::parse));
  line.add({.field = "hop_limit", .flag = "--hop-limit", .type = "N",
            .help = "How often a request may have been sent on before this process refuses to send "
                    "it on (default 3)"},
           into(options.hop_limit,
                [](const std::string& text) { return parse_number(text, 1, 1000); }));
}

const char* BehindOptions::given_of_application() const noexcept {
  for (const auto& [flag, given] :
       {std::pair{"--listen", listen.has_value()}, {"--health", health.has_value()},
        {"--unhealthy-after", unhealthy_after.has_value()},
        {"--handover-grace", handover_grace.has_value()},
        {"--upstream-idle", upstream_idle.has_value()}}) {
    if (given) return flag;
  }
  return nullptr;
}

Result<void> BehindOptions::check(const OwnerOptions& owner) const {
  const auto unfit = [](std::string text) { return Error{Errc::bad_option, std::move(text)}; };
  const std::string& endpoint = owner.common.router.process.endpoint;
  if (endpoint.empty()) return unfit("--endpoint is missing: say where callers should connect");
  if (prepare && !exec && !notify) {
    return unfit("--prepare-timeout: no program is told of what it may prepare; give --exec or "
                 "--notify, too");
  }
  if (prepare && *prepare > kLeaseMax) {
    return unfit("--prepare-timeout: expected at most 10m, since others lead on meanwhile, or "
                 "nobody does");
  }
  if (const char* const flag = given_of_application(); flag != nullptr && !upstream) {
    return unfit(std::string(flag) + " is of the application behind --upstream; give that, too, or "
                 "leave it out");
  }
  if (unhealthy_after && *unhealthy_after < kUnhealthyLeast) {
    return unfit("--unhealthy-after: expected at least 100ms");
  }
  if (handover_grace && handover_grace->count() == 0) {
    return unfit("--handover-grace: expected more than 0");
  }
  if (!upstream) return {};
  if (!front.key) return unfit("--upstream needs --key: say where in a request its key is");
  if (auto fits = check_front(front); !fits) return fits;
  return AdminPort::check(listen.value_or(endpoint), listen ? "--listen" : "--endpoint");
}

int run_before(const std::string& command, const OwnerOptions& owner,
               const BehindOptions& options) {
  std::optional<int> status;
  bool ended_early = false;
  FinishTime finish(options.front.stop);
  std::weak_ptr<Run> running;
  const BeforeOpen before = [&](boost::asio::io_context& io,
                                Leave leave) -> Result<std::shared_ptr<void>> {
    auto run = std::make_shared<Run>(status, finish, std::move(leave));
    const auto started = run->start(io, options, owner.common.timeout.value_or(kReady));
    ended_early = run->ended_early();
    if (!started) return started.error();
    running = run;
    return std::shared_ptr<void>(std::move(run));
  };
  const Companion beside =
      [&](Router& router, const boost::asio::any_io_executor& executor) -> std::shared_ptr<void> {
    const auto run = running.lock();  // it lives longer than the router
    const auto served = std::make_shared<Served>(finish);
    const char* const flag = options.listen ? "--listen: " : "--endpoint: ";
    const auto cannot_serve = [&status, flag, leave = run->leave()](const Error& error) {
      log(Severity::error, flag + error.message());
      status = exit_code_of(error.code());
      leave("it cannot serve");
    };
    if (options.upstream) {
      auto opened = front_of(router, options);
      if (!opened) {
        cannot_serve(opened.error());
        return nullptr;
      }
      served->front = std::move(*opened);
      const auto begin = [&options, cannot_serve, front = served->front.get()] {
        if (const auto listens = listen(*front, options); !listens) cannot_serve(listens.error());
      };
      served->ready = std::make_unique<WhenReady>(router, begin);
      served->health = std::make_unique<HealthWatch>(
          executor, router, *options.upstream, options.health,
          options.unhealthy_after.value_or(router.timing().session));
    }
    if (options.notify) {
      const auto hung = [executor, running] {
        boost::asio::post(executor, [running] {
          if (const auto hanging = running.lock()) hanging->leave_as_hung();
        });
      };
      served->notifier = notifier_of(
          *options.notify, owner.common.router.prepare_timeout, router.id(), hung);
      served->subscription = router.subscribe(*served->notifier);
    } else {
      served->subscription = run->notify_of(router);
    }
    return served;
  };
  OwnerOptions served = owner;
  if (options.upstream) served.proxy = options.front.counts;
  const int code = run_owner(command, served, beside, before);
  if (ended_early && *status != kExitYes) return *status;
  return status && code == kExitYes ? *status : code;
}

}  // namespace neliroute::tool
