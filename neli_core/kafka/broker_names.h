// Tells a client where its brokers are once more when it has lost all of them.
//
// A cluster that shuts down in order answers the last questions with an empty list of brokers.
// librdkafka drops the brokers it knows then and starts anew from `bootstrap.servers`, by a timer
// that the same answer may stop again (2.15.1: rd_kafka_rebootstrap_tmr_stop() forgets
// rk_rebootstrap_in_progress). Such a client knows no broker any more and looks for none: it is
// out of its group for good, and says nothing. What it did say is that all brokers are down; so a
// while after the last time that it says this, it is told the names again. Who is on his way back
// by himself is not harmed: the names he knows count once.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "neli_core/kafka/client_kind.h"
#include "neli_core/time.h"

namespace neliroute {

class BrokerNames {
 public:
  /// `names`: as in `bootstrap.servers`.
  explicit BrokerNames(std::string names) : names_(std::move(names)) { due_.fill(kNever); }

  /// A client said that all brokers are down. In a plain outage it does so many times a second:
  /// each call postpones, so that its list of names stays short.
  void note_all_down(ClientKind kind, LocalTime now) {
    due_[static_cast<std::size_t>(kind)] = later(now, kQuiet);
  }
  /// `handle`: the client of that kind, null if there is none now.
  void tell_if_due(ClientKind kind, rd_kafka_t* handle, LocalTime now) {
    LocalTime& due = due_[static_cast<std::size_t>(kind)];
    if (now < due) return;
    due = kNever;
    if (handle != nullptr) rd_kafka_brokers_add(handle, names_.c_str());
  }

  /// Longer than a client needs to end the brokers that it drops.
  static constexpr milliseconds kQuiet{300};

 private:
  std::string names_;
  std::array<LocalTime, kClientKinds> due_;
};

}  // namespace neliroute
