// Certificates of a proxy: its own, towards clients, and those that it believes, of owners.
//
// Threads: one, that of the proxy; make() any.   Units: std::chrono.
// Errors: bad_option, naming the file, what is wrong with it and what to do.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <string>

namespace neliroute::forward {

using TlsContextPtr = std::shared_ptr<boost::asio::ssl::context>;

/// A certificate with its key. The files are read anew when they have changed, so that a
/// certificate can be renewed without a restart.
class TlsIdentity {
 public:
  /// `certificate`: PEM, with the chain. `on_notice` is told when they cannot be read any more; the
  /// last ones are used on.
  [[nodiscard]] static Result<std::shared_ptr<TlsIdentity>> make(
      std::string certificate, std::string key, std::function<void(const std::string&)> on_notice);

  /// For the next connection.
  [[nodiscard]] TlsContextPtr current();

 private:
  using Clock = std::chrono::steady_clock;
  using FileTime = std::filesystem::file_time_type;
  TlsIdentity() = default;
  [[nodiscard]] Result<TlsContextPtr> read() const;
  [[nodiscard]] FileTime changed_at() const;

  std::string certificate_;
  std::string key_;
  std::function<void(const std::string&)> on_notice_;
  TlsContextPtr context_;
  FileTime read_at_;
  Clock::time_point look_again_;
};

/// Whom a proxy believes that it has reached: certificates of `authorities` (PEM), or of those that
/// the system trusts if that is empty.
[[nodiscard]] Result<TlsContextPtr> trusting(const std::string& authorities);

/// The certificate of the server must name it: a host name, or an address. False: it is neither.
[[nodiscard]] bool expect_host(SSL& connection, const std::string& host);

}  // namespace neliroute::forward
