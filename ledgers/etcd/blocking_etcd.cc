#include "ledgers/etcd/blocking_etcd.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <exception>
#include <utility>

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
  const auto result = std::make_shared<std::optional<T>>();  // it may come too late
  io_.restart();
  const auto guard = asio::make_work_guard(io_);
  asio::co_spawn(io_, std::move(work), [this, result](const std::exception_ptr& thrown, T value) {
    if (thrown) std::rethrow_exception(thrown);
    *result = std::move(value);
    io_.stop();
  });
  io_.run_for(within);
  if (*result) return std::move(**result);
  client_.drop();
  io_.restart();
  io_.run_for(milliseconds{1'000});
  return *result ? std::move(**result) : T{};
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
