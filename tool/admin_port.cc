#include "tool/admin_port.h"

#include <sys/resource.h>

#include <utility>

#include "router/text/listen_address.h"
#include "tool/command_line/flags.h"
#include "tool/command_line/take.h"
#include "tool/print/log.h"

namespace neliroute::tool {
void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void add_http_option(CommandLine& line, std::optional<std::string>& http) {
  line.add({.flag = "--http", .type = "HOST:PORT",
            .help = "Serve the slot page, the view and its events, metrics and health there; a "
                    "port alone: for this machine only, 0: any free one",
            .first_day = true},
           into_if(http, parse_listen));
}

Result<void> AdminPort::check(const std::optional<std::string>& at, const std::string& flag) {
  if (!at) return {};
  boost::asio::io_context io;
  const auto listened = listen_at(io.get_executor(), *at);
  if (listened) return {};
  return Error{listened.error().code(), flag + ": " + listened.error().message()};
}

Result<std::unique_ptr<AdminPort>> AdminPort::open(
    const Observable& observable, const std::optional<std::string>& http,
    std::optional<AdminControl> control, const std::optional<ForwarderCounts>& proxy,
    std::function<std::string()> lacks) {
  if (!http) return std::unique_ptr<AdminPort>();
  raise_file_limit();
  AdminOptions options;
  options.listen = *http;
  options.on_notice = notice_log();
  options.wording = with_flags;
  options.control = std::move(control);
  options.lacks = std::move(lacks);
  std::unique_ptr<AdminPort> port(new AdminPort);
  if (proxy) {
    options.proxied = [counts = *proxy] { return counts.requests(); };
    port->proxy_ = proxy->metrics(observable);
    options.collectables.push_back(port->proxy_);
  }
  auto server = AdminServer::open(port->io_.get_executor(), observable, std::move(options));
  if (!server) return Error{server.error().code(), "--http: " + server.error().message()};
  port->server_ = std::move(*server);
  port->thread_ = std::thread([raw = port.get()] { raw->io_.run(); });
  log(Severity::info, "admin port: http://" + port->address() + "/");
  if (!port->server_->is_local()) {
    log(Severity::warning, "everybody who can reach " + port->address() +
                               " can read names, endpoints and tags there");
  }
  return port;
}

// Its thread ends when everything that was open is closed.
AdminPort::~AdminPort() {
  server_.reset();
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

}  // namespace neliroute::tool
