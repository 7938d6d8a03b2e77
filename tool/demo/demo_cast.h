// The actors of the demo: a broker or three voters, and three owners, each a process of its own.
//
// Threads: one.   Units: std::chrono.   Errors: names the one that failed, with the end of its log.
#pragma once

#include <boost/json/object.hpp>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <optional>
#include <string>
#include <vector>

#include "tool/demo/child.h"

namespace neliroute::tool {

/// Of the embedded broker's topic, and of any lane with an assigner, unless others are asked for.
inline constexpr std::uint32_t kDemoPartitions = 64;

struct DemoOptions {
  /// Empty: the demo's own store.
  std::string brokers;
  /// The demo's own store is three voters, not the embedded broker.
  bool quorum = false;
  std::optional<std::string> topic;
  SlotCount slots{1024};
  std::optional<std::uint32_t> partitions;
  bool allow_uneven = false;
  /// -X of the command line; the children get them in the environment, which other users cannot
  /// read.
  std::vector<std::string> properties;
  std::string profile = "fast";
  /// Who assigns. No value: an assigner, or the group if the variation knows no other.
  std::optional<Assignment> assignment;
  bool broadcast = false;
  /// Passed unchanged to the owners: --variation, --local-clock-error, --roles.
  std::vector<std::string> variation;
  std::string keys = "/usr/share/dict/words";
  bool stay = false;
  bool json = false;

  [[nodiscard]] bool embedded() const { return brokers.empty() && !quorum; }
  [[nodiscard]] bool own_store() const { return brokers.empty(); }
  [[nodiscard]] Assignment source() const {
    return assignment.value_or(broadcast ? Assignment::group : Assignment::assigner);
  }
  [[nodiscard]] bool by_assigner() const { return source() == Assignment::assigner; }
};

struct Actor {
  std::string name;
  std::string endpoint;
  Child child;
  pid_t pid;
  /// What it printed when it was ready.
  boost::json::object ready;
};

class Cast {
 public:
  [[nodiscard]] static Result<Cast> make(DemoOptions options);
  Cast(Cast&&) = default;

  /// Starts the demo's own store, if it uses one, and waits until it listens.
  [[nodiscard]] Result<void> start_store();
  /// Starts them all at once, and waits until each has found the ledger.
  [[nodiscard]] Result<void> start_owners(const std::vector<std::string>& names);
  /// Owners first, so that they can hand over; kills those that do not end in time.
  void end();

  /// An actor that has ended although nobody ended it.
  [[nodiscard]] std::optional<Error> casualty();
  [[nodiscard]] Actor& owner(std::size_t index) { return owners_[index]; }
  [[nodiscard]] std::vector<Actor>& owners() noexcept { return owners_; }
  void kill(std::size_t index);

  [[nodiscard]] const std::string& brokers() const noexcept { return brokers_; }
  /// Of the voters; empty: there are none.
  [[nodiscard]] const std::string& ledger() const noexcept { return ledger_; }
  [[nodiscard]] const std::string& topic() const noexcept { return topic_; }
  /// How many partitions are owned, once the owners run.
  [[nodiscard]] std::uint32_t partitions() const;
  /// As the owners are told; no value: as many as the topic has.
  [[nodiscard]] std::optional<std::uint32_t> owned_partitions() const;

 private:
  Cast(DemoOptions options, TemporaryFolder folder);
  [[nodiscard]] Result<Actor> start(const std::string& name, std::string endpoint,
                                    std::vector<std::string> arguments);
  [[nodiscard]] Result<void> start_broker();
  [[nodiscard]] Result<void> start_voters();
  [[nodiscard]] Result<void> await(Actor& actor);
  [[nodiscard]] std::string file(const std::string& name, const char* kind) const;
  [[nodiscard]] Error failed(const Actor& actor, const std::string& how) const;

  DemoOptions options_;
  TemporaryFolder folder_;
  std::string brokers_;
  std::string topic_;
  std::string ledger_;
  std::vector<Actor> store_;  ///< a broker, voters, or nobody
  std::vector<Actor> owners_;
  std::optional<std::size_t> killed_;
};

}  // namespace neliroute::tool
