#include "admin/envoy/envoy_answers.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <utility>

#include "admin/control/control_text.h"
#include "admin/envoy/discovery_request.h"

namespace neliroute::admin {
namespace {

constexpr std::string_view kDiscoverPath = "/v3/discovery:endpoints";
// Where Envoy's override_host looks.
constexpr std::string_view kDestination = "x-gateway-destination-endpoint";
// Envoy lists all its extensions in each request.
constexpr std::size_t kDiscoverMost = 128 * 1024;

std::function<void(const std::string&)> reporter(std::function<void(const Notice&)> on_notice) {
  if (!on_notice) return nullptr;
  return [on_notice = std::move(on_notice)](const std::string& text) {
    on_notice({Severity::warning, "Envoy: " + text});
  };
}

Answer no_owner(const std::string& why) {
  return answer_of({503, why + "; Envoy asks again by itself, or its caller should, in a moment"});
}

}  // namespace

EnvoyAnswers::EnvoyAnswers(const boost::asio::any_io_executor& strand, Observable observable,
                           std::function<void(const Notice&)> on_notice)
    : observable_(std::move(observable)),
      owners_(strand, observable_.facts().settings.partitions,
              {nullptr, reporter(std::move(on_notice))}, find_by_system(strand)) {}

bool EnvoyAnswers::takes(std::string_view path) noexcept { return path == kDiscoverPath; }

std::variant<std::size_t, Refusal> EnvoyAnswers::may_post(const Request& header) const {
  if (!is_json(header.type)) {
    return Refusal{415, "the body is not said to be JSON; send `Content-Type: application/json`"};
  }
  return kDiscoverMost;
}

Answer EnvoyAnswers::discover(const Request& request) {
  auto read = read_discovery(request.body);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return answer_of(*refusal);
  auto& names = std::get<std::vector<std::string>>(read);
  if (names.empty()) names.emplace_back(kEdsCluster);
  owners_.begin();
  // An answer that lacks owners would replace one that has them.
  complete_ = complete_ || (owners_.settled() && owners_.has_owner());
  if (!complete_) return no_owner("the owners are not known yet");
  if (!text_ || clusters_ != names || version_ != owners_.version()) {
    clusters_ = std::move(names);
    version_ = owners_.version();
    text_ = std::make_shared<const std::string>(eds_json(
        clusters_, owners_.addresses(), std::to_string(version_), origin_of(observable_.facts())));
  }
  return {.body = text_};
}

Answer EnvoyAnswers::authorize(const Request& request, LocalTime now) {
  if (request.keys.size() != 1 || request.keys.front().empty()) {
    return answer_of({400,
                      "the field x-neli-key is missing, empty or there more than once; send "
                      "the request's key in it, once (Envoy: allowed_headers)"});
  }
  owners_.begin();
  const SlotSpace& space = observable_.facts().space;
  const Route route = observable_.route(space.slot_of(request.keys.front()), now);
  if (route.verdict != Verdict::local && route.verdict != Verdict::remote) {
    return no_owner("nobody is known to own this key");
  }
  const auto address = owners_.address_of(route.endpoint());
  if (!address) return no_owner("the owner's endpoint is no address, and was not resolved");
  const std::string endpoint = to_string(*address);
  // Envoy takes the first one that it knows, and polls for those it knows: the former owner answers
  // until the new one is known, or sends the request on.
  std::string destinations = endpoint;
  if (const auto former = owners_.former_of(route.partition, *address)) {
    destinations += ',' + to_string(*former);
  }
  return {.body = std::make_shared<const std::string>(
              boost::json::serialize(boost::json::object{{"endpoint", endpoint}})),
          .more = {{kDestination, destinations}}};
}

}  // namespace neliroute::admin
