#include "router/text/listen_address.h"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/algorithm/string/predicate.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "neli_core/system_refusal.h"
#include "router/listen/passed_sockets.h"

namespace neliroute {
namespace {

Error misread(std::string_view text, std::string_view what) {
  return {Errc::bad_option, "\"" + std::string(text) + "\" " + std::string(what) +
                                "; give HOST:PORT, as in 127.0.0.1:8080, [::1]:8080 or "
                                "0.0.0.0:8080 (all that reach this machine), or a port alone"};
}

}  // namespace

Result<ListenText> parse_listen(std::string_view text) {
  const auto colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  std::string_view host;
  std::string_view port = text;
  if (colon != std::string_view::npos && !(bracketed && text.ends_with(']'))) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
  } else if (bracketed) {
    return misread(text, "has no port");
  }
  if (bracketed) {
    if (!host.ends_with(']')) return misread(text, "has no bracket after its IPv6 address");
    host = host.substr(1, host.size() - 2);
    if (host.empty()) return misread(text, "has no address in its brackets");
  } else if (host.find(':') != std::string_view::npos) {
    return misread(text, "is ambiguous: an IPv6 address goes into brackets");
  }
  ListenText made;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), made.port);
  if (port.empty() || error != std::errc{} || end != port.data() + port.size()) {
    return misread(text, "has no port from 0 to 65535");
  }
  made.host = host.empty() ? "127.0.0.1" : std::string(host);
  return made;
}

bool is_local_name(std::string_view host, std::string_view listen) {
  boost::system::error_code error;
  const auto colon = host.find_last_not_of("0123456789");
  std::string_view name = host;
  if (colon != std::string_view::npos && host[colon] == ':') name = host.substr(0, colon);
  if (name.starts_with('[')) {
    if (!name.ends_with(']')) return false;
    boost::asio::ip::make_address_v6(std::string(name.substr(1, name.size() - 2)), error);
    return !error;
  }
  boost::asio::ip::make_address(std::string(name), error);
  if (!error) return true;
  if (name.ends_with('.')) name.remove_suffix(1);  // the root of all names
  const auto given = parse_listen(listen);
  return boost::algorithm::iequals(name, "localhost") ||
         boost::algorithm::iends_with(name, ".localhost") ||
         (given && boost::algorithm::iequals(name, given->host));
}

Result<boost::asio::ip::tcp::endpoint> resolve_listen(std::string_view text) {
  const auto parsed = parse_listen(text);
  if (!parsed) return parsed.error();
  boost::asio::io_context io;
  boost::asio::ip::tcp::resolver resolver(io);
  boost::system::error_code error;
  const auto found = resolver.resolve(parsed->host, std::to_string(parsed->port),
                                      boost::asio::ip::resolver_base::passive |
                                          boost::asio::ip::resolver_base::numeric_service,
                                      error);
  if (error || found.empty()) {
    return misread(text, "names a host that cannot be found (" + error.message() + ")");
  }
  return found.begin()->endpoint();
}

std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + ip + "]" : ip) + ":" +
         std::to_string(endpoint.port());
}

Error cannot_listen(const std::string& at, const boost::system::error_code& error) {
  const std::string what = "cannot listen at " + at;
  if (auto refused = system_refusal(what, error)) return *refused;
  return {Errc::bad_option, what + ": " + error.message() +
                                "; choose an address of this machine and a free port" +
                                passed_text()};
}

Result<boost::asio::ip::tcp::acceptor> bind_at(const boost::asio::any_io_executor& executor,
                                               const boost::asio::ip::tcp::endpoint& at,
                                               bool shared) {
  using boost::asio::ip::tcp;
  tcp::acceptor acceptor(executor);
  boost::system::error_code error;
  if (const auto passed = passed_socket(at)) {
    acceptor.assign(passed->at.protocol(), passed->file, error);
    if (!error) return acceptor;
    ::close(passed->file);
    return cannot_listen(address_text(at), error);
  }
  acceptor.open(at.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  const int yes = 1;
  if (!error && shared) {
    ::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  }
  if (!error) acceptor.bind(at, error);
  if (error) return cannot_listen(address_text(at), error);
  return acceptor;
}

Result<boost::asio::ip::tcp::acceptor> listen_at(const boost::asio::any_io_executor& executor,
                                                 std::string_view text) {
  const auto where = resolve_listen(text);
  if (!where) return where.error();
  auto acceptor = bind_at(executor, *where);
  if (!acceptor) return acceptor;
  boost::system::error_code error;
  acceptor->listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(std::string(text), error);
  return acceptor;
}

}  // namespace neliroute
