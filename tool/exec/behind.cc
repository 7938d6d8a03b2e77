#include "tool/exec/behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "forward/rules/trusted_peers.h"
#include "router/text/listen_address.h"
#include "tool/admin_port.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/exec/program.h"
#include "tool/exec/when_ready.h"
#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/upstream/health_watch.h"

namespace neliroute::tool {
namespace {

// For the program to begin to accept connections, unless --timeout says something else.
constexpr milliseconds kReady{60'000};
// Shorter would take a busy machine for a dead application.
constexpr milliseconds kUnhealthyLeast{100};
// For the program to end, if --stop-timeout allows as much.
constexpr milliseconds kLastLeast{1000};

Result<std::string> parse_path(const std::string& text) {
  const bool printable = std::all_of(text.begin(), text.end(),
                                     [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (text.starts_with('/') && printable) return text;
  return Error{Errc::bad_option, "\"" + text + "\": expected a path, as in /health"};
}

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

/// Where a program on this machine reaches the port.
std::string here(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  if (host == "0.0.0.0") return "127.0.0.1" + address.substr(colon);
  return host == "[::]" ? "[::1]" + address.substr(colon) : address;
}

/// Serves for as long as its owner is open, and then finishes: the front, and the program after it.
class Behind {
 public:
  /// `status`: why it ended, unless its owner was told to.
  Behind(const OpenOwner& owner, const BehindOptions& options, milliseconds starts_within,
         const std::string& token, std::optional<int>& status)
      : owner_(owner), options_(options), status_(status) {
    if (options.upstream && !serve(starts_within)) return;
    if (options.exec) start_program(token);
  }
  ~Behind() {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + options_.front.stop;
    ready_.reset();
    health_.reset();
    if (front_) {
      std::promise<void> ended;
      front_->drain([&ended] { ended.set_value(); });
      ended.get_future().wait();
    }
    if (!program_) return;
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    // It has only now been told to end.
    const auto bound = std::max(left, std::min(options_.front.stop, kLastLeast));
    const GroupEnd ending = program_->stop(bound);
    if (ending.status) ended(*ending.status);
    if (ending.killed) {
      log(Severity::warning, fmt::format("the program did not end within {} ms, and was "
                                         "killed; --stop-timeout is how long it may take",
                                         bound.count()));
    }
  }
  Behind(const Behind&) = delete;
  Behind& operator=(const Behind&) = delete;

 private:
  bool serve(milliseconds starts_within) {
    auto opened = front_of(owner_.router, options_);
    if (!opened) return cannot_serve(opened.error()), false;
    front_ = std::move(*opened);
    ready_ = std::make_unique<WhenReady>(owner_.router, [this] {
      if (const auto listens = listen(*front_, options_); !listens) cannot_serve(listens.error());
    });
    owner_.router.set_unhealthy(*options_.upstream + " has not answered yet");
    HealthWatch::Handlers handlers;
    handlers.healthy = [this] { owner_.router.set_healthy(); };
    handlers.unhealthy = [this](const std::string& why) { owner_.router.set_unhealthy(why); };
    handlers.never = [this](const std::string& why) {
      fail(kExitUnreachable, "--upstream " + why + "; start it, or raise --timeout");
    };
    health_ = std::make_unique<HealthWatch>(
        owner_.executor,
        HealthWatch::Options{*options_.upstream, options_.health,
                             options_.unhealthy_after.value_or(owner_.router.timing().session),
                             starts_within},
        std::move(handlers));
    return true;
  }
  void start_program(const std::string& token) {
    std::vector<std::string> variables{"NELI_CONTROL=" + here(owner_.http->address())};
    if (!token.empty()) variables.push_back("NELI_TOKEN=" + token);
    auto started = Program::start(
        owner_.executor, *options_.exec, variables,
        [this](int status) {
          ended(status);
          owner_.leave("the program has ended");
        });
    if (!started) return fail(kExitUsage, started.error().message());
    program_ = std::move(*started);
  }
  void cannot_serve(const Error& error) {
    fail(exit_code_of(error.code()),
         (options_.listen ? "--listen: " : "--endpoint: ") + error.message());
  }
  void fail(int status, const std::string& why) {
    log(Severity::error, why);
    if (!status_) status_ = status;
    owner_.leave("it cannot serve");
  }
  void ended(int status) {
    if (status_) return;  // why it has to leave came before
    const bool early = health_ && !health_->has_started();
    status_ = early && status == kExitYes ? kExitUnreachable : status;
    log(Severity::error, fmt::format("the program ended with status {}{}", status,
                                     early ? " before it accepted a connection" : ""));
  }

  OpenOwner owner_;
  const BehindOptions& options_;
  std::optional<int>& status_;
  std::unique_ptr<HttpFront> front_;
  std::unique_ptr<WhenReady> ready_;  ///< the front listens then
  std::unique_ptr<HealthWatch> health_;
  std::unique_ptr<Program> program_;
};

}  // namespace

void add_behind_options(CommandLine& line, BehindOptions& options) {
  line.heading("HTTP");
  line.add({.field = "application", .flag = "--upstream", .type = "HOST:PORT",
            .help = "An HTTP server that knows nothing of slots: serve at --endpoint, send it the "
                    "requests for keys that this process owns, and the others to their owners. "
                    "Takes its share once it is healthy: within a minute, or --timeout",
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
            .help = "Start this program, by a shell; leave when it ends, and end it on leaving. It "
                    "may make control calls at $NELI_CONTROL, with $NELI_TOKEN",
            .first_day = true},
           into(options.exec));
  line.add({.field = "prepare_timeout", .flag = "--prepare-timeout", .type = "TIME",
            .help = "How long a program that follows /v1/steps may take for each prepare and "
                    "warm_up (default 5s); raise --drain-timeout by as much"},
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
  if (prepare && !exec && !owner.control.wanted) {
    return unfit("--prepare-timeout: no program can follow what it may prepare; give --exec or "
                 "--control, too");
  }
  if (exec && owner.control.token_file && !owner.control.wanted) {
    return unfit("--control-token says who may make control calls: give --control, or leave the "
                 "token to --exec");
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
  OwnerOptions made = owner;
  if (options.upstream) made.proxy = options.front.counts;
  if (options.exec) {
    if (!made.http) made.http = "127.0.0.1:0";
    if (!made.control.wanted) made.control.secret = random_token();
    made.control.wanted = true;
  }
  std::optional<int> status;
  const Companion beside = [&](const OpenOwner& open) -> std::shared_ptr<void> {
    return std::make_shared<Behind>(open, options, owner.common.timeout.value_or(kReady),
                                    made.control.secret, status);
  };
  const int code = run_owner(command, made, beside);
  return status && code == kExitYes ? *status : code;
}

}  // namespace neliroute::tool
