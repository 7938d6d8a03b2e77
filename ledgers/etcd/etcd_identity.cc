#include "ledgers/etcd/etcd_identity.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <neliroute/ids.h>

#include "base/process_id.h"
#include "ledgers/etcd/etcd_json.h"
#include "neli_core/options.h"

namespace neliroute {

namespace json = boost::json;

json::object make_identity(const EtcdKeys& keys, std::uint32_t logs) {
  const json::object value{{"id", to_string(draw_process_id())}, {"logs", logs}};
  return transaction({unchanged_since(keys.identity(), 0)},
                     {put_operation(keys.identity(), json::serialize(value))},
                     {range_operation({keys.identity()})});
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
