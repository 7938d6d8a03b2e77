#include "forward/upstream/names.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace neliroute::forward {

/// The threads share it, as they may be the last ones.
struct Names::Shared {
  explicit Shared(boost::asio::any_io_executor given) : executor(std::move(given)) {}
  boost::asio::any_io_executor executor;  ///< none once this is closed: it may be destroyed then
  std::mutex mutex;
  bool closed = false;
};

Names::Names(boost::asio::any_io_executor executor, NameLimits limits)
    : limits_(limits), shared_(std::make_shared<Shared>(std::move(executor))) {}

Names::~Names() { close(); }

void Names::close() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
    shared_->executor = {};
  }
  known_.clear();
  queued_.clear();
}

void Names::find(const std::string& host, Found found) {
  if (shared_->closed) return;
  Known& known = known_[host];
  const auto now = Clock::now();
  known.waiting.push_back(std::move(found));
  if (now < known.fresh_until || now < known.failed_until) return answer(known);
  if (!known.looking) return look_up(host, known);
  if (known.patience && now >= known.patience->expiry()) answer(known);
}

void Names::doubt(const std::string& host) {
  if (const auto at = known_.find(host); at != known_.end()) at->second.fresh_until = {};
}

void Names::look_up(const std::string& host, Known& known) {
  known.looking = true;
  known.patience.reset();
  if (Clock::now() < known.kept_until) {
    known.patience.emplace(shared_->executor, limits_.patience);
    known.patience->async_wait([this, shared = shared_, host](const Error& error) {
      if (error || shared->closed) return;
      if (const auto at = known_.find(host); at != known_.end()) answer(at->second);
    });
  }
  if (running_ < limits_.lookups) return begin(host);
  queued_.push_back(host);
}

void Names::begin(const std::string& host) {
  ++running_;
  try {
    std::thread([this, shared = shared_, host] {
      Result result = resolved(host);
      const std::lock_guard lock(shared->mutex);
      if (shared->closed) return;
      boost::asio::post(shared->executor,
                        [this, shared, host, result = std::move(result)]() mutable {
                          if (!shared->closed) on_found(host, std::move(result));
                        });
    }).detach();
  } catch (const std::system_error&) {
    on_found(host, {boost::asio::error::host_not_found_try_again, {}});
  }
}

Names::Result Names::resolved(const std::string& host) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  Result made;
  const auto all = tcp::resolver(io).resolve(host, "0", tcp::resolver::numeric_service, made.error);
  for (const auto& one : all) made.addresses.push_back(one.endpoint().address());
  if (!made.error && made.addresses.empty()) made.error = boost::asio::error::host_not_found;
  return made;
}

void Names::on_found(const std::string& host, Result result) {
  --running_;
  Known& known = known_[host];
  const auto now = Clock::now();
  known.looking = false;
  known.patience.reset();
  known.error = result.error;
  if (result.error) {
    known.failed_until = now + limits_.failed;
  } else {
    known.addresses = std::move(result.addresses);
    known.fresh_until = now + limits_.fresh;
    known.kept_until = now + limits_.kept;
  }
  answer(known);
  forget_old();
  if (queued_.empty()) return;
  const std::string next = std::move(queued_.front());
  queued_.pop_front();
  begin(next);
}

void Names::answer(Known& known) {
  const bool counts = Clock::now() < known.kept_until;
  if (known.looking && !counts) return;  // they get what is being looked up
  for (Found& found : std::exchange(known.waiting, {})) {
    boost::asio::post(
        shared_->executor,
        [found = std::move(found), error = counts ? Error() : known.error,
         addresses = counts ? known.addresses : Addresses()] { found(error, addresses); });
  }
}

// Or the names of owners that left would be remembered for ever.
void Names::forget_old() {
  const auto now = Clock::now();
  std::erase_if(known_, [now](const auto& one) {
    const Known& known = one.second;
    return !known.looking && now >= known.kept_until && now >= known.failed_until;
  });
}

}  // namespace neliroute::forward
