// A PostgreSQL of this machine in a folder of its own, one for all tests of a program.
//
// Threads: the test's.   Units: std::chrono.   Errors: they fail the test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ledgers/ledger_address.h"

namespace neliroute {

class PostgresProcess {
 public:
  static PostgresProcess& shared();
  PostgresProcess();
  ~PostgresProcess();
  PostgresProcess(const PostgresProcess&) = delete;
  PostgresProcess& operator=(const PostgresProcess&) = delete;

  /// `query`: as in "&notify=off".
  [[nodiscard]] PostgresConnection connection(const std::string& topic,
                                              const std::string& query = "") const;
  /// Stands still, or goes on: the server and all that serve a connection.
  void freeze();
  void thaw();
  /// A crash, and what follows.
  void kill_and_start();
  /// Rows of texts.
  std::vector<std::vector<std::string>> query(const std::string& sql);

 private:
  void make_folder();
  void start();
  void stop();
  [[nodiscard]] std::string uri() const;
  [[nodiscard]] std::vector<pid_t> processes() const;

  std::string folder_;
  std::uint16_t port_;
  pid_t pid_ = -1;
};

}  // namespace neliroute
