#include "ledgers/etcd/etcd_client.h"

#include <array>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>
#include <boost/json/value.hpp>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/etcd/etcd_json.h"
#include "net/await.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace json = boost::json;
using boost::system::error_code;

/// More than any page of records.
constexpr std::uint64_t kAnswerBytesMost = std::uint64_t{32} << 20;
constexpr milliseconds kAuthenticationLeast{5'000};
/// Of one message of a watch, which etcd sends in parts.
constexpr std::size_t kLineBytesMost = std::size_t{32} << 20;

struct Found {
  error_code error;
  HostNames::Addresses addresses;
};

/// A lookup has no bound of its own: past `within` its answer is not waited for any more.
asio::awaitable<Found> find(HostNames& names, const std::string& host,
                            std::shared_ptr<asio::steady_timer> timer) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Found)>(
      [&names, host, timer = std::move(timer)](auto handler) {
        using Handler = std::optional<decltype(handler)>;
        const auto waiting = std::make_shared<Handler>(std::move(handler));
        const auto answer = [waiting](Found found) {
          if (!*waiting) return;  // the other was first
          auto first = std::move(**waiting);
          waiting->reset();
          std::move(first)(std::move(found));
        };
        timer->async_wait([answer](const error_code& error) {
          if (!error) answer(Found{asio::error::timed_out, {}});
        });
        names.find(host, [answer, timer](const error_code& error,
                                         const HostNames::Addresses& found) {
          timer->cancel();
          answer(Found{error, found});
        });
      },
      asio::use_awaitable);
}

/// gRPC's codes, which the gateway passes on.
EtcdOutcome outcome_of(std::int64_t code, std::string_view message) {
  constexpr std::int64_t kInvalid = 3, kNotFound = 5, kDenied = 7, kExhausted = 8, kOutOfRange = 11,
                         kUnavailable = 14, kUnauthenticated = 16;
  switch (code) {
    case kInvalid:
      return message.find("user name is empty") != std::string_view::npos ||
                     message.find("auth store is old") != std::string_view::npos
                 ? EtcdOutcome::unauthenticated
             : message.find("authentication failed") != std::string_view::npos
                 ? EtcdOutcome::denied
                 : EtcdOutcome::failed;
    case kNotFound: return EtcdOutcome::no_lease;
    case kDenied: return EtcdOutcome::denied;
    case kExhausted:
      return message.find("space") != std::string_view::npos ? EtcdOutcome::full
                                                             : EtcdOutcome::failed;
    case kOutOfRange:
      return message.find("future") != std::string_view::npos ? EtcdOutcome::ahead
                                                              : EtcdOutcome::compacted;
    case kUnavailable: return EtcdOutcome::unreachable;
    case kUnauthenticated: return EtcdOutcome::unauthenticated;
    default: return EtcdOutcome::failed;
  }
}

EtcdAnswer answer_of(unsigned status, const std::string& text) {
  EtcdAnswer answer;
  error_code error;
  // The answer of a stream of one is a line of its own.
  json::stream_parser parser;
  parser.write_some(text, error);
  if (!error) parser.finish(error);
  const json::value value = error ? json::value() : parser.release();
  if (!value.is_object()) {  // whoever that is, it is no etcd
    answer.trouble = "HTTP status " + std::to_string(status) +
                     " and no JSON object; expected an etcd 3.4 or later, with its JSON gateway";
    return answer;
  }
  answer.body = value.get_object();
  if (status == 200) {
    answer.outcome = EtcdOutcome::ok;
    return answer;
  }
  // Of a stream, the error is an object of its own.
  const json::object* const nested = object_at(answer.body, "error");
  const json::object& said = nested == nullptr ? answer.body : *nested;
  const json::value* const message = said.if_contains("message");
  answer.trouble = message != nullptr && message->is_string()
                       ? std::string(message->get_string())
                       : "HTTP status " + std::to_string(status);
  const auto code = number_at(said, said.contains("code") ? "code" : "grpc_code");
  answer.outcome = outcome_of(code.value_or(-1), answer.trouble);
  return answer;
}

}  // namespace

EtcdClient::EtcdClient(asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers)
    : strand_(std::move(strand)), servers_(std::move(servers)) {}

void EtcdClient::drop() {
  if (stream_) stream_->close();
}

void EtcdClient::close() {
  closed_ = true;
  if (lookup_) lookup_->cancel();
  drop();
}

