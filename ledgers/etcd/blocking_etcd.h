// An etcd asked by a thread that waits for each answer.
//
// Threads: one, which blocks.   Units: std::chrono.   Errors: in the answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>

#include "ledgers/etcd/etcd_client.h"
#include "ledgers/ledger_address.h"

namespace neliroute {

class BlockingEtcd {
 public:
  explicit BlockingEtcd(const EtcdConnection& connection, TlsContextPtr tls = nullptr);
  ~BlockingEtcd();
  BlockingEtcd(const BlockingEtcd&) = delete;
  BlockingEtcd& operator=(const BlockingEtcd&) = delete;

  [[nodiscard]] EtcdAnswer call(std::string_view target, const boost::json::object& body,
                                milliseconds within);
  [[nodiscard]] bool watch(const boost::json::object& body, milliseconds within);
  /// No value: the watch has ended, or said nothing for so long.
  [[nodiscard]] std::optional<std::string> next_line(milliseconds within);

  void drop() { client_.drop(); }
  /// As of EtcdClient.
  [[nodiscard]] bool all_failed() const noexcept { return client_.all_failed(); }
  [[nodiscard]] std::string troubles() const { return client_.troubles(); }

 private:
  template <class T>
  T run(boost::asio::awaitable<T> work, milliseconds within);

  boost::asio::io_context io_;
  std::shared_ptr<EtcdServers> servers_;
  EtcdClient client_;
};

}  // namespace neliroute
