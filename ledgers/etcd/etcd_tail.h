// Reads one log: the newest record of each kind that is there, and then all that come.
//
// Threads: the strand.   Units: revisions, std::chrono.
// Errors: events; that nobody answers is reported, and tried again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledgers/etcd/etcd_client.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "neli_core/event.h"
#include "neli_core/ready.h"

namespace neliroute {

struct EtcdTailOptions {
  Log log;
  milliseconds lease{0};  ///< T
  /// It reads from the end.
  bool watcher = false;
};

class EtcdTail : public std::enable_shared_from_this<EtcdTail> {
 public:
  using Happened = std::function<void(const Event&)>;

  EtcdTail(boost::asio::any_io_executor strand, std::shared_ptr<EtcdServers> servers, EtcdKeys keys,
           EtcdTailOptions options);

  void start(Happened happened);
  void restart();
  /// Only the newest request of a log matters.
  void reread(const RereadRequest& request);
  /// These may be other logs than those that are read: it asks soon.
  void doubt();
  /// Somebody left that server.
  void left(std::size_t server);
  void close();

 private:
  /// What a store says of itself, and of the keys that were asked for.
  struct Looked {
    EtcdHeader header;
    std::string identity;  ///< empty: there are no logs
    std::vector<EtcdFound> found;
  };
  // What reads: the history, then a watch.
  [[nodiscard]] boost::asio::awaitable<void> read();
  [[nodiscard]] boost::asio::awaitable<void> begin();
  [[nodiscard]] boost::asio::awaitable<std::optional<Looked>> look_for_start();
  [[nodiscard]] boost::asio::awaitable<bool> read_pages(std::vector<EtcdKeyValue>& records,
                                                        std::int64_t as_of);
  [[nodiscard]] boost::asio::awaitable<void> follow();
  /// Whether what was read last still stands where it was read, in the same logs.
  [[nodiscard]] boost::asio::awaitable<bool> check_last();
  void deliver_start(const Looked& looked, std::vector<EtcdKeyValue> records);
  void deliver(const EtcdKeyValue& stored);
  /// False: the watch has ended.
  [[nodiscard]] bool take(const std::string& line);

  // What asks meanwhile: whether the store is still the same, for what may have been missed, and
  // for records that are to be read again.
  [[nodiscard]] boost::asio::awaitable<void> guard();
  [[nodiscard]] boost::asio::awaitable<void> probe();
  [[nodiscard]] boost::asio::awaitable<bool> answer(RereadRequest request);
  [[nodiscard]] boost::asio::awaitable<EtcdAnswer> ask(EtcdClient& client,
                                                       std::vector<EtcdRange> ranges);
  [[nodiscard]] boost::asio::awaitable<std::optional<Looked>> look(EtcdClient& client,
                                                                   std::vector<EtcdRange> ranges);
  /// Who answers what no etcd does is left.
  [[nodiscard]] std::optional<Looked> looked_in(EtcdClient& client, const EtcdAnswer& answer,
                                                std::size_t ranges);

  [[nodiscard]] EtcdRange all_records() const;
  [[nodiscard]] milliseconds patience() const;
  /// When the watch said something.
  [[nodiscard]] LocalTime heard() const noexcept;
  /// Emits a gap if that is not the store that was read, up to `next` when it was asked.
  [[nodiscard]] bool is_same(const Looked& looked, std::int64_t next);
  void lose(GapReason reason);
  void report(EtcdOutcome kind, const std::string& text);
  /// What it answers is nothing that an etcd answers.
  void leave(EtcdClient& client, const std::string& trouble);
  void emit(const Event& event);

  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer reading_pause_;
  boost::asio::steady_timer guard_pause_;
  std::shared_ptr<EtcdServers> servers_;
  EtcdClient reader_;
  EtcdClient asker_;
  EtcdKeys keys_;
  EtcdTailOptions options_;
  std::string name_;  ///< for people
  Happened happened_;
  bool wanted_ = true;    ///< to be started, or running
  bool running_ = false;  ///< it was started: `next_` is known
  std::uint64_t turn_ = 0;  ///< counts starts: what was begun before one is void
  std::int64_t next_ = 0;
  EtcdKeyValue last_;  ///< that was delivered; position 0: none
  std::int64_t known_ = 0;  ///< the log's end when it was started
  std::string identity_;  ///< of the logs that are read
  std::string cluster_;
  bool watching_ = false;
  LocalTime heard_ = kLongAgo;   ///< when the watch began
  LocalTime proved_ = kLongAgo;  ///< when these were known to be the same logs
  /// At that time a probe saw what the watch had not delivered.
  std::optional<LocalTime> missed_;
  std::optional<RereadRequest> reread_;
  bool closed_ = false;
};

}  // namespace neliroute
