#include "forward/rules/trusted_peers.h"

#include <algorithm>
#include <string>

namespace neliroute::forward {
namespace {

namespace ip = boost::asio::ip;
using boost::system::error_code;

template <class Network, class Address>
bool is_in(const std::vector<Network>& networks, const Address& address) {
  return std::any_of(networks.begin(), networks.end(), [&](const Network& one) {
    return Network(address, one.prefix_length()).canonical() == one;
  });
}

}  // namespace

Result<TrustedPeers> TrustedPeers::parse(std::string_view list) {
  TrustedPeers made;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string entry(list.substr(0, comma));
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
    const bool net = entry.find('/') != std::string::npos;
    error_code error;
    if (entry.find(':') == std::string::npos) {
      const auto read = ip::make_network_v4(net ? entry : entry + "/32", error);
      if (!error) made.v4_.push_back(read.canonical());
    } else {
      const auto read = ip::make_network_v6(net ? entry : entry + "/128", error);
      if (!error) made.v6_.push_back(read.canonical());
    }
    if (error) {
      return Error{Errc::bad_option, "trusted peer \"" + entry +
                                         "\": expected an address or a network, as 10.0.0.0/8"};
    }
  }
  return made;
}

bool TrustedPeers::contains(const ip::address& address) const {
  if (address.is_v4()) return is_in(v4_, address.to_v4());
  if (address.to_v6().is_v4_mapped()) {
    return is_in(v4_, ip::make_address_v4(ip::v4_mapped, address.to_v6()));
  }
  return is_in(v6_, address.to_v6());
}

}  // namespace neliroute::forward
