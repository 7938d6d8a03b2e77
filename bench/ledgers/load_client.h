// One member's share of a ledger's load: it writes records and reads everybody's.
//
// Threads: its strand.   Units: LocalTime; bytes.
// Errors: a record that was not stored is counted.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <unordered_map>
#include <vector>

#include "neli_core/ledger.h"

namespace neliroute::bench {

struct Load {
  /// 0: the next record is written when one of `in_flight` was stored.
  milliseconds every{0};
  std::size_t in_flight = 1;
  std::size_t bytes = 750;
};

struct Counts {
  std::uint64_t stored = 0;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;
  /// From the call that wrote a record until its writer read it.
  std::vector<microseconds> read_back;
};

class LoadClient : public std::enable_shared_from_this<LoadClient> {
 public:
  LoadClient(boost::asio::any_io_executor strand, std::unique_ptr<Ledger> ledger, ProcessId id,
             const Load& load);

  /// `read`: called once, when its tail has begun.
  void start(std::function<void()> read);
  /// One record each `every`, at another moment than any other of so many members.
  void write(std::uint64_t members);
  /// Counts from here on.
  void count();
  /// What was counted. It writes no more.
  [[nodiscard]] Counts stop();
  void close(LocalTime deadline, std::function<void()> done);

 private:
  void on_event(const Event& event, LocalTime now);
  void write_one();
  void write_next();
  void wait_for(milliseconds time);

  boost::asio::steady_timer timer_;
  std::unique_ptr<Ledger> ledger_;
  ProcessId id_;
  Load load_;
  std::function<void()> read_;
  std::uint64_t seq_ = 0;
  std::unordered_map<std::uint64_t, LocalTime> written_;  ///< not read back yet
  Counts counts_;
  bool counting_ = false;
  bool stopped_ = false;
};

}  // namespace neliroute::bench
