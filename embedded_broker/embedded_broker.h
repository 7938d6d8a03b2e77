// A Kafka broker inside this process, for trying out and for tests: librdkafka's mock cluster of
// one broker behind a relay, so that it is reached at, and advertises, one fixed port.
//
// limits() lists what it cannot do: read it before trusting measurements. Needs librdkafka
// >= 2.12. The mock runs on threads of librdkafka; the relay on the caller's executor, which must
// be running while clients are served.
//
// Threads: one: the executor is a strand, or of an io_context that one thread runs; all calls and
// the destructor on it, or while nothing runs it. It outlives the broker. limits(): any.
// Units: counts.
// Errors: open() names the setting and what to do: bad_option (a port in use, a topic),
// ledger_refused (librdkafka is too old, or refused), system_refused (too few files).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neliroute {

struct EmbeddedBrokerOptions {
  std::uint16_t port = 9092;  ///< of 127.0.0.1; 0: any that is free
  /// Names and partition counts; created before the first client is accepted.
  std::vector<std::pair<std::string, std::uint32_t>> topics;
};

class EmbeddedBroker {
 public:
  static constexpr std::uint32_t kPartitionsMax = 65'536;

  [[nodiscard]] static Result<std::unique_ptr<EmbeddedBroker>> open(
      const boost::asio::any_io_executor& executor, const EmbeddedBrokerOptions& options);

  ~EmbeddedBroker();  ///< Ends every connection and forgets every record.
  EmbeddedBroker(const EmbeddedBroker&) = delete;
  EmbeddedBroker& operator=(const EmbeddedBroker&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;
  [[nodiscard]] std::string address() const;  ///< for bootstrap.servers: "127.0.0.1:9092"

  /// What this broker cannot do: one or two sentences per line, at most 80 columns wide.
  [[nodiscard]] static std::string_view limits() noexcept;

 private:
  struct Parts;
  explicit EmbeddedBroker(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace neliroute
