// The voters of a quorum, in this process, with real sockets and files; and what a client does.
//
// Threads: one, which blocks.   Units: std::chrono.   Errors: failed expectations.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/voter/voter_client.h"
#include "voter/file_port.h"
#include "voter/voter_server.h"
#include "voter/statistics/voter_statistics.h"

namespace neliroute {

/// This machine's files; syncs take so long, or fail.
class SickFiles;

class ServerRig {
 public:
  static constexpr milliseconds kSoon{30'000};
  using Change = std::function<void(VoterServerOptions&)>;

  /// None is started.
  explicit ServerRig(int voters, Change change = {});
  ~ServerRig();
  ServerRig(const ServerRig&) = delete;
  ServerRig& operator=(const ServerRig&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] VoterServerOptions options(int i) const;
  [[nodiscard]] std::uint16_t port(int i) const { return node(i).port; }
  [[nodiscard]] std::string address(int i) const {
    return "127.0.0.1:" + std::to_string(port(i));
  }
  void start(int i);
  void start_all();
  void stop(int i) { node(i).server.reset(); }
  [[nodiscard]] bool runs(int i) const { return node(i).server != nullptr; }
  /// Its folder is gone.
  void wipe(int i);
  /// Of its disk from now on; a running voter has it at once.
  void slow_down(int i, milliseconds sync);
  void break_disk(int i);

  /// Of one that runs.
  [[nodiscard]] const VoterStatistics& statistics(int i) const {
    return *node(i).server->statistics();
  }
  [[nodiscard]] std::vector<std::string> notices(int i) const;
  [[nodiscard]] bool has_notice(int i, const std::string& part) const;
  /// How often it said that it ended.
  [[nodiscard]] int ended(int i) const { return node(i).ended; }
  template <class Condition>
  static bool wait(const Condition& holds, milliseconds within = kSoon) {
    const auto end = std::chrono::steady_clock::now() + within;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      pause();
    }
    return true;
  }

  /// Who says that it leads the log; -1: nobody.
  [[nodiscard]] int leader_now(std::uint32_t log = 0);
  /// Waits for one.
  [[nodiscard]] int leader(std::uint32_t log = 0);
  /// Connected to the leader.
  [[nodiscard]] std::unique_ptr<VoterClient> client(std::uint32_t log = 0);
  /// Until it is committed; the first that was: a record may be there twice.
  [[nodiscard]] std::optional<quorum::Index> append(const std::string& record,
                                                    std::uint32_t log = 0);
  /// What the leader knows to be committed.
  [[nodiscard]] std::optional<quorum::Answer> ask(const quorum::Ask& ask, std::uint32_t log = 0);
  /// All that is committed, in its order.
  [[nodiscard]] std::vector<std::string> records(std::uint32_t log = 0);

 private:
  struct Node {
    std::uint16_t port = 0;
    std::shared_ptr<SickFiles> files;
    std::unique_ptr<VoterServer> server;
    mutable std::mutex mutex;
    std::vector<std::string> notices;
    std::atomic<int> ended{0};
  };
  [[nodiscard]] Node& node(int i) { return *nodes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Node& node(int i) const { return *nodes_[static_cast<std::size_t>(i)]; }
  static void pause();

  std::filesystem::path folder_;
  Change change_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace neliroute
