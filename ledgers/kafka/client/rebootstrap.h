// Re-bootstraps a client that has lost all its brokers.
//
// A cluster that shuts down in order answers the last requests with an empty list of brokers.
// librdkafka then drops the brokers it knows and starts again from `bootstrap.servers`, by a timer
// that the same answer may stop again (2.15.1: rd_kafka_rebootstrap_tmr_stop() forgets
// rk_rebootstrap_in_progress). Such a client knows no broker any more and looks for none: it is
// out of its group for good, and reports nothing. The last thing it reported is that all brokers
// are down; so some time after the last such report it gets the bootstrap servers again. A client
// that is still trying reports it after each failure; the time grows beyond that, because a client
// keeps every list that it gets.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <librdkafka/rdkafka.h>

#include <array>
#include <chrono>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "ledgers/kafka/client/backoff.h"
#include "ledgers/ledger_statistics.h"

namespace neliroute {

class Rebootstrap {
 public:
  /// `names`: as in `bootstrap.servers`.
  explicit Rebootstrap(std::string names) : names_(std::move(names)) {}

  /// A client reported that all brokers are down. `answered`: when any client last had an answer;
  /// an answer since the previous report means that this is another outage.
  void note_all_down(ClientKind kind, LocalTime now, LocalTime answered) {
    Client& client = clients_[static_cast<std::size_t>(kind)];
    if (answered > client.reported && now >= later(client.reported, kCalm)) client.backoff.reset();
    client.reported = now;
    client.due = true;
  }
  /// `handle`: the client of that kind, null if there is none now. True: it was done.
  bool rebootstrap_if_due(ClientKind kind, rd_kafka_t* handle, LocalTime now) {
    Client& client = clients_[static_cast<std::size_t>(kind)];
    if (!client.due || !client.backoff.is_over(now - client.reported)) return false;
    client.due = false;
    client.backoff.grow();
    if (handle == nullptr) return false;
    rd_kafka_brokers_add(handle, names_.c_str());
    return true;
  }

  /// Longer than a client needs to end the brokers that it drops.
  static constexpr milliseconds kFirst{300};
  /// Longer than the pauses of a client that fails while others are answered: that is one outage.
  static constexpr milliseconds kCalm{1000};

 private:
  struct Client {
    LocalTime reported = kLongAgo;
    bool due = false;
    Backoff backoff{kFirst};
  };

  std::string names_;
  std::array<Client, kClientKinds> clients_;
};

}  // namespace neliroute
