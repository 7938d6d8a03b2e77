// An etcd of this machine, one member, in a folder of its own.
//
// Threads: the test's.   Units: std::chrono.   Errors: they fail the test.
#pragma once

#include <sys/types.h>

#include <boost/json/array.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "ledgers/etcd/blocking_etcd.h"
#include "ledgers/etcd/etcd_json.h"

namespace neliroute {

class EtcdProcess {
 public:
  EtcdProcess();
  ~EtcdProcess();
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  [[nodiscard]] const EtcdConnection& connection() const noexcept { return connection_; }
  /// Stands still, or goes on.
  void freeze();
  void thaw();
  void stop();
  /// On what is in its folder.
  void start();
  /// Of a server that was stopped: nothing is left.
  void wipe();
  /// Wipes it; `work` comes before anybody can reach it at its own port.
  void restart_apart(const std::function<void(EtcdProcess&)>& work);
  /// A transaction of these operations.
  void commit(boost::json::array operations);
  [[nodiscard]] EtcdFound find(const EtcdRange& range);

 private:
  void use_port(std::uint16_t port);
  void launch();
  /// Waits until it does; false: it has ended, or does not in time.
  [[nodiscard]] bool serves();

  std::string folder_;
  std::uint16_t client_port_ = 0;
  std::uint16_t peer_port_ = 0;
  EtcdConnection connection_;
  pid_t pid_ = -1;
};

}  // namespace neliroute
