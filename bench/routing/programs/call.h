// One request of the load: when it was due, what was tried, and how it ended.
//
// Threads: values.   Units: LocalTime (CLOCK_BOOTTIME); microseconds in a CallRecord.   Errors:
// none.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>

namespace neliroute::bench {

class ClientConnection;

/// How a request ended; as a CallRecord has it.
enum class Outcome : std::uint8_t {
  served = 0,
  refused = 1,      ///< by a status that is not 200
  broken = 2,       ///< the connection broke, or the answer was malformed
  unanswered = 3,   ///< until the deadline
  unreachable = 4,  ///< no connection could be made
  crowded = 5,      ///< as many connections were open as may be
  foreign = 6,      ///< the answer was another request's: must never happen
  unowned = 7,      ///< the caller knew no owner until the deadline
};

struct Call {
  std::uint64_t number = 0;  ///< and idempotency key, if it has one
  bool keyed = true;
  std::uint32_t key = 0;
  LocalTime due;
  LocalTime begun;
  std::uint32_t attempts = 0;
  std::uint32_t misdirected = 0;  ///< 421 answers
  std::uint16_t first_target = 0;
  std::uint16_t last_target = 0;
  Epoch sent_under = kNoEpoch;
  Epoch failed_under = kNoEpoch;                 ///< whose owner did not serve it
  std::uint32_t failures = 0;                    ///< connections, one after the other
  std::shared_ptr<ClientConnection> connection;  ///< of the attempt under way
  bool ended = false;
};
using CallPtr = std::shared_ptr<Call>;

/// A row of the file, in order of the calls' numbers: bench/routing/records.py reads it.
struct CallRecord {
  std::int64_t due_us = 0;
  std::uint32_t latency_us = 0;  ///< from when it was due
  std::uint32_t late_us = 0;     ///< that it was begun
  std::uint32_t key = 0;
  std::uint32_t slot = 0;
  std::uint32_t value = 0;   ///< served: that the answer has
  std::uint16_t status = 0;  ///< of the last answer; 0: there was none
  std::uint16_t first_target = 0;
  std::uint16_t last_target = 0;
  std::uint16_t misdirected = 0;
  std::uint8_t outcome = 255;  ///< 255: it never ended
  std::uint8_t attempts = 0;
  std::uint16_t keyless = 0;  ///< 1: it had no idempotency key
};
static_assert(sizeof(CallRecord) == 40);

}  // namespace neliroute::bench
