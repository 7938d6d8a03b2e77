// neliroute gateway: an HTTP proxy that sends each request to the process that owns its key.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "router/text/listen_address.h"
#include "tool/admin_port.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/exec/stop_signals.h"
#include "tool/http_front.h"
#include "tool/print/output.h"
#include "tool/watcher_loop.h"

namespace neliroute::tool {
namespace {

struct GatewayCommand {
  CommonOptions common;
  std::optional<std::string> listen;
  FrontOptions front;
  std::optional<std::string> http;
};

void add_gateway_options(CommandLine& line, GatewayCommand& options) {
  add_common_options(line, options.common, Part::reader);
  add_wait_flag(line, options.common);
  line.heading("Gateway");
  line.add({.flag = "--listen", .type = "HOST:PORT",
            .help = "Where clients connect; a port alone: from this machine only"},
           into_if(options.listen, parse_listen));
  add_flag(line, "--reuse-port",
           "Other gateways may listen there as well (SO_REUSEPORT), to add one; to replace one, "
           "pass its socket on instead (LISTEN_FDS)", options.front.shares_port);
  add_front_options(line, options.front);
  add_http_option(line, options.http);
}

std::optional<std::string> missing(const GatewayCommand& options) {
  if (!options.listen) return "--listen is missing: say where clients connect";
  if (!options.front.key) return "--key is missing: say where in a request its key is";
  return std::nullopt;
}

/// Until a signal has come and what was under way has ended.
int serve(const std::string& command, const GatewayCommand& options, WatcherLoop& lookup) {
  // Whoever connects is served by what is known: balancers send nobody before.
  lookup.run_until_known([&] {
    const std::vector<Route> view = lookup.watcher().view();
    return std::none_of(view.begin(), view.end(), [](const Route& route) {
      return route.verdict == Verdict::unknown;
    });
  });
  const auto front = HttpFront::bind(
      options.front, *options.listen,
      [&](boost::asio::any_io_executor executor, ForwarderOptions made) {
        return Forwarder::bind(std::move(executor), lookup.watcher(), std::move(made));
      });
  if (!front) return fail(command, front.error());
  if (const auto listens = (*front)->listen(); !listens) return fail(command, listens.error());
  log(Severity::info, fmt::format("gateway: {}://{}/, key {}", options.front.scheme(),
                                  (*front)->address(),
                                  options.front.key->to_string()));
  std::atomic<bool> ended = false;
  boost::asio::signal_set signals(lookup.executor(), SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (error) return;
    static_cast<void>(note_stop_signal());
    finish_until_stop_signal();
    lookup.end();
    log(Severity::info, "finishing what is under way; another signal ends it at once");
    (*front)->drain([&] {
      ended = true;
      lookup.wake();
    });
  });
  lookup.run_until_told([&] { return ended.load(); }, kNever);
  return lookup.failure() ? lookup.fail(command) : kExitYes;
}

}  // namespace

int gateway_command(const Arguments& arguments) {
  CommandLine line({"gateway",
                    "Sends each HTTP/1.1 request to the process that owns its key, waits while "
                    "nobody does, and follows slots that move. Owns nothing. SIGTERM or Ctrl-C: "
                    "finishes what is under way.",
                    "",
                    "Example: neliroute gateway --listen :8080 --key header:X-User"});
  GatewayCommand options;
  add_gateway_options(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  if (const auto what = missing(options)) return fail(line.name(), *what, kExitUsage);
  if (const auto fits = check_front(options.front); !fits) {
    return fail(line.name(), fits.error());
  }
  if (!options.front.shares_port) {
    if (const auto free = AdminPort::check(options.listen, "--listen"); !free) {
      return fail(line.name(), free.error());
    }
  }
  if (const auto free = AdminPort::check(options.http); !free) {
    return fail(line.name(), free.error());
  }
  start_log(options.common.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  end_at_once_on_signals();  // until it serves
  return run_with_watcher(line.name(), options.common, [&](WatcherLoop& lookup) {
    options.front.counts = {};
    const auto admin = AdminPort::open(lookup.watcher().observable(), options.http, std::nullopt,
                                       options.front.counts);
    if (!admin) return fail(line.name(), admin.error());
    const int code = serve(line.name(), options, lookup);
    if (!lookup.ends()) end_at_once_on_signals();
    return code;
  });
}

}  // namespace neliroute::tool
