#include "admin/envoy/discovery_request.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "admin/envoy/eds_json.h"

namespace neliroute::admin {
namespace {

Refusal misasked(const std::string& what) {
  return {400, what +
                   "; send a DiscoveryRequest of Envoy's API v3 as JSON, with the resource_names "
                   "of at most " +
                   std::to_string(kClustersMost) + " clusters"};
}

}  // namespace

std::variant<std::vector<std::string>, Refusal> read_discovery(std::string_view body) {
  boost::system::error_code error;
  const boost::json::value whole = boost::json::parse(body, error);
  if (error || !whole.is_object()) return misasked("the body is no JSON object");
  const boost::json::object& request = whole.get_object();
  // Both are ways in which JSON may spell the fields of a message.
  for (const char* field : {"type_url", "typeUrl"}) {
    const auto* const type = request.if_contains(field);
    if (type && (!type->is_string() || std::string_view(type->get_string()) != kEdsType)) {
      return misasked("type_url is not " + std::string(kEdsType));
    }
  }
  std::vector<std::string> names;
  for (const char* field : {"resource_names", "resourceNames"}) {
    const auto* const list = request.if_contains(field);
    if (!list) continue;
    // A request with both counts as one list.
    if (!list->is_array() || list->get_array().size() > kClustersMost - names.size()) {
      return misasked("resource_names is no list, or too long");
    }
    for (const auto& name : list->get_array()) {
      const std::size_t size = name.is_string() ? name.get_string().size() : 0;
      if (size == 0 || size > kClusterBytesMost) {
        return misasked("one of resource_names is not 1 to 255 bytes of text");
      }
      names.emplace_back(name.get_string());
    }
  }
  return names;
}

}  // namespace neliroute::admin