EtcdAnswer EtcdClient::gone(Error error) {
  EtcdAnswer answer;
  answer.trouble = error == beast::error::timeout ? "no answer in time" : error.message();
  if (!refusal_.empty()) {
    answer.trouble += " (" + std::exchange(refusal_, {}) + "; name who signed it by ?authorities=)";
  } else if (!ever_answered_ && error == asio::ssl::error::stream_truncated) {
    answer.trouble += " (it may be one without TLS: etcd://)";
  } else if (!ever_answered_ && error == http::error::end_of_stream) {
    answer.trouble += " (it may be one with TLS: etcds://)";
  }
  // Whoever dropped it itself has nothing against the server.
  const bool own = error == asio::error::operation_aborted || error == asio::error::bad_descriptor;
  if (!own) ++servers_->statistics().unanswered;
  own ? drop() : leave(answer.trouble);
  return answer;
}

void EtcdClient::leave(const std::string& trouble) {
  drop();
  if (closed_) return;
  const EtcdServer& server = servers_->at(server_);
  troubles_[server_] = server.host + ":" + server.port + ": " + trouble;
  servers_->leave(server_);
}

std::string EtcdClient::troubles() const {
  std::string text;
  for (const auto& [server, trouble] : troubles_) text += (text.empty() ? "" : "; ") + trouble;
  return text;
}

void EtcdClient::drop_from(std::size_t server) {
  if (server_ == server) drop();
}

asio::awaitable<EtcdClient::Error> EtcdClient::connect(milliseconds within) {
  if (closed_) co_return asio::error::operation_aborted;
  if (stream_ && stream_->socket().is_open()) co_return Error{};
  server_ = servers_->current();
  const EtcdServer server = servers_->at(server_);
  lookup_ = std::make_shared<asio::steady_timer>(strand_, within);
  const Found found = co_await find(servers_->names(), server.host, lookup_);
  if (closed_) co_return asio::error::operation_aborted;
  if (found.error) co_return found.error;
  std::vector<asio::ip::tcp::endpoint> endpoints;
  for (const auto& address : found.addresses) {
    endpoints.emplace_back(address, static_cast<std::uint16_t>(std::stoi(server.port)));
  }
  buffer_.clear();
  stream_.emplace(strand_);
  stream_->expires_after(within);
  Error error;
  co_await stream_->tcp().async_connect(endpoints,
                                        asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    servers_->names().doubt(server.host);
    co_return error;
  }
  stream_->socket().set_option(asio::ip::tcp::no_delay(true), error);
  if (servers_->tls()) error = co_await shake_hands(server.host);
  co_return error;
}

asio::awaitable<EtcdClient::Error> EtcdClient::shake_hands(const std::string& host) {
  if (!stream_->use_tls_to(servers_->tls(), host)) co_return asio::error::invalid_argument;
  std::function<void(Stream::Moved)> start = [this](Stream::Moved then) {
    stream_->async_connect_tls([then = std::move(then)](Error error) { then(error, 0); });
  };
  const Outcome done = co_await await_moved(std::move(start));
  if (done.error) refusal_ = stream_->refusal();
  co_return done.error;
}

asio::awaitable<EtcdClient::Error> EtcdClient::send(std::string_view target,
                                                    const json::object& body,
                                                    milliseconds within) {
  Error error = co_await connect(within);
  if (error) co_return error;
  http::request<http::string_body> request{http::verb::post, target, 11};
  const EtcdServer& server = servers_->at(server_);
  request.set(http::field::host, server.host + ":" + server.port);
  request.set(http::field::content_type, "application/json");
  // Else a watch on a server without a leader stays open, and silent.
  request.set("Grpc-Metadata-hasleader", "true");
  if (!servers_->token().empty()) request.set(http::field::authorization, servers_->token());
  request.body() = json::serialize(body);
  request.prepare_payload();
  stream_->expires_after(within);
  co_await http::async_write(*stream_, request, asio::redirect_error(asio::use_awaitable, error));
  co_return error;
}

