// Certificates for tests, as files.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <filesystem>
#include <memory>
#include <string>

namespace neliroute::net_test {

/// Made when it is constructed, and removed with it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

using KeyPair = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

/// A key with a certificate that it signed itself. `names`: "DNS:…" or "IP:…" of whom it is,
/// besides its subject.
void make_identity(const std::string& name, const std::filesystem::path& certificate,
                   const std::filesystem::path& key, const char* names = nullptr);

/// Signs the certificates of others.
class Authority {
 public:
  /// Its own certificate becomes this file.
  Authority(const std::string& name, const std::filesystem::path& certificate);
  void sign(const std::string& name, const std::filesystem::path& certificate,
            const std::filesystem::path& key, const char* names);

 private:
  KeyPair pair_;
  Certificate certificate_;
};

}  // namespace neliroute::net_test
