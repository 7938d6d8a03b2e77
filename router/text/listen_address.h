// Where a server of this process listens: from text to an address. Private.
//
// Threads: any.   Units: none.
// Errors: bad_option, naming the text, what was expected and what to do; bind_at() and listen_at()
// also system_refused.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <neliroute/error.h>
#include <string>
#include <string_view>

namespace neliroute {

struct ListenText {
  std::string host;  ///< without brackets; "127.0.0.1" where none was given
  std::uint16_t port = 0;
};

/// HOST:PORT, [IPV6]:PORT, :PORT or PORT.
[[nodiscard]] Result<ListenText> parse_listen(std::string_view text);

/// Whether a request's Host field (HOST or HOST:PORT) names this machine from within: an address,
/// `localhost` or *.localhost, or the name given to listen at. Another name may be an attacker's
/// that resolves to this machine (DNS rebinding), so that a web page of theirs could read what only
/// this machine may.
[[nodiscard]] bool is_local_name(std::string_view host, std::string_view listen);

/// Resolves names, which blocks; takes the first of several addresses.
[[nodiscard]] Result<boost::asio::ip::tcp::endpoint> resolve_listen(std::string_view text);

/// "127.0.0.1:8080", "[::1]:8080".
[[nodiscard]] std::string address_text(const boost::asio::ip::tcp::endpoint& endpoint);

/// Bound there, for listen(); or what was passed to this process with that address, at which
/// connections wait already. `shared`: others may be bound there as well (SO_REUSEPORT).
[[nodiscard]] Result<boost::asio::ip::tcp::acceptor> bind_at(
    const boost::asio::any_io_executor& executor, const boost::asio::ip::tcp::endpoint& at,
    bool shared = false);

/// Why that cannot be listened at, and what to do.
[[nodiscard]] Error cannot_listen(const std::string& at, const boost::system::error_code& error);

/// Listens there from now on.
[[nodiscard]] Result<boost::asio::ip::tcp::acceptor> listen_at(
    const boost::asio::any_io_executor& executor, std::string_view text);

}  // namespace neliroute
