// A certificate and its key, which are renewed while they are in use.
#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/stream.h"

namespace neliroute::forward {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;

/// A key with a certificate that it signed itself, as files. `names`: "DNS:…" or "IP:…" of whom it
/// is, besides its subject.
void make_identity(const std::string& name, const fs::path& certificate, const fs::path& key,
                   const char* names = nullptr) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(EVP_EC_gen("P-256"),
                                                                 EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), pair.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  if (names != nullptr) {
    X509_set_version(made.get(), X509_VERSION_3);
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
    const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names), X509_EXTENSION_free);
    ASSERT_EQ(X509_add_ext(made.get(), extension.get(), -1), 1);
  }
  ASSERT_GT(X509_sign(made.get(), pair.get(), EVP_sha256()), 0);
  const auto write = [](const fs::path& path, const auto& print) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(print(file), 1);
    EXPECT_EQ(std::fclose(file), 0);
  };
  write(certificate, [&](std::FILE* file) { return PEM_write_X509(file, made.get()); });
  write(key, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string subject_of(const TlsContextPtr& context) {
  const X509* const certificate = SSL_CTX_get0_certificate(context->native_handle());
  char name[64] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

struct Renewed : testing::Test {
  Renewed() {
    std::string made = (fs::temp_directory_path() / "neliroute-tls-XXXXXX").string();
    folder = ::mkdtemp(made.data());
    make_identity("first", certificate(), key());
    make_identity("second", folder / "new.pem", folder / "new.key");
    auto opened = TlsIdentity::make(
        certificate().string(), key().string(),
        [this](const std::string& text) { notices.push_back(text); }, 0ms);
    identity = std::move(opened.value());
  }
  ~Renewed() override { fs::remove_all(folder); }

  [[nodiscard]] fs::path certificate() const { return folder / "own.pem"; }
  [[nodiscard]] fs::path key() const { return folder / "own.key"; }
  /// To a client that connects now.
  [[nodiscard]] std::string served_as() { return subject_of(identity->current()); }

  fs::path folder;
  std::shared_ptr<TlsIdentity> identity;
  std::vector<std::string> notices;
};

TEST_F(Renewed, a_key_that_is_older_than_its_certificate_is_read_too) {
  EXPECT_EQ(served_as(), "first");
  fs::last_write_time(folder / "new.key", fs::last_write_time(key()) - 1h);
  fs::last_write_time(folder / "new.pem", fs::last_write_time(key()) + 1h);
  fs::rename(folder / "new.pem", certificate());
  EXPECT_EQ(served_as(), "first");
  EXPECT_THAT(notices, ElementsAre(HasSubstr("the one that was read before is used on")));
  fs::rename(folder / "new.key", key());
  EXPECT_EQ(served_as(), "second");
  EXPECT_THAT(notices, ElementsAre(_, HasSubstr("anew")));
}

TEST_F(Renewed, what_cannot_be_read_is_tried_again_and_said_once) {
  fs::rename(folder / "new.key", key());
  const auto changed = fs::last_write_time(key());
  EXPECT_EQ(served_as(), "first");
  EXPECT_EQ(served_as(), "first");
  EXPECT_EQ(notices.size(), 1u);
  // Whatever was wrong, no time says that it is mended.
  fs::last_write_time(folder / "new.pem", fs::last_write_time(certificate()));
  fs::rename(folder / "new.pem", certificate());
  ASSERT_EQ(fs::last_write_time(key()), changed);
  EXPECT_EQ(served_as(), "second");
  EXPECT_THAT(notices, ElementsAre(_, HasSubstr("anew")));
}

TEST_F(Renewed, a_key_with_a_password_is_refused_and_nobody_is_asked_for_it) {
  EXPECT_NE(SSL_CTX_get_default_passwd_cb(identity->current()->native_handle()), nullptr)
      << "OpenSSL would ask the terminal";
  std::FILE* file = std::fopen(key().c_str(), "r");
  ASSERT_NE(file, nullptr);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair(
      PEM_read_PrivateKey(file, nullptr, nullptr, nullptr), EVP_PKEY_free);
  ASSERT_EQ(std::fclose(file), 0);
  file = std::fopen(key().c_str(), "w");
  ASSERT_NE(file, nullptr);
  const unsigned char password[] = "secret";
  EXPECT_EQ(
      PEM_write_PrivateKey(file, pair.get(), EVP_aes_128_cbc(), password, 6, nullptr, nullptr), 1);
  ASSERT_EQ(std::fclose(file), 0);
  const auto again = TlsIdentity::make(certificate().string(), key().string(), nullptr, 0ms);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr(key().string()));
  EXPECT_THAT(again.error().message(), HasSubstr("without a password"));
}

/// An owner whose certificate, which the gateway trusts, names `names`.
struct Named : testing::Test {
  Named() { folder = ::mkdtemp(made.data()); }
  ~Named() override { fs::remove_all(folder); }

  /// Whether a connection to it as `host` comes about.
  [[nodiscard]] bool is_believed(const char* names, const std::string& host) {
    const fs::path certificate = folder / "own.pem";
    const fs::path key = folder / "own.key";
    make_identity("owner", certificate, key, names);
    const auto identity =
        TlsIdentity::make(certificate.string(), key.string(), [](const std::string&) {}).value();
    using boost::asio::ip::tcp;
    boost::asio::io_context io;
    tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
    Stream client(io.get_executor());
    client.socket().connect(acceptor.local_endpoint());
    Stream owner(acceptor.accept());
    owner.async_accept_tls(identity->current(), [](Stream::Error) {});
    EXPECT_TRUE(client.use_tls_to(trusting({certificate.string(), {}, {}}).value(), host));
    std::optional<Stream::Error> told;
    client.async_connect_tls([&](Stream::Error error) {
      told = error;
      client.close();
    });
    io.run_for(10s);
    EXPECT_TRUE(told);
    return told && !*told;
  }

  std::string made = (fs::temp_directory_path() / "neliroute-tls-XXXXXX").string();
  fs::path folder;
};

TEST_F(Named, owners_are_believed_by_the_address_of_their_endpoint) {
  EXPECT_TRUE(is_believed("IP:127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(is_believed("IP:127.0.0.2", "127.0.0.1"));
  EXPECT_FALSE(is_believed("DNS:127.0.0.1", "127.0.0.1"));
}

TEST_F(Named, owners_are_believed_by_the_name_of_their_endpoint) {
  EXPECT_TRUE(is_believed("DNS:owner.test", "owner.test"));
  EXPECT_TRUE(is_believed("DNS:*.owners.test", "a.owners.test"));
  EXPECT_FALSE(is_believed("DNS:other.test", "owner.test"));
  EXPECT_FALSE(is_believed("IP:127.0.0.1", "owner.test"));
}

}  // namespace
}  // namespace neliroute::forward
