// Whose fields count: addresses and networks, as an operator lists them.
//
// Threads: values, any.   Units: none.   Errors: parse() names the entry and what was expected.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <neliroute/error.h>
#include <string_view>
#include <vector>

namespace neliroute::forward {

class TrustedPeers {
 public:
  /// Nobody.
  TrustedPeers() = default;
  /// "10.0.0.0/8,::1": separated by commas; an address alone is that one. Empty: nobody.
  [[nodiscard]] static Result<TrustedPeers> parse(std::string_view list);
  [[nodiscard]] bool contains(const boost::asio::ip::address& address) const;

 private:
  std::vector<boost::asio::ip::network_v4> v4_;
  std::vector<boost::asio::ip::network_v6> v6_;
};

}  // namespace neliroute::forward
