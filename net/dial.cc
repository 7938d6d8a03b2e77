#include "net/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace neliroute {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

struct LookedUp {
  error_code error;
  HostNames::Addresses addresses;
};

/// Past `timer` the answer is not waited for any more. No coroutine, as GCC 12 destroys twice what
/// the function that it passes keeps.
Awaitable<LookedUp> look_up(HostNames& names, const std::string& host,
                            std::shared_ptr<asio::steady_timer> timer) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(LookedUp)>(
      [&names, host, timer = std::move(timer)](auto handler) {
        using Handler = std::optional<decltype(handler)>;
        const auto waiting = std::make_shared<Handler>(std::move(handler));
        const auto answer = [waiting](LookedUp found) {
          if (!*waiting) return;  // the other was first
          auto first = std::move(**waiting);
          waiting->reset();
          std::move(first)(std::move(found));
        };
        timer->async_wait([answer](const error_code& failed) {
          if (!failed) answer(LookedUp{asio::error::timed_out, {}});
        });
        names.find(host, [answer, timer](const error_code& failed,
                                         const HostNames::Addresses& found) {
          timer->cancel();
          answer(LookedUp{failed, found});
        });
      },
      asio::use_awaitable);
}

std::string text_of(const error_code& error) {
  return error == boost::beast::error::timeout ? "no answer in time" : error.message();
}

Awaitable<error_code> connect(Stream& stream, asio::ip::tcp::endpoint to) {
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    stream.tcp().async_connect(
        to, [then = std::move(then)](const error_code& error) { then(error, 0); });
  });
  co_return outcome.error;
}

/// Empty: it is done.
Awaitable<std::string> shake_hands(Stream& stream, const std::string& host, TlsContextPtr tls) {
  if (!stream.use_tls_to(tls, host)) co_return "no certificate can name " + host;
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    stream.async_connect_tls(
        [then = std::move(then)](const error_code& error) { then(error, 0); });
  });
  if (!outcome.error) co_return std::string();
  const std::string refusal = stream.refusal();
  co_return "its TLS: " + (refusal.empty() ? text_of(outcome.error) : refusal);
}

}  // namespace

Awaitable<Dialed> dial(HostNames& names, std::string address, TlsContextPtr tls,
                       milliseconds within) {
  Dialed dialed;
  const auto to = host_and_port(address);
  if (!to) {
    dialed.trouble = "expected HOST:PORT";
    co_return dialed;
  }
  const auto executor = co_await asio::this_coro::executor;
  const Clock::time_point end = Clock::now() + within;
  const auto timer = std::make_shared<asio::steady_timer>(executor, end);
  LookedUp found;
  found.addresses.push_back(asio::ip::make_address(to->host, found.error));
  if (found.error) found = co_await look_up(names, to->host, timer);
  if (found.error) {
    dialed.trouble = "its name: " + text_of(found.error);
    co_return dialed;
  }
  std::unique_ptr<Stream> stream;
  error_code error;
  auto left = static_cast<int>(found.addresses.size());
  for (const auto& one : found.addresses) {
    // One that does not answer leaves time for the next one.
    const auto share = std::chrono::duration_cast<milliseconds>(end - Clock::now()) / left--;
    stream = std::make_unique<Stream>(executor);
    stream->tcp().expires_after(std::max(share, milliseconds{1}));
    error = co_await connect(*stream, asio::ip::tcp::endpoint(one, to->port));
    if (!error) break;
  }
  if (error) {
    names.doubt(to->host);
    dialed.trouble = text_of(error);
    co_return dialed;
  }
  stream->tcp().expires_at(end);
  if (tls) {
    dialed.trouble = co_await shake_hands(*stream, to->host, tls);
    if (!dialed.trouble.empty()) co_return dialed;
  }
  stream->expires_never();
  dialed.stream = std::move(stream);
  co_return dialed;
}

void expect_acknowledged(asio::ip::tcp::socket& socket, milliseconds within) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  using UserTimeout = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  socket.set_option(UserTimeout(static_cast<int>(within.count())), ignored);
  // Also of one that has nothing to say.
  using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using KeepInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  const int seconds = std::max(1, static_cast<int>(within.count() / 1000));
  socket.set_option(KeepIdle(seconds), ignored);
  socket.set_option(KeepInterval(seconds), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
}

}  // namespace neliroute
