// Tells a client where its brokers are once more when it has lost all of them.
//
// A cluster that shuts down in order answers the last questions with an empty list of brokers.
// librdkafka drops the brokers it knows then and starts anew from `bootstrap.servers`, by a timer
// that the same answer may stop again (2.15.1: rd_kafka_rebootstrap_tmr_stop() forgets
// rk_rebootstrap_in_progress). Such a client knows no broker any more and looks for none: it is
// out of its group for good, and says nothing. What it did say is that all brokers are down; so a
// while after the last time that it says this, it is told the names again. A client that still
// looks says it each time that it failed: how long a while is grows beyond that, as it keeps every
// list that it was told.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "kafka/client/backoff.h"
#include "kafka/client/client_kind.h"

namespace neliroute {

class Rebootstrap {
 public:
  /// `names`: as in `bootstrap.servers`.
  explicit Rebootstrap(std::string names) : names_(std::move(names)) {}

  /// A client said that all brokers are down. `answered`: when any client last had an answer; if
  /// one did since, another outage begins.
  void note_all_down(ClientKind kind, LocalTime now, LocalTime answered) {
    Client& client = clients_[static_cast<std::size_t>(kind)];
    if (answered > client.said && now >= later(client.said, kCalm)) client.backoff.reset();
    client.said = now;
    client.due = true;
  }
  /// `handle`: the client of that kind, null if there is none now. True: it was told.
  bool rebootstrap_if_due(ClientKind kind, rd_kafka_t* handle, LocalTime now) {
    Client& client = clients_[static_cast<std::size_t>(kind)];
    if (!client.due || !client.backoff.is_over(now - client.said)) return false;
    client.due = false;
    client.backoff.grow();
    if (handle == nullptr) return false;
    rd_kafka_brokers_add(handle, names_.c_str());
    return true;
  }

  /// Longer than a client needs to end the brokers that it drops.
  static constexpr milliseconds kFirst{300};
  /// Longer than a client pauses that fails while others are answered: that is one outage.
  static constexpr milliseconds kCalm{1000};

 private:
  struct Client {
    LocalTime said = kLongAgo;
    bool due = false;
    Backoff backoff{kFirst};
  };

  std::string names_;
  std::array<Client, kClientKinds> clients_;
};

}  // namespace neliroute
