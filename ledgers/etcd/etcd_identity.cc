#include "ledgers/etcd/etcd_identity.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <neliroute/ids.h>
#include <random>

#include "ledgers/etcd/etcd_json.h"
#include "neli_core/options.h"

namespace neliroute {

namespace json = boost::json;

json::object make_identity(const EtcdKeys& keys, std::uint32_t logs) {
  std::random_device device;
  const ProcessId id{std::uint64_t{device()} << 32 | device()};
  const json::object value{{"id", to_string(id)}, {"logs", logs}};
  EtcdRange there;
  there.key = keys.identity();
  return transaction({unchanged_since(there.key, 0)},
                     {put_operation(there.key, json::serialize(value))},
                     {range_operation(there)});
}

std::optional<std::uint32_t> logs_in(std::string_view identity) {
  boost::system::error_code error;
  const json::value parsed = json::parse(identity, error);
  if (error || !parsed.is_object()) return std::nullopt;
  const auto logs = number_at(parsed.get_object(), "logs");
  if (!logs || *logs < 1 || *logs > kLogCountMax) return std::nullopt;
  return static_cast<std::uint32_t>(*logs);
}

}  // namespace neliroute
