// Certificates: one's own, and those that are believed, of others.
//
// Threads: one, that of the connections; make() and trusting() any.   Units: std::chrono.
// Errors: bad_option, naming the file, what is wrong with it and what to do.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>

namespace neliroute {

using TlsContextPtr = std::shared_ptr<boost::asio::ssl::context>;

/// The files of a server.
struct TlsServerFiles {
  std::string certificate;  ///< PEM, with the chain
  std::string key;
  /// Whom it serves: who shows a certificate of these (PEM); empty: everybody.
  std::string authorities;
};

/// A certificate with its key. The files are read anew when they have changed, so that a
/// certificate can be renewed without a restart; until they fit together, again and again.
class TlsIdentity {
 public:
  /// `on_notice` is told when they cannot be read any more; the last ones are used on.
  /// `look_again`: how often it looks whether they have changed.
  [[nodiscard]] static Result<std::shared_ptr<TlsIdentity>> make(
      TlsServerFiles files, std::function<void(const std::string&)> on_notice,
      milliseconds look_again = milliseconds{1000});

  /// For the next connection.
  [[nodiscard]] TlsContextPtr current();

 private:
  using Clock = std::chrono::steady_clock;
  struct Changed {
    std::filesystem::file_time_type certificate, key, authorities;
    friend bool operator==(const Changed&, const Changed&) = default;
  };
  explicit TlsIdentity(milliseconds look_again) : pause_(look_again) {}
  [[nodiscard]] Result<TlsContextPtr> read() const;
  [[nodiscard]] Changed changed_at() const;

  const milliseconds pause_;
  TlsServerFiles files_;
  std::function<void(const std::string&)> on_notice_;
  TlsContextPtr context_;
  Changed read_;          ///< when the files of `context_` had changed
  std::string complaint_;  ///< the last one, until they can be read again
  Clock::time_point look_again_;
};

/// The files of a client.
struct TlsClientFiles {
  /// Whom it believes that it has reached: certificates of these (PEM); empty: of those that the
  /// system trusts.
  std::string authorities;
  std::string certificate;  ///< its own, with the chain; empty: it has none
  std::string key;
};
[[nodiscard]] Result<TlsContextPtr> trusting(const TlsClientFiles& files);

/// The certificate of the server must name it: a host name, or an address. False: it is neither.
[[nodiscard]] bool expect_host(SSL& connection, const std::string& host);

}  // namespace neliroute
