// What the admin port answers to Envoys: the owners of all partitions (endpoint discovery by REST),
// and for one request after the other where its owner is (ext_authz over HTTP).
// docs/routing.md shows the configurations.
//
// Threads: one (the server's strand).   Units: bytes.
// Errors: answers with a status of 400 and above, and {"error":..}.
#pragma once

#include <neliroute/error.h>
#include <neliroute/observable.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/admin_view.h"
#include "admin/envoy/known_owners.h"
#include "admin/request.h"
#include "admin/site.h"

namespace neliroute::admin {

class EnvoyAnswers {
 public:
  EnvoyAnswers(const boost::asio::any_io_executor& strand, Observable observable,
               std::function<void(const Notice&)> on_notice);

  /// Whether the path is one that is POSTed to.
  [[nodiscard]] static bool takes(std::string_view path) noexcept;
  /// As a PostRule, of a path that it takes.
  [[nodiscard]] std::variant<std::size_t, Refusal> may_post(const Request& header) const;
  /// Answers a POST that may_post() let pass.
  [[nodiscard]] Answer discover(const Request& request);
  /// Answers a request to a path below kAuthorizePath.
  [[nodiscard]] Answer authorize(const Request& request, LocalTime now);

  void take(const KeptChange& change) { owners_.take(change.routes); }
  void close() { owners_.close(); }

 private:
  Observable observable_;
  KnownOwners owners_;
  bool complete_ = false;  ///< all was known at some time
  /// The newest answer.
  std::vector<std::string> clusters_;
  std::uint64_t version_ = 0;
  Text text_;
};

}  // namespace neliroute::admin
