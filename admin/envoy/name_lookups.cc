#include "admin/envoy/name_lookups.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <utility>
#include <vector>

#include "admin/envoy/side_threads.h"
#include "admin/envoy/socket_address.h"

namespace neliroute::admin {
namespace {

using boost::asio::ip::tcp;

// More dead names than this delay the others.
constexpr std::size_t kThreads = 4;

class NameLookups {
 public:
  NameLookups(boost::asio::any_io_executor executor, Resolve resolve)
      : resolve_(std::move(resolve)), threads_(std::move(executor), kThreads) {}

  Wanted find(const std::string& host, FoundIp found) {
    auto& known = under_way_[host];
    auto lookup = known.lock();
    const bool is_new = !lookup;
    if (is_new) known = lookup = std::make_shared<Lookup>();
    const auto caller = std::make_shared<const Caller>(Caller{lookup, std::move(found)});
    lookup->callers.push_back(caller);
    if (is_new) begin(host, lookup);
    return caller;
  }

 private:
  struct Caller;
  /// Its callers keep it, and who looks it up, once that has begun.
  struct Lookup {
    std::vector<std::weak_ptr<const Caller>> callers;
  };
  struct Caller {
    std::shared_ptr<Lookup> lookup;
    FoundIp found;
  };

  void begin(const std::string& host, const std::weak_ptr<Lookup>& wanted) {
    threads_.run([this, resolve = resolve_, host, wanted]() -> SideThreads::Then {
      const auto lookup = wanted.lock();
      if (!lookup) return [this, host] { forget(host); };
      return [this, host, lookup, result = resolve(host)] { answer(host, *lookup, result); };
    });
  }

  void answer(const std::string& host, Lookup& lookup, const ResolvedName& result) {
    under_way_.erase(host);  // it is this one, as it lives
    for (const auto& one : std::exchange(lookup.callers, {})) {
      if (const auto caller = one.lock()) caller->found(result.ip, result.why);
    }
  }

  void forget(const std::string& host) {
    const auto at = under_way_.find(host);
    if (at != under_way_.end() && at->second.expired()) under_way_.erase(at);
  }

  Resolve resolve_;
  std::map<std::string, std::weak_ptr<Lookup>> under_way_;
  SideThreads threads_;
};

}  // namespace

ResolvedName resolve_by_system(const std::string& host) {
  boost::asio::io_context io;
  tcp::resolver resolver(io);
  boost::system::error_code error;
  const auto results = resolver.resolve(host, "", error);
  if (error || results.empty()) return {std::nullopt, error.message()};
  const auto v4 = std::find_if(results.begin(), results.end(),
                               [](const auto& one) { return one.endpoint().address().is_v4(); });
  const auto& first = v4 == results.end() ? *results.begin() : *v4;
  return {ip_of(first.endpoint().address().to_string()),
          "its address means something on this machine only"};
}

FindIp find_names(boost::asio::any_io_executor executor, Resolve resolve) {
  const auto lookups = std::make_shared<NameLookups>(std::move(executor), std::move(resolve));
  return [lookups](const std::string& host, FoundIp found) {
    return lookups->find(host, std::move(found));
  };
}

}  // namespace neliroute::admin
