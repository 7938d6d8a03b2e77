// Requests to an etcd, over one connection at a time to whichever of its servers answers.
//
// Threads: the strand.   Units: std::chrono; bytes.
// Errors: in the answer. Whoever does not answer in time is left for the next server.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "ledgers/etcd/etcd_servers.h"
#include "net/stream.h"

namespace neliroute {

/// No request has less time.
inline constexpr milliseconds kEtcdAttemptLeast{100};

enum class EtcdOutcome : std::uint8_t {
  ok,
  unreachable,      ///< no answer of an etcd: nobody knows whether it was carried out
  unauthenticated,  ///< the token is not known, or there is none
  denied,           ///< no right to do that
  full,             ///< the quota is used up
  compacted,        ///< the revision that was asked for is not kept any more
  ahead,            ///< there is no such revision yet
  no_lease,         ///< the lease is over
  failed,           ///< anything else
};

struct EtcdAnswer {
  EtcdOutcome outcome = EtcdOutcome::unreachable;
  boost::json::object body;
  std::string trouble;  ///< what the server said, or why there is no answer
  [[nodiscard]] bool ok() const noexcept { return outcome == EtcdOutcome::ok; }
};

class EtcdClient {
 public:
  EtcdClient(boost::asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers);

  /// One request at a time. `target`: as /v3/kv/txn. After close() it answers at once.
  [[nodiscard]] boost::asio::awaitable<EtcdAnswer> call(std::string_view target,
                                                        boost::json::object body,
                                                        milliseconds within);
  /// Begins a watch, for next_line(); nothing else may be asked for until then. False: it did not.
  [[nodiscard]] boost::asio::awaitable<bool> watch(boost::json::object body, milliseconds within);
  /// However long that takes. No value: the watch has ended.
  [[nodiscard]] boost::asio::awaitable<std::optional<std::string>> next_line();
  /// When any part of a watch came last: a long line takes its time.
  [[nodiscard]] LocalTime watch_read_at() const noexcept { return watch_read_at_; }
  /// Drops the connection: what is awaited ends soon. The next request makes another one.
  void drop();
  /// The same, and makes no other.
  void close();
  /// As drop(), and to another server: what this one answered is nothing that an etcd answers.
  void leave(const std::string& trouble);
  /// As drop(), if that is the server.
  void drop_from(std::size_t server);
  /// It left each server since one answered last.
  [[nodiscard]] bool all_failed() const noexcept { return troubles_.size() == servers_->count(); }
  /// Of each that it left: why.
  [[nodiscard]] std::string troubles() const;
  /// How long to wait before asking again: while nobody answers, longer.
  [[nodiscard]] milliseconds retry(milliseconds lease) const noexcept {
    return all_failed() ? std::clamp(lease / 4, kRetry, kRetryMost) : kRetry;
  }
 private:
  static constexpr milliseconds kRetry{100};
  static constexpr milliseconds kRetryMost{1'000};
  using Error = boost::system::error_code;
  using WatchParser =
      boost::beast::http::parser<false, boost::beast::http::buffer_body>;

  [[nodiscard]] boost::asio::awaitable<Error> connect(milliseconds within);
  /// Of what is connected.
  [[nodiscard]] boost::asio::awaitable<Error> shake_hands(const std::string& host);
  [[nodiscard]] boost::asio::awaitable<Error> send(std::string_view target,
                                                   const boost::json::object& body,
                                                   milliseconds within);
  /// `error`: there is no answer.
  [[nodiscard]] boost::asio::awaitable<EtcdAnswer> ask_once(std::string_view target,
                                                            const boost::json::object& body,
                                                            milliseconds within, Error& error);
  [[nodiscard]] boost::asio::awaitable<EtcdAnswer> ask(std::string_view target,
                                                       const boost::json::object& body,
                                                       milliseconds within);
  [[nodiscard]] boost::asio::awaitable<EtcdAnswer> authenticate(milliseconds within);
  [[nodiscard]] EtcdAnswer gone(Error error);

  boost::asio::any_io_executor strand_;
  std::shared_ptr<EtcdServers> servers_;
  std::size_t server_ = 0;  ///< that `stream_` is connected to
  std::shared_ptr<boost::asio::steady_timer> lookup_;  ///< ends the wait for a name
  std::optional<Stream> stream_;
  std::string refusal_;  ///< of the server's certificate, if that was why it was left
  boost::beast::flat_buffer buffer_;
  std::optional<WatchParser> watched_;
  LocalTime watch_read_at_ = kLongAgo;
  std::string text_;  ///< what of the watch was read and not handed out
  std::map<std::size_t, std::string> troubles_;
  bool ever_answered_ = false;
  bool closed_ = false;
};

}  // namespace neliroute