asio::awaitable<EtcdAnswer> EtcdClient::ask_once(std::string_view target, const json::object& body,
                                                 milliseconds within, Error& error) {
  error = co_await send(target, body, within);
  if (error) co_return EtcdAnswer{};
  http::response_parser<http::string_body> parser;
  parser.body_limit(kAnswerBytesMost);
  co_await http::async_read(*stream_, buffer_, parser,
                            asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return EtcdAnswer{};
  if (!parser.keep_alive()) drop();
  co_return answer_of(parser.get().result_int(), parser.get().body());
}

// A connection that was kept may have been closed meanwhile, which says nothing of its server.
asio::awaitable<EtcdAnswer> EtcdClient::ask(std::string_view target, const json::object& body,
                                            milliseconds within) {
  const bool kept = stream_ && stream_->socket().is_open();
  const LocalTime asked = boot_now();
  ++servers_->statistics().requests;
  Error error;
  EtcdAnswer answer = co_await ask_once(target, body, within, error);
  if (kept && (error == http::error::end_of_stream || error == asio::error::connection_reset ||
               error == asio::error::broken_pipe)) {
    drop();
    answer = co_await ask_once(target, body, within, error);
  }
  if (error) co_return gone(error);
  if (answer.outcome == EtcdOutcome::unreachable) {
    ++servers_->statistics().unanswered;
    leave(answer.trouble);  // it has no leader, or is no etcd
  } else {
    servers_->statistics().note_answer(asked, !answer.ok(), boot_now());
    troubles_.clear();
    ever_answered_ = true;
  }
  co_return answer;
}

// A server works for long on a password, and goes on when nobody waits for it any more: whoever is
// impatient, or asks once for each connection, keeps it busy for ever.
asio::awaitable<EtcdAnswer> EtcdClient::authenticate(milliseconds within) {
  while (servers_->token_is_asked_for()) {
    co_await await_timer(servers_->token_asked());
    EtcdAnswer known;
    if (!closed_ && servers_->token().empty()) continue;
    if (!closed_) known.outcome = EtcdOutcome::ok;
    co_return known;
  }
  const EtcdServers::AsksForToken turn(*servers_);
  const EtcdConnection& who = servers_->connection();
  servers_->token().clear();
  const Error error = co_await connect(within);
  if (error) co_return gone(error);
  const json::object body{{"name", who.user}, {"password", who.password}};
  EtcdAnswer answer =
      co_await ask("/v3/auth/authenticate", body, std::max(within, kAuthenticationLeast));
  if (!answer.ok()) co_return answer;
  const json::value* const token = answer.body.if_contains("token");
  if (token != nullptr && token->is_string()) servers_->token() = token->get_string().c_str();
  co_return answer;
}

asio::awaitable<EtcdAnswer> EtcdClient::call(std::string_view target, json::object body,
                                             milliseconds within) {
  const bool has_user = !servers_->connection().user.empty();
  if (has_user && servers_->token().empty()) {
    EtcdAnswer known = co_await authenticate(within);
    if (!known.ok()) co_return known;
  }
  const std::string token = servers_->token();
  EtcdAnswer answer = co_await ask(target, body, within);
  if (answer.outcome != EtcdOutcome::unauthenticated || !has_user) co_return answer;
  if (servers_->token() == token) {  // none is known for ever
    EtcdAnswer known = co_await authenticate(within);
    if (!known.ok()) co_return known;
  }
  answer = co_await ask(target, body, within);
  co_return answer;
}

asio::awaitable<bool> EtcdClient::watch(json::object body, milliseconds within) {
  ++servers_->statistics().requests;
  text_.clear();
  watched_.emplace();
  watched_->body_limit(boost::none);
  Error error = co_await send("/v3/watch", body, within);
  if (!error) {
    co_await http::async_read_header(*stream_, buffer_, *watched_,
                                     asio::redirect_error(asio::use_awaitable, error));
  }
  if (error) {
    (void)gone(error);
    co_return false;
  }
  stream_->expires_never();
  co_return true;
}

asio::awaitable<std::optional<std::string>> EtcdClient::next_line() {
  std::array<char, 65536> piece;
  for (std::size_t searched = 0;;) {
    const auto end = text_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      co_return line;
    }
    searched = text_.size();
    auto& body = watched_->get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    Error error;
    if (!watched_->is_done()) {
      co_await http::async_read_some(*stream_, buffer_, *watched_,
                                     asio::redirect_error(asio::use_awaitable, error));
    } else {
      error = http::error::end_of_stream;
    }
    if (error == http::error::need_buffer) error = {};
    if (!error) watch_read_at_ = servers_->statistics().heard_at = boot_now();
    text_.append(piece.data(), piece.size() - watched_->get().body().size);
    if (text_.size() > kLineBytesMost) error = http::error::body_limit;
    if (!error) continue;
    (void)gone(error);
    co_return std::nullopt;
  }
}

}  // namespace neliroute
