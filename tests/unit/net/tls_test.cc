// A certificate and its key, which are renewed while they are in use.
#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/stream.h"
#include "tests/unit/net/certificates.h"

namespace neliroute::net_test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;

std::string subject_of(const TlsContextPtr& context) {
  const X509* const certificate = SSL_CTX_get0_certificate(context->native_handle());
  char name[64] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

struct Renewed : testing::Test {
  Renewed() {
    make_identity("first", certificate(), key());
    make_identity("second", folder / "new.pem", folder / "new.key");
    auto opened = TlsIdentity::make(
        {certificate().string(), key().string(), {}},
        [this](const std::string& text) { notices.push_back(text); }, 0ms);
    identity = std::move(opened.value());
  }

  [[nodiscard]] fs::path certificate() const { return folder / "own.pem"; }
  [[nodiscard]] fs::path key() const { return folder / "own.key"; }
  /// To a client that connects now.
  [[nodiscard]] std::string served_as() { return subject_of(identity->current()); }

  Folder folder;
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
  const auto again = TlsIdentity::make({certificate().string(), key().string(), {}}, nullptr, 0ms);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message(), HasSubstr(key().string()));
  EXPECT_THAT(again.error().message(), HasSubstr("without a password"));
}

/// An owner whose certificate, which the gateway trusts, names `names`.
struct Named : testing::Test {
  /// Whether a connection to it as `host` comes about.
  [[nodiscard]] bool is_believed(const char* names, const std::string& host) {
    const fs::path certificate = folder / "own.pem";
    const fs::path key = folder / "own.key";
    make_identity("owner", certificate, key, names);
    const auto identity =
        TlsIdentity::make({certificate.string(), key.string(), {}}, [](const std::string&) {})
            .value();
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

  Folder folder;
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

/// A server that serves only who has a certificate of its authority.
struct Mutual : testing::Test {
  struct Told {
    Stream::Error error;
    std::string refusal;
  };

  /// What the server makes of a client with these files.
  Told serve(const TlsClientFiles& files) {
    const auto identity =
        TlsIdentity::make({folder / "server.pem", folder / "server.key", folder / "authority.pem"},
                          [](const std::string&) {})
            .value();
    using boost::asio::ip::tcp;
    boost::asio::io_context io;
    tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
    Stream client(io.get_executor());
    client.socket().connect(acceptor.local_endpoint());
    Stream server(acceptor.accept());
    std::optional<Stream::Error> told;
    server.async_accept_tls(identity->current(), [&](Stream::Error error) {
      told = error;
      server.close();
    });
    EXPECT_TRUE(client.use_tls_to(trusting(files).value(), "127.0.0.1"));
    client.async_connect_tls([&](Stream::Error) {});
    io.run_for(10s);
    EXPECT_TRUE(told);
    return {told.value_or(Stream::Error{}), server.refusal()};
  }

  Folder folder;
  Authority authority{"authority", folder / "authority.pem"};
  Authority other{"other", folder / "other.pem"};
};

TEST_F(Mutual, clients_of_its_authority_are_served_and_others_are_not) {
  authority.sign("server", folder / "server.pem", folder / "server.key", "IP:127.0.0.1");
  authority.sign("good", folder / "good.pem", folder / "good.key", "DNS:good");
  other.sign("bad", folder / "bad.pem", folder / "bad.key", "DNS:bad");
  const std::string believed = folder / "authority.pem";
  EXPECT_FALSE(serve({believed, folder / "good.pem", folder / "good.key"}).error);
  const Told stranger = serve({believed, folder / "bad.pem", folder / "bad.key"});
  EXPECT_TRUE(stranger.error);
  EXPECT_THAT(stranger.refusal, HasSubstr("issuer"));
  const Told nobody = serve({believed, {}, {}});
  EXPECT_THAT(nobody.error.message(), HasSubstr("peer did not return a certificate"));
}

TEST_F(Mutual, the_file_of_the_authorities_is_read_at_start_and_anew) {
  authority.sign("server", folder / "server.pem", folder / "server.key", "IP:127.0.0.1");
  TlsServerFiles files{folder / "server.pem", folder / "server.key", folder / "none.pem"};
  const auto missing = TlsIdentity::make(files, nullptr, 0ms);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("none.pem"));
  files.authorities = folder / "authority.pem";
  std::vector<std::string> notices;
  const auto identity =
      TlsIdentity::make(files, [&](const std::string& text) { notices.push_back(text); }, 0ms)
          .value();
  const TlsContextPtr before = identity->current();
  fs::rename(folder / "other.pem", folder / "authority.pem");
  fs::last_write_time(folder / "authority.pem",
                      fs::last_write_time(folder / "authority.pem") + 1h);
  EXPECT_NE(identity->current(), before);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("anew")));
}

}  // namespace
}  // namespace neliroute::net_test
