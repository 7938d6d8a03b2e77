// Watcher: the same lookup for a process that owns nothing. It joins no group and writes nothing;
// READ and DESCRIBE on the topic suffice.
//
// Threads: as Router.   Units: LocalTime is CLOCK_BOOTTIME.
// Errors: open() returns what is wrong; later ones go to on_failure() and on_notice.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/lookup.h>
#include <neliroute/options.h>
#include <utility>

namespace neliroute {

class WatchingReader;

class Watcher : public Lookup {
 public:
  /// Blocks until a broker answers and the topic exists, at most for options.kafka.timeout. The
  /// owners create the topic; options.missing_topic may say to wait for it as long as it takes, or
  /// not at all. Errors: bad_option, ledger_unfit, ledger_unreachable, ledger_refused.
  [[nodiscard]] static Result<std::unique_ptr<Watcher>> open(
      boost::asio::any_io_executor executor, WatcherOptions options);
  /// As ~Router: on its executor, or after async_close().
  ~Watcher();

  /// Called on the strand when the answer of route() for a partition has changed, and first for
  /// every partition. Replaces the previous handler.
  void on_change(std::function<void(Partition)> handler);
  /// Called on the strand when the running group has other slots, partitions, logs or hash than
  /// this watcher. From then on every answer is unknown, until the group's settings equal this
  /// watcher's again; a later difference is reported again. on_notice reports both. Replaces the
  /// previous handler.
  void on_failure(std::function<void(const Error&)> handler);

  /// Completes with no error; after it, every answer is unknown.
  template <BOOST_ASIO_COMPLETION_TOKEN_FOR(void(boost::system::error_code)) Token>
  auto async_close(Token&& token) {
    return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
        [this](auto handler) { close(std::move(handler)); }, token);
  }

  /// T of the owners, as far as their records say it: after that long, every living owner must have
  /// been read.
  [[nodiscard]] milliseconds lease() const noexcept;

 private:
  friend class Forwarder;  // which may outlive this
  struct Parts;
  explicit Watcher(Parts parts);
  void close(Completion handler);

  std::shared_ptr<WatchingReader> reader_;
};

}  // namespace neliroute
