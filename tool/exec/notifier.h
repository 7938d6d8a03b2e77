// Notifies a program of the partitions that its owner leads, by POSTs to --notify: each event of
// program_events.h as one JSON object, in order for each partition. An answer 2xx ends a prepare,
// warm_up or stopped.
//
// An event has NotifierOptions::each, counted from when it happened: so long is waited for it, and
// within that it is sent three times at most. After that the next one of its partition follows; it
// is sent once at least, so that a program that was slow still learns of everything.
//
// Threads: one of its own, so that the program delays nothing else; destroy it on another one.
// Units: milliseconds.
// Errors: logged, each kind once.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "tool/exec/notify_url.h"
#include "tool/exec/program_events.h"

namespace neliroute::tool {

struct NotifierOptions {
  NotifyUrl url;
  milliseconds each{5000};
  /// Of a partition, events that are not delivered; with more the program counts as hung.
  std::size_t queue = 64;
  /// POSTs at a time.
  std::size_t at_once = 32;
};

class Notifier : public ProgramEvents {
 public:
  /// `hung` is called on its thread, once.
  Notifier(NotifierOptions options, std::function<void()> hung);
  /// Gives up what is not delivered.
  ~Notifier() override;
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// Blocks until everything is delivered or given up, at most for so long.
  void finish(milliseconds bound);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  void tell(ProgramEvent event, CompletionToken token) override;
  void take(Partition partition, EntryPtr entry);
  void send_next();
  void send(Partition partition, int attempt);
  void on_answer(Partition partition, int attempt, boost::system::error_code error,
                 unsigned status);
  void send_again(Partition partition, int attempt);
  void end_first(Partition partition);
  void complain(const std::string& what);

  NotifierOptions options_;
  std::function<void()> hung_;
  std::uint64_t last_ = 0;  ///< the router's strand's; all below: of its own thread
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::map<Partition, std::deque<EntryPtr>> queues_;  ///< the first of each is on its way, or ready
  std::deque<Partition> ready_;
  std::size_t on_the_way_ = 0;
  std::function<void()> on_idle_;
  std::set<std::string> complaints_;
  bool told_hung_ = false;
  std::thread thread_;
};

}  // namespace neliroute::tool
