// What will happen, in order of time; what is planned for the same instant, in order of planning.
//
// Events are plain values in a 4-ary heap: nothing is allocated for one.
//
// Threads: one.   Units: true time, microseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <vector>

namespace neliroute::sim {

/// True time, microseconds.
using Time = std::int64_t;
inline constexpr Time kMs = 1000;
inline constexpr Time kSecond = 1000 * kMs;

enum class Happening : std::uint8_t {
  timer,           ///< of a process
  fetch,           ///< a: log, b: tail version
  tail_probe,      ///< a: log, b: tail version
  log_flows,       ///< a: log, which was stuck
  tail_begin,      ///< a: log, b: tail version, c: question about the start
  write_lands,     ///< a: index of the write
  write_answered,  ///< a: 1 stored, b: seq, c: offset
  reread_lands,    ///< a: index of the question
  reread_answered,
  prepared,        ///< a: partition; b: which run; c: 1: warmed up
  barrier_done,    ///< a: partition, b and c: epoch
  topic_lost,      ///< a: log, b: tail version, c: 1 told; else reads on in the
                   ///< new one, or by that time, when it is as long
  heartbeat_due,   ///< of a member; b: its count
  group_request,   ///< a: index of the message
  group_reply,     ///< a: index of the message
  group_joined,    ///< it is told that it is a member
  expedite_due,    ///< its heartbeat is sent early
  announce,        ///< a rebalance event is next
  hang_limit,      ///< its client has waited for it for long enough
  close_now,       ///< whether or not successors lead
  start_process,
  beat_lands,      ///< `broadcast`: a: partition, b: when its writer gives up
  beat_heard,      ///< a: partition
  store_lands,     ///< a: index of the write
  store_refused,   ///< a: index of the write, b and c: the epoch that the store knows
  withdrawal_due,  ///< it looks whether it can lead what it was given
  write_forbidden, ///< a: log, b: seq
  leaders_told,    ///< whom the cluster names
  others_told,     ///< a: how many, b: when it asked, by its clock
  join_again,      ///< b: the count of its heartbeats when it left
  // Not of a process:
  fault,           ///< a: kind
  expire_members,
  heal,
  check_alive,
  look_around,
  override,        ///< an operator's next one
  request_arrives, ///< a: index of a caller's request
  request_given_up,
};

struct Planned {
  Time at = 0;
  std::uint64_t order = 0;
  Happening what = Happening::timer;
  std::uint8_t node = 0;
  std::uint16_t life = 0;
  std::uint32_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;

  [[nodiscard]] bool before(const Planned& other) const noexcept {
    return at != other.at ? at < other.at : order < other.order;
  }
};

class EventQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] const Planned& top() const noexcept { return heap_.front(); }

  void push(Planned event) {
    event.order = ++order_;
    put(event);
  }
  /// Keeps its place among those of the same instant.
  void put_back(const Planned& event) { put(event); }

  Planned pop() {
    const Planned first = heap_.front();
    const Planned last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t kWidth = 4;

  void put(const Planned& event) {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kWidth;
      if (!event.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  void sink(const Planned& event) {
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = hole * kWidth + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = first + kWidth < heap_.size() ? first + kWidth : heap_.size();
      std::size_t least = first;
      for (std::size_t i = first + 1; i < end; ++i) {
        if (heap_[i].before(heap_[least])) least = i;
      }
      if (!heap_[least].before(event)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = event;
  }

  std::vector<Planned> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace neliroute::sim
