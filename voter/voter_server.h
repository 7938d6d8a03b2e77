// A voter of a quorum: its logs, its disk, the other voters and its clients.
//
// Threads: any one; it runs on others of its own, so what its process does cannot stop it.
// Units: std::chrono.
// Errors: at start: bad_option, ledger_unfit (of its files or port). Later failures are notices;
// one that it cannot go on after (a disk) ends it, which `ended` is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

namespace neliroute {

class FilePort;

struct VoterServerOptions {
  /// Of the quorum.
  std::string name;
  /// HOST:PORT of all voters, sorted, and this one's, of these.
  std::vector<std::string> voters;
  std::string address;
  std::string folder;
  /// Independent ones, each with a leader of its own.
  std::uint32_t logs = 1;
  milliseconds election{300};
  milliseconds kept{1'200'000};
  /// Shared by all voters and clients; empty: none.
  std::string key;
  bool tls = false;
  std::string authorities;
  std::string certificate;
  std::string private_key;
  /// More are refused.
  std::size_t clients_max = 1024;
};

class VoterServer {
 public:
  struct Handlers {
    /// On a thread of the voter's.
    std::function<void(const Notice&)> notice;
    std::function<void(const Error&)> ended;
  };
  /// It listens when this returns.
  [[nodiscard]] static Result<std::unique_ptr<VoterServer>> start(VoterServerOptions options,
                                                                  Handlers handlers);
  /// On other files than this machine's, for tests.
  [[nodiscard]] static Result<std::unique_ptr<VoterServer>> start_on(
      std::shared_ptr<FilePort> files, VoterServerOptions options, Handlers handlers);
  /// Not on a thread of its own.
  ~VoterServer();
  VoterServer(const VoterServer&) = delete;
  VoterServer& operator=(const VoterServer&) = delete;

 private:
  struct State;
  explicit VoterServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace neliroute
