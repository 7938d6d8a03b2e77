// One log of a voter, with its clients; the two other voters are the test's, and vote for it.
//
// Threads: the test's; the log has one of its own.   Units: indices, std::chrono.
// Errors: failed expectations.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/side_threads.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/voter/voter_client.h"
#include "voter/served_log.h"
#include "voter/voter_door.h"

namespace neliroute {

class ServedRig {
 public:
  static constexpr milliseconds kElection{300};

  /// It leads by then. `stores`: what let_store() says.
  explicit ServedRig(bool stores = true);
  ~ServedRig();
  ServedRig(const ServedRig&) = delete;
  ServedRig& operator=(const ServedRig&) = delete;

  /// Whether the others store what they are sent. They answer in any case, so it leads on.
  void let_store(bool stores);
  /// Another voter leads in the next term, and has committed its first entry at `index`.
  void depose(quorum::Index index);
  /// `get` of the log, on its thread.
  template <class Get>
  auto look(const Get& get) {
    return io_.run([&] { return get(*log_); });
  }
  [[nodiscard]] quorum::Index end();
  [[nodiscard]] quorum::Index committed();
  [[nodiscard]] std::size_t waiting_bytes();
  /// Once it has taken whatever has come.
  [[nodiscard]] std::size_t settled_waiting_bytes();
  [[nodiscard]] bool leads();

  /// A client of it that was greeted.
  [[nodiscard]] std::unique_ptr<VoterClient> client(int receive_bytes = 0);

 private:
  void start();
  void answer(const quorum::Message& message);
  [[nodiscard]] quorum::Message from_other(const quorum::Message& asked, quorum::Term term) const;

  bool stores_;
  IoThread io_;
  SideThreads disks_;
  std::vector<std::string> addresses_{"v0", "v1", "v2"};
  std::vector<quorum::Index> held_{0, 0, 0};  ///< by the others
  std::unique_ptr<ServedLog> log_;
  std::shared_ptr<VoterDoor> door_;
  std::uint16_t port_ = 0;
};

}  // namespace neliroute
