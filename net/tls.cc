#include "net/tls.h"

#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

namespace neliroute {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

Error unfit_file(const std::string& what, const std::string& file, const std::string& why) {
  return {Errc::bad_option, what + " " + file + " cannot be used: " + why};
}

TlsContextPtr context_of(ssl::context::method method) {
  auto made = std::make_shared<ssl::context>(method);
  made->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                    ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  // Otherwise OpenSSL asks the terminal for a key's password, and everything waits for that.
  made->set_password_callback([](std::size_t, auto) { return std::string(); });
  return made;
}

Result<void> use_files(ssl::context& context, const std::string& certificate,
                       const std::string& key) {
  error_code error;
  context.use_certificate_chain_file(certificate, error);
  if (error) {
    return unfit_file("the certificate", certificate,
                      error.message() + "; expected a PEM file, its chain included");
  }
  context.use_private_key_file(key, ssl::context::pem, error);
  if (error) {
    return unfit_file("the key", key,
                      error.message() +
                          "; expected the PEM file of the certificate's private key, without "
                          "a password");
  }
  return {};
}

/// Certificates of these; empty: of those that the system trusts.
Result<void> believe(ssl::context& context, const std::string& authorities) {
  error_code error;
  if (authorities.empty()) {
    context.set_default_verify_paths(error);
  } else {
    context.load_verify_file(authorities, error);
  }
  if (!error) return {};
  return unfit_file("the authorities' file", authorities,
                    error.message() + "; expected a PEM file of certificates");
}

constexpr unsigned char kSessions[] = "neliroute";

}  // namespace

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::make(
    TlsServerFiles files, std::function<void(const std::string&)> on_notice,
    milliseconds look_again) {
  std::shared_ptr<TlsIdentity> made(new TlsIdentity(look_again));
  made->files_ = std::move(files);
  made->on_notice_ = std::move(on_notice);
  made->read_ = made->changed_at();
  made->look_again_ = Clock::now() + look_again;
  auto context = made->read();
  if (!context) return context.error();
  made->context_ = std::move(*context);
  return made;
}

// Each by itself: a key that is renamed into place may be older than its certificate.
TlsIdentity::Changed TlsIdentity::changed_at() const {
  std::error_code ignored;
  const auto at = [&ignored](const std::string& file) {
    return std::filesystem::last_write_time(file, ignored);
  };
  return {at(files_.certificate), at(files_.key), at(files_.authorities)};
}

Result<TlsContextPtr> TlsIdentity::read() const {
  TlsContextPtr made = context_of(ssl::context::tls_server);
  if (auto used = use_files(*made, files_.certificate, files_.key); !used) return used.error();
  if (files_.authorities.empty()) return made;
  made->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  // Without a name for its sessions OpenSSL refuses clients that resume one.
  SSL_CTX_set_session_id_context(made->native_handle(), kSessions, sizeof kSessions);
  if (auto believed = believe(*made, files_.authorities); !believed) return believed.error();
  return made;
}

TlsContextPtr TlsIdentity::current() {
  if (Clock::now() < look_again_) return context_;
  look_again_ = Clock::now() + pause_;
  const Changed changed = changed_at();
  if (changed == read_) {
    complaint_.clear();
    return context_;
  }
  auto context = read();
  if (context) {
    context_ = std::move(*context);
    read_ = changed;
    complaint_.clear();
    on_notice_("read the certificate " + files_.certificate + " anew");
  } else if (std::string what = context.error().message(); what != complaint_) {
    complaint_ = std::move(what);
    on_notice_(complaint_ + "; the one that was read before is used on");
  }
  return context_;
}

Result<TlsContextPtr> trusting(const TlsClientFiles& files) {
  TlsContextPtr made = context_of(ssl::context::tls_client);
  made->set_verify_mode(ssl::verify_peer);
  if (auto believed = believe(*made, files.authorities); !believed) return believed.error();
  if (files.certificate.empty()) return made;
  if (auto used = use_files(*made, files.certificate, files.key); !used) return used.error();
  return made;
}

bool expect_host(SSL& connection, const std::string& host) {
  error_code error;
  boost::asio::ip::make_address(host, error);
  X509_VERIFY_PARAM* const expected = SSL_get0_param(&connection);
  if (!error) return X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1;
  return SSL_set_tlsext_host_name(&connection, host.c_str()) == 1 &&
         X509_VERIFY_PARAM_set1_host(expected, host.c_str(), host.size()) == 1;
}

}  // namespace neliroute
