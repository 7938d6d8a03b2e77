#include "admin/envoy/eds_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <charconv>
#include <map>
#include <utility>

namespace neliroute::admin {
namespace {

namespace json = boost::json;

/// A process may own many partitions, and Envoy wants each address once.
json::array endpoints_of(const OwnerAddresses& owners) {
  std::map<SocketAddress, json::array> partitions;
  for (std::size_t p = 0; p < owners.size(); ++p) {
    if (owners[p]) partitions[*owners[p]].emplace_back(std::to_string(p));
  }
  json::array made;
  for (auto& [address, list] : partitions) {
    const json::object where{{"address", address.ip}, {"port_value", address.port}};
    const json::object labels{{"envoy.lb", json::object{{"partition", std::move(list)}}}};
    made.push_back(json::object{
        {"endpoint", json::object{{"address", json::object{{"socket_address", where}}}}},
        {"metadata", json::object{{"filter_metadata", labels}}}});
  }
  return made;
}

const json::value* value_at(const json::value& value, std::string_view pointer) {
  boost::system::error_code error;
  return value.find_pointer(pointer, error);
}

const json::array* list_at(const json::value& value, std::string_view pointer) {
  const json::value* const found = value_at(value, pointer);
  return found ? found->if_array() : nullptr;
}

std::optional<SocketAddress> address_of(const json::value& endpoint) {
  const json::value* const found = value_at(endpoint, "/endpoint/address/socket_address");
  const json::value* const ip = found ? value_at(*found, "/address") : nullptr;
  const json::value* const port = found ? value_at(*found, "/port_value") : nullptr;
  if (!ip || !ip->is_string() || !port || !port->is_int64()) return std::nullopt;
  const std::int64_t number = port->get_int64();
  const auto text = ip_of(ip->get_string());
  if (!text || number < 1 || number > UINT16_MAX) return std::nullopt;
  return SocketAddress{*text, static_cast<std::uint16_t>(number)};
}

void take_endpoint(OwnerAddresses& owners, const json::value& endpoint) {
  const auto address = address_of(endpoint);
  const json::array* const list = list_at(endpoint, "/metadata/filter_metadata/envoy.lb/partition");
  if (!address || !list) return;
  for (const json::value& one : *list) {
    if (!one.is_string()) continue;
    const auto& text = one.get_string();
    std::uint32_t partition = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), partition);
    if (error == std::errc{} && end == text.end() && partition < owners.size()) {
      owners[partition] = address;
    }
  }
}

}  // namespace

std::string origin_of(const ObservedFacts& facts) {
  std::string text = facts.topic;
  for (const std::uint32_t number :
       {facts.lane.value(), facts.space.count().value(), facts.settings.partitions}) {
    text += '/' + std::to_string(number);
  }
  return text.append("/").append(to_string(facts.space.scheme()));
}

std::string eds_json(std::span<const std::string> clusters, const OwnerAddresses& owners,
                     std::string_view version, std::string_view origin) {
  json::array resources;
  for (const std::string& cluster : clusters) {
    const json::object endpoints{{"lb_endpoints", endpoints_of(owners)}};
    resources.push_back(json::object{
        {"@type", kEdsType}, {"cluster_name", cluster}, {"endpoints", json::array{endpoints}}});
  }
  return json::serialize(json::object{{"version_info", version},
                                      {"resources", std::move(resources)},
                                      {"control_plane", json::object{{"identifier", origin}}}});
}

std::optional<ReadOwners> read_eds_json(std::string_view text, std::string_view cluster,
                                        std::uint32_t partitions) {
  boost::system::error_code error;
  const json::value whole = json::parse(text, error);
  if (error) return std::nullopt;
  const json::array* const resources = list_at(whole, "/resources");
  if (!resources) return std::nullopt;
  for (const json::value& resource : *resources) {
    const json::value* const name = value_at(resource, "/cluster_name");
    const json::array* const localities = list_at(resource, "/endpoints");
    if (!name || !name->is_string() || name->get_string() != cluster || !localities) continue;
    ReadOwners read{OwnerAddresses(partitions), {}};
    const json::value* const origin = value_at(whole, "/control_plane/identifier");
    if (origin && origin->is_string()) read.origin = origin->get_string();
    for (const json::value& locality : *localities) {
      const json::array* const list = list_at(locality, "/lb_endpoints");
      if (!list) continue;
      for (const json::value& endpoint : *list) take_endpoint(read.owners, endpoint);
    }
    return read;
  }
  return std::nullopt;
}

}  // namespace neliroute::admin
