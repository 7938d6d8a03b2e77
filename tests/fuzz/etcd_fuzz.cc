// Answers of an etcd, or of whoever answers in its place: any bytes. What is accepted is within its
// limits.
#include <boost/json/parse.hpp>

#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_keys.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

constexpr std::int64_t kPositionMost = std::int64_t{1} << 53;

void check(const EtcdKeyValue& found, std::size_t size) {
  FUZZ_CHECK(found.revision >= 0 && found.revision < kPositionMost, "a position (P1)");
  FUZZ_CHECK(found.key.size() + found.value.size() <= size, "memory is bounded");
  const auto [stamped, value] = stamped_value(found.value);
  FUZZ_CHECK(stamped >= BrokerTime{}, "a time");
  FUZZ_CHECK(value.size() <= found.value.size(), "a part of it");
  (void)record_kind(value);
}

void check_answer(const boost::json::object& answer, std::size_t size) {
  const auto committed = committed_in(answer);
  if (!committed) return;
  FUZZ_CHECK(committed->header.revision < kPositionMost, "a position (P1)");
  for (const EtcdFound& found : committed->found) {
    for (const EtcdKeyValue& one : found.keys) check(one, size);
  }
}

void one_input(std::string_view bytes) {
  if (const auto logs = logs_in(bytes)) {
    FUZZ_CHECK(*logs >= 1 && *logs <= kLogCountMax, "a number of logs");
  }
  if (const auto watched = watched_in(bytes)) {
    for (const EtcdKeyValue& put : watched->puts) check(put, bytes.size());
  }
  const auto [stamped, value] = stamped_value(bytes);
  FUZZ_CHECK(stamped_value(with_stamp(stamped, value)).second == value, "what was stored");
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(bytes, error);
  if (!error && parsed.is_object()) check_answer(parsed.get_object(), bytes.size());
}

}  // namespace
}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
