// The logs of a lane in memory, for the processes of one program (the address `memory:NAME`).
// What it holds ends with it.
//
// Threads: any.   Units: positions, std::chrono.   Errors: none; what befalls a store is set.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

namespace neliroute {

class MemoryStore {
 public:
  struct Stored {
    std::int64_t position = 0;
    BrokerTime stamped;
    std::shared_ptr<const std::string> value;
  };
  /// A log, as it answers a reader.
  struct Answer {
    std::uint64_t made = 0;        ///< another number after replace()
    std::vector<std::int64_t> cuts;  ///< where it was truncated, in that order
    std::int64_t low = 0;          ///< no record below is kept
    std::int64_t end = 0;
    std::vector<Stored> records;  ///< from the requested position on
  };
  enum class Health { well, silent, refusing };
  using Clock = std::function<BrokerTime()>;

  /// `clock`: its own; stamps never fall. `retention`: how long records are kept.
  MemoryStore(std::uint32_t logs, Clock clock, milliseconds retention);

  [[nodiscard]] std::uint32_t log_count() const noexcept { return log_count_; }
  /// Calls it after each append and change, on the thread that caused it: it must not block, nor
  /// call the store. unwatch() waits for a call under way.
  [[nodiscard]] std::uint64_t watch(std::function<void()> wake);
  void unwatch(std::uint64_t watcher);

  /// The record's position; no value: it is silent, or refuses.
  std::optional<std::int64_t> append(Log log, std::string value);
  /// No value: it is silent.
  [[nodiscard]] std::optional<Answer> read(Log log, std::int64_t from) const;
  [[nodiscard]] Health health() const;

  // What befalls a store.
  void set_health(Health health);
  /// Positions rise by so much from here on.
  void set_step(std::int64_t step);
  /// Loses the records from there on.
  void truncate(Log log, std::int64_t end);
  /// Keeps none below.
  void expire(Log log, std::int64_t low);
  /// Another log in its place, without a record.
  void replace(Log log);

 private:
  struct OneLog {
    std::uint64_t made = 0;
    std::vector<std::int64_t> cuts;
    std::int64_t low = 0;
    std::int64_t end = 0;
    std::deque<Stored> records;
  };
  void wake();

  const std::uint32_t log_count_;
  const Clock clock_;
  const milliseconds retention_;
  mutable std::mutex mutex_;
  std::vector<OneLog> logs_;
  Health health_ = Health::well;
  std::int64_t step_ = 1;
  std::uint64_t made_ = 0;
  std::uint64_t watchers_made_ = 0;
  std::map<std::uint64_t, std::function<void()>> watchers_;
};

}  // namespace neliroute
