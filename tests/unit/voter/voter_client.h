// A client of a voter that says and hears single messages, for tests.
//
// Threads: one, which blocks.   Units: std::chrono.   Errors: no value.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <variant>

#include "net/channel.h"
#include "quorum/client_message.h"

namespace neliroute {

class VoterClient {
 public:
  static constexpr milliseconds kSoon{10'000};

  /// `receive_bytes`: of the socket; 0: as the system has it.
  explicit VoterClient(std::uint16_t port, std::string key = {}, int receive_bytes = 0);

  [[nodiscard]] bool is_connected() const { return channel_ != nullptr; }
  /// Why it is not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  bool say(const quorum::ToVoter& message) { return say_bytes(quorum::encode(message)); }
  bool say_bytes(std::string bytes);
  [[nodiscard]] std::optional<quorum::ToClient> hear(milliseconds within = kSoon);
  /// The next one of this kind; what comes before it is dropped.
  template <class Message>
  [[nodiscard]] std::optional<Message> hear_one(milliseconds within = kSoon) {
    while (const auto heard = hear(within)) {
      if (const auto* message = std::get_if<Message>(&*heard)) return *message;
    }
    return std::nullopt;
  }
  /// Whether the voter ends the channel; what it says before is dropped.
  [[nodiscard]] bool is_ended(milliseconds within = kSoon);

  /// Who that voter says to a client of this log; no value: it is not there, or refuses.
  [[nodiscard]] std::optional<quorum::Welcome> greet(const std::string& name,
                                                     std::uint32_t log = 0);

 private:
  template <class T>
  std::optional<T> run(Awaitable<T> work, milliseconds within);

  boost::asio::io_context io_;
  std::shared_ptr<Channel> channel_;
  std::string trouble_;
};

}  // namespace neliroute
