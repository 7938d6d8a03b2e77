// A ledger that is made of a reader and a writer.
//
// Threads: the strand.   Units: std::chrono.   Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "ledgers/parts/reports.h"
#include "ledgers/parts/write_queue.h"
#include "ledgers/store_statistics.h"
#include "neli_core/ledger.h"

namespace neliroute {

/// Reads all logs.
class LedgerReader {
 public:
  using Happened = std::function<void(const Event&)>;
  virtual ~LedgerReader() = default;
  LedgerReader() = default;
  LedgerReader(const LedgerReader&) = delete;
  LedgerReader& operator=(const LedgerReader&) = delete;

  virtual void start(Happened happened) = 0;
  virtual void restart(Log log) = 0;
  /// Only the newest request of a log matters.
  virtual void reread(const RereadRequest& request) = 0;
  /// The logs may be other ones than those that are read: it asks soon.
  virtual void doubt() = 0;
  virtual void close() = 0;
};

/// Appends, in order.
class LedgerWriter {
 public:
  using Refused = std::function<void(const Error&)>;
  /// The logs are gone, or others are in their place.
  using Doubted = std::function<void()>;
  virtual ~LedgerWriter() = default;
  LedgerWriter() = default;
  LedgerWriter(const LedgerWriter&) = delete;
  LedgerWriter& operator=(const LedgerWriter&) = delete;

  virtual void start(Written written, Refused refused, Doubted doubted) = 0;
  virtual void write(Write write) = 0;
  /// Calls back once all is written, or has failed.
  virtual void finish(std::function<void()> done) = 0;
  virtual void close() = 0;
};

/// They may outlive the ledger, closed.
struct LedgerParts {
  std::shared_ptr<Reports> reports;
  std::shared_ptr<StoreStatistics> statistics;
  std::shared_ptr<LedgerReader> reader;
  std::shared_ptr<LedgerWriter> writer;
};

class PartsLedger final : public Ledger {
 public:
  PartsLedger(boost::asio::any_io_executor strand, LedgerParts parts);
  /// On the strand, but not from inside its own events.
  ~PartsLedger() override { end(); }

  void start(EventSink events, NoticeSink notices) override;
  void on_refused(std::function<void(const Error&)> handler) override;
  void write(Write write) override;
  void restart_tail(Log log) override { parts_.reader->restart(log); }
  void reread(const RereadRequest& request) override { parts_.reader->reread(request); }
  void close(LocalTime deadline, std::function<void()> done) override;

 private:
  void emit(const Event& event);
  void end();

  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer deadline_;
  LedgerParts parts_;
  EventSink events_;
  std::function<void(const Error&)> refused_;
  std::function<void()> closed_;
  bool started_ = false;
};

}  // namespace neliroute
