#include "ledgers/etcd/blocking_etcd.h"

#include <utility>

#include "ledgers/parts/run_within.h"

namespace neliroute {

namespace asio = boost::asio;

BlockingEtcd::BlockingEtcd(const EtcdConnection& connection, TlsContextPtr tls)
    : servers_(std::make_shared<EtcdServers>(io_.get_executor(), connection, std::move(tls))),
      client_(io_.get_executor(), servers_) {}

BlockingEtcd::~BlockingEtcd() {
  client_.close();
  servers_->names().close();
}

// A line of a watch has no bound of its own: past this one, the connection is dropped, and what
// waits for it ends.
template <class T>
T BlockingEtcd::run(asio::awaitable<T> work, milliseconds within) {
  return run_within(io_, std::move(work), within, [this] { client_.drop(); });
}

EtcdAnswer BlockingEtcd::call(std::string_view target, const boost::json::object& body,
                              milliseconds within) {
  EtcdAnswer answer = run(client_.call(target, body, within), 5 * within);
  if (answer.outcome == EtcdOutcome::unreachable && answer.trouble.empty()) {
    answer.trouble = "no answer in time";
  }
  return answer;
}

bool BlockingEtcd::watch(const boost::json::object& body, milliseconds within) {
  return run(client_.watch(body, within), 5 * within);
}

std::optional<std::string> BlockingEtcd::next_line(milliseconds within) {
  return run(client_.next_line(), within);
}

}  // namespace neliroute
