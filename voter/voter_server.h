// A voter of a quorum: its logs, its disk, the other voters and its clients.
//
// Threads: any one. It runs on threads of its own, so nothing else in its process can block it.
// Units: std::chrono.
// Errors: at start: bad_option, ledger_unfit (its files or port). Later failures are notices. A
// failed disk ends the voter; then `ended` is called.
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
struct VoterStatistics;

struct VoterServerOptions {
  /// Of the quorum.
  std::string name;
  /// HOST:PORT of all voters, in any order; `address` is this voter's.
  std::vector<std::string> voters;
  std::string address;
  std::string folder;
  /// The number of independent logs; each has its own leader.
  std::uint32_t logs = 1;
  milliseconds election{300};
  milliseconds kept{1'200'000};
  /// Shared by all voters and clients; empty: none.
  std::string key;
  bool tls = false;
  std::string authorities;
  std::string certificate;
  std::string private_key;
  /// Further clients are refused.
  std::size_t clients_max = 1024;
  /// Of a log, in memory. A log that is full takes no records until old ones are dropped.
  std::size_t log_bytes_max = std::size_t{1} << 30;
};

class VoterServer {
 public:
  struct Handlers {
    /// Both are called on a thread of the voter's.
    std::function<void(const Notice&)> notice;
    std::function<void(const Error&)> ended;
  };
  /// It listens when this returns.
  [[nodiscard]] static Result<std::unique_ptr<VoterServer>> start(VoterServerOptions options,
                                                                  Handlers handlers);
  /// On other files than this machine's, for tests.
  [[nodiscard]] static Result<std::unique_ptr<VoterServer>> start_on(
      std::shared_ptr<FilePort> files, VoterServerOptions options, Handlers handlers);
  /// It may outlive this.
  [[nodiscard]] std::shared_ptr<const VoterStatistics> statistics() const;
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
