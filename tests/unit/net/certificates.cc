#include "tests/unit/net/certificates.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>

namespace neliroute::net_test {
namespace {

namespace fs = std::filesystem;

KeyPair draw_pair() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

Certificate unsigned_certificate(const std::string& name, EVP_PKEY* pair) {
  Certificate made(X509_new(), X509_free);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), pair);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return made;
}

void extend(X509& certificate, int what, const char* value) {
  X509_set_version(&certificate, X509_VERSION_3);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, what, value), X509_EXTENSION_free);
  EXPECT_EQ(X509_add_ext(&certificate, extension.get(), -1), 1);
}

template <class Print>
void write(const fs::path& path, const Print& print) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(print(file), 1);
  EXPECT_EQ(std::fclose(file), 0);
}

void write_certificate(const fs::path& path, X509& certificate) {
  write(path, [&](std::FILE* file) { return PEM_write_X509(file, &certificate); });
}

void write_key(const fs::path& path, EVP_PKEY* pair) {
  write(path, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, pair, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace

Folder::Folder() {
  std::string made = (fs::temp_directory_path() / "neliroute-net-XXXXXX").string();
  path_ = ::mkdtemp(made.data());
}

Folder::~Folder() { fs::remove_all(path_); }

void make_identity(const std::string& name, const fs::path& certificate, const fs::path& key,
                   const char* names) {
  const KeyPair pair = draw_pair();
  const Certificate made = unsigned_certificate(name, pair.get());
  if (names != nullptr) {
    X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
    extend(*made, NID_subject_alt_name, names);
  }
  ASSERT_GT(X509_sign(made.get(), pair.get(), EVP_sha256()), 0);
  write_certificate(certificate, *made);
  write_key(key, pair.get());
}

Authority::Authority(const std::string& name, const fs::path& certificate)
    : pair_(draw_pair()), certificate_(unsigned_certificate(name, pair_.get())) {
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(*certificate_, NID_basic_constraints, "critical,CA:TRUE");
  EXPECT_GT(X509_sign(certificate_.get(), pair_.get(), EVP_sha256()), 0);
  write_certificate(certificate, *certificate_);
}

void Authority::sign(const std::string& name, const fs::path& certificate, const fs::path& key,
                     const char* names) {
  const KeyPair pair = draw_pair();
  const Certificate made = unsigned_certificate(name, pair.get());
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  extend(*made, NID_subject_alt_name, names);
  ASSERT_GT(X509_sign(made.get(), pair_.get(), EVP_sha256()), 0);
  write_certificate(certificate, *made);
  write_key(key, pair.get());
}

}  // namespace neliroute::net_test
