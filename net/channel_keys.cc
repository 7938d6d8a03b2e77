#include "net/channel_keys.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstdlib>

namespace neliroute {
namespace {

constexpr char kPlain = '0';
constexpr char kKeyed = '1';

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string_view view(const Digest& digest) { return {digest.data(), digest.size()}; }

Digest hmac(std::string_view key, std::string_view text) {
  Digest made;
  unsigned size = 0;
  // It fails only where OpenSSL has no SHA-256; a code that anybody could make would be worse.
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text), text.size(),
           reinterpret_cast<unsigned char*>(made.data()), &size) == nullptr ||
      size != made.size()) {
    std::abort();
  }
  return made;
}

}  // namespace

std::string Preamble::encode() const {
  std::string made(kMagic);
  made += protocol.substr(0, kProtocolBytes);
  made.resize(kMagic.size() + kProtocolBytes, '\0');
  made += keyed ? kKeyed : kPlain;
  made.append(nonce.data(), nonce.size());
  return made;
}

std::optional<Preamble> Preamble::decode(std::string_view bytes) {
  if (bytes.size() != kBytes || !bytes.starts_with(kMagic)) return {};
  bytes.remove_prefix(kMagic.size());
  Preamble made;
  const std::string_view protocol = bytes.substr(0, kProtocolBytes);
  made.protocol = protocol.substr(0, protocol.find('\0'));
  // It is shown to people.
  std::replace_if(
      made.protocol.begin(), made.protocol.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  const char keyed = bytes[kProtocolBytes];
  if (keyed != kPlain && keyed != kKeyed) return {};
  made.keyed = keyed == kKeyed;
  bytes.substr(kProtocolBytes + 1).copy(made.nonce.data(), made.nonce.size());
  return made;
}

std::optional<Preamble> draw_preamble(std::string_view protocol, bool keyed) {
  Preamble made{std::string(protocol.substr(0, Preamble::kProtocolBytes)), keyed, {}};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(made.nonce.data()),
                 static_cast<int>(made.nonce.size())) != 1) {
    return {};
  }
  return made;
}

ChannelKeys::ChannelKeys(std::string_view key, std::string_view client, std::string_view server) {
  const std::string both = std::string(client) + std::string(server);
  client_proof_ = hmac(key, "client's proof: " + both);
  server_proof_ = hmac(key, "server's proof: " + both);
  from_client_ = hmac(key, "client's codes: " + both);
  from_server_ = hmac(key, "server's codes: " + both);
}

std::string ChannelKeys::code(bool from_client, std::uint64_t number,
                              std::string_view message) const {
  std::string text;
  for (int byte = 0; byte < 8; ++byte) text += static_cast<char>(number >> (8 * byte));
  text.resize(text.size() + SHA256_DIGEST_LENGTH);
  SHA256(bytes_of(message), message.size(), reinterpret_cast<unsigned char*>(text.data() + 8));
  const Digest made = hmac(view(from_client ? from_client_ : from_server_), text);
  return std::string(made.data(), kCodeBytes);
}

bool is_same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace neliroute
