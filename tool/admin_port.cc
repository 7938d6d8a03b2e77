#include "tool/admin_port.h"

#include <sys/resource.h>

#include <utility>

#include "router/text/listen_address.h"
#include "tool/command_line/flags.h"
#include "tool/command_line/take.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

Error in_flag(const Error& error, const std::string& flag = "--http") {
  return {error.code(), flag + ": " + error.message()};
}

}  // namespace

void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

void add_http_option(CommandLine& line, std::optional<std::string>& http,
                     std::string_view help) {
  line.add({.flag = "--http", .type = "HOST:PORT", .help = help, .first_day = true},
           into_if(http, parse_listen));
}

Result<void> AdminPort::check(const std::optional<std::string>& at, const std::string& flag) {
  if (!at) return {};
  boost::asio::io_context io;
  const auto listened = listen_at(io.get_executor(), *at);
  if (listened) return {};
  return in_flag(listened.error(), flag);
}

Result<std::unique_ptr<AdminPort>> AdminPort::open(
    const Observable& observable, const std::optional<std::string>& http,
    std::optional<AdminControl> control, const std::optional<ForwarderCounts>& proxy,
    std::function<std::string()> lacks, std::vector<std::weak_ptr<prometheus::Collectable>> more) {
  if (!http) return std::unique_ptr<AdminPort>();
  raise_file_limit();
  AdminOptions options;
  options.listen = *http;
  options.on_notice = notice_log();
  options.wording = with_flags;
  options.control = std::move(control);
  options.lacks = std::move(lacks);
  options.collectables = std::move(more);
  std::unique_ptr<AdminPort> port(new AdminPort);
  if (proxy) {
    options.proxied = [counts = *proxy] { return counts.requests(); };
    port->proxy_ = proxy->metrics(observable);
    options.collectables.push_back(port->proxy_);
  }
  auto server = AdminServer::open(port->io_.get_executor(), observable, std::move(options));
  if (!server) return in_flag(server.error());
  port->server_ = std::move(*server);
  port->run(port->server_->is_local(), "names, endpoints and tags");
  return port;
}

Result<std::unique_ptr<AdminPort>> AdminPort::open_probes(const std::optional<std::string>& http,
                                                          admin::ProbeOptions options) {
  if (!http) return std::unique_ptr<AdminPort>();
  options.listen = *http;
  options.on_notice = notice_log();
  std::unique_ptr<AdminPort> port(new AdminPort);
  auto probes = admin::ProbeServer::open(port->io_.get_executor(), std::move(options));
  if (!probes) return in_flag(probes.error());
  port->probes_ = std::move(*probes);
  port->run(port->probes_->is_local(), "metrics");
  return port;
}

void AdminPort::run(bool is_local, const char* shown) {
  thread_ = std::thread([this] { io_.run(); });
  log(Severity::info, "admin port: http://" + address() + "/");
  if (is_local) return;
  log(Severity::warning,
      "everybody who can reach " + address() + " can read " + shown + " there");
}

// Its thread ends when everything that was open is closed.
AdminPort::~AdminPort() {
  server_.reset();
  probes_.reset();
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

}  // namespace neliroute::tool
