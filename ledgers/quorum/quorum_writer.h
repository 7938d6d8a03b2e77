// Appends records, by the links of the reader: only to the logs that are read.
//
// When the leader changes, unanswered records are sent to the next one in the same order, so a
// record may be stored twice. A record that is not answered in time has failed, but may still be
// stored.
//
// Threads: the strand.   Units: std::chrono.   Errors: told by what it was given.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "ledgers/parts/parts_ledger.h"
#include "ledgers/parts/write_queue.h"
#include "ledgers/quorum/quorum_link.h"
#include "ledgers/quorum/quorum_reader.h"

namespace neliroute {

class QuorumWriter final : public LedgerWriter, public std::enable_shared_from_this<QuorumWriter> {
 public:
  /// Start the reader first: it opens the links.
  QuorumWriter(const boost::asio::any_io_executor& strand, const QuorumLinks& links,
               milliseconds lease);

  void start(Written written, Refused refused, Doubted doubted) override;
  void write(Write write) override;
  void finish(std::function<void()> done) override;
  /// And the links.
  void close() override;

 private:
  struct Pending {
    std::uint64_t number = 0;
    std::uint64_t seq = 0;
    std::string value;
    LocalTime due;
  };
  struct Sent {
    std::uint64_t number = 0;
    LocalTime at;
  };
  struct Lane {
    Lane(const boost::asio::any_io_executor& strand, std::shared_ptr<QuorumLink> its)
        : link(std::move(its)), queue(strand) {}
    std::shared_ptr<QuorumLink> link;
    WriteQueue<Pending> queue;
    std::uint64_t last = 0;  ///< counts records
    std::uint64_t said = 0;  ///< up to this one on this channel
    std::deque<Sent> sent;   ///< on this channel, and not answered
    bool is_full = false;    ///< the log, as was said last
  };

  void forward(Lane& lane);
  void take(Lane& lane, const quorum::Appended& appended);
  void on_written(Lane& lane, std::uint64_t seq, std::optional<std::int64_t> position);
  /// What was sent, and waits no more.
  [[nodiscard]] std::optional<LocalTime> oldest_gone(Lane& lane);
  void look_whether_finished();

  boost::asio::any_io_executor strand_;
  milliseconds patience_;
  std::deque<Lane> lanes_;
  Written written_;
  std::function<void()> finished_;
  bool closed_ = false;
};

}  // namespace neliroute
