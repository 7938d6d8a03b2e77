#include <neliroute/ids.h>

#include <array>
#include <cstdio>

namespace neliroute {

std::string to_string(ProcessId id) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(id.value()));
  return std::string(text.data());
}

std::string to_string(const Epoch& epoch) {
  return std::to_string(epoch.incarnation) + ":" + std::to_string(epoch.offset);
}

}  // namespace neliroute
