// Request headers, as a test writes them.
#pragma once

#include <boost/beast/http/message.hpp>
#include <initializer_list>
#include <string>
#include <utility>

#include "forward/rules/key_source.h"

namespace neliroute::testing_forward {

using Fields = std::initializer_list<std::pair<std::string, std::string>>;

inline forward::RequestHeader request(const std::string& target, Fields fields,
                                      boost::beast::http::verb verb =
                                          boost::beast::http::verb::get) {
  forward::RequestHeader made;
  made.version(11);
  made.method(verb);
  made.target(target);
  for (const auto& [name, value] : fields) made.insert(name, value);
  return made;
}

}  // namespace neliroute::testing_forward
