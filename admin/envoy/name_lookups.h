// Looks up hosts' IP addresses without anybody waiting for it.
//
// A lookup cannot be stopped, and may take half a minute if no server answers. So a few are made at
// a time, on threads of their own, and those that nobody wants any more are not begun. Of one host
// there is never more than one: who asks meanwhile gets its answer.
//
// Threads: one (that of the given executor).   Units: none.   Errors: passed on, as text.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace neliroute::admin {

/// The address, or none and why.
using FoundIp = std::function<void(std::optional<std::string> ip, std::string why)>;
/// Who asked keeps it: without it, the lookup is not wanted any more.
using Wanted = std::shared_ptr<const void>;
/// Looks up a host's address, and calls back at most once, on the executor, while that is wanted;
/// never from inside.
using FindIp = std::function<Wanted(const std::string& host, FoundIp found)>;

struct ResolvedName {
  std::optional<std::string> ip;
  std::string why;  ///< there is none
};
/// Blocks for as long as it takes; on any thread.
using Resolve = std::function<ResolvedName(const std::string& host)>;

/// As the system resolves names; IPv4 first, as most services listen there.
[[nodiscard]] ResolvedName resolve_by_system(const std::string& host);

/// Once the last copy is destroyed, nothing is called back any more.
[[nodiscard]] FindIp find_names(boost::asio::any_io_executor executor,
                                Resolve resolve = resolve_by_system);

}  // namespace neliroute::admin
