#include "base/host_names.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace neliroute {

HostNames::HostNames(boost::asio::any_io_executor executor, HostNameLimits limits, Resolve resolve)
    : limits_(limits),
      resolve_(std::move(resolve)),
      executor_(std::make_shared<const boost::asio::any_io_executor>(executor)),
      side_(std::move(executor), limits.lookups) {}

void HostNames::close() {
  executor_.reset();
  side_.close(milliseconds{0});
  known_.clear();
}

void HostNames::find(const std::string& host, Found found) {
  if (!executor_) return;
  Known& known = known_[host];
  const auto now = Clock::now();
  known.waiting.push_back(std::move(found));
  if (now < known.fresh_until || now < known.failed_until) return answer(known);
  if (!known.looking) return look_up(host, known);
  if (known.patience && now >= known.patience->expiry()) answer(known);
}

void HostNames::doubt(const std::string& host) {
  if (const auto at = known_.find(host); at != known_.end()) at->second.fresh_until = {};
}

void HostNames::look_up(const std::string& host, Known& known) {
  known.looking = true;
  if (Clock::now() < known.kept_until) {
    known.patience.emplace(*executor_, limits_.patience);
    known.patience->async_wait(
        [this, open = std::weak_ptr(executor_), host](const error_code& error) {
          if (error || open.expired()) return;
          if (const auto at = known_.find(host); at != known_.end()) answer(at->second);
        });
  }
  const bool begins = side_.run([this, resolve = resolve_, host]() -> SideThreads::Then {
    error_code error;
    Addresses found = resolve(host, error);
    if (!error && found.empty()) error = boost::asio::error::host_not_found;
    return [this, host, error, found = std::move(found)] { on_found(host, error, found); };
  });
  if (!begins) on_found(host, boost::asio::error::host_not_found_try_again, {});
}

HostNames::Addresses HostNames::by_system(const std::string& host, error_code& error) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  Addresses made;
  const auto all = tcp::resolver(io).resolve(host, "0", tcp::resolver::numeric_service, error);
  for (const auto& one : all) made.push_back(one.endpoint().address());
  return made;
}

void HostNames::on_found(const std::string& host, const error_code& error, Addresses addresses) {
  Known& known = known_[host];
  const auto now = Clock::now();
  known.looking = false;
  known.patience.reset();
  known.error = error;
  if (!error) {
    known.addresses = std::move(addresses);
    known.fresh_until = now + limits_.fresh;
    known.kept_until = now + limits_.kept;
  } else {
    known.failed_until = now + limits_.failed;
    if (now >= known.kept_until) known.addresses.clear();
  }
  answer(known);
  forget_old();
}

void HostNames::answer(Known& known) {
  if (known.looking && Clock::now() >= known.kept_until) return;  // they get what is looked up
  for (Found& found : std::exchange(known.waiting, {})) {
    boost::asio::post(
        *executor_, [open = std::weak_ptr(executor_), found = std::move(found),
                     error = known.addresses.empty() ? known.error : error_code(),
                     addresses = known.addresses] {
          if (!open.expired()) found(error, addresses);
        });
  }
}

// Or the names of owners that left would be remembered for ever.
void HostNames::forget_old() {
  const auto now = Clock::now();
  std::erase_if(known_, [now](const auto& one) {
    const Known& known = one.second;
    return !known.looking && now >= known.kept_until && now >= known.failed_until;
  });
}

}  // namespace neliroute
