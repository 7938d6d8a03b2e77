#include "tool/command_line/flags.h"

#include <algorithm>
#include <array>
#include <utility>

namespace neliroute::tool {
namespace {

using Flag = std::pair<std::string_view, std::string_view>;
constexpr std::array kFlags = {
    Flag{"allow_uneven", "--allow-uneven"},
    Flag{"application", "--upstream"},
    Flag{"group", "--group"},
    Flag{"group_protocol", "--group-protocol"},
    Flag{"hash", "--hash"},
    Flag{"hints", "--no-hints"},
    Flag{"kafka.brokers", "--brokers"},
    Flag{"kafka.properties", "-X"},
    Flag{"kafka.timeout", "--timeout"},
    Flag{"kafka.topic", "--topic"},
    Flag{"key", "--key"},
    Flag{"lane", "--lane"},
    Flag{"limits.deadline", "--deadline"},
    Flag{"limits.waits", "--waiting-limit"},
    Flag{"logs", "--logs"},
    Flag{"missing_topic", "--wait"},
    Flag{"mode", "--mode"},
    Flag{"partitions", "--partitions"},
    Flag{"process.endpoint", "--endpoint"},
    Flag{"process.name", "--name"},
    Flag{"roles", "--roles"},
    Flag{"slots", "--slots"},
    Flag{"timing.clock_error", "--clock-error"},
    Flag{"timing.groups", "--groups"},
    Flag{"timing.hang_limit", "--hang-limit"},
    Flag{"timing.interval", "--interval"},
    Flag{"timing.lease", "--lease"},
    Flag{"timing.local_clock_error", "--local-clock-error"},
    Flag{"timing.profile", "--profile"},
    Flag{"timing.session", "--session"},
    Flag{"tls.authorities", "--upstream-ca"},
    Flag{"tls.certificate", "--tls-cert"},
    Flag{"tls.key", "--tls-key"},
    Flag{"tls.to_owners", "--upstream-tls"},
    Flag{"trusted_peers", "--trust-peers"},
    Flag{"assignment", "--assignment"},
    Flag{"variation", "--variation"},
    Flag{"weight", "--weight"},
};

}  // namespace

std::string with_flags(std::string_view text) {
  std::string made;
  for (;;) {
    const auto open = text.find('`');
    const auto end = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (end == std::string_view::npos) return made.append(text);
    const std::string_view name = text.substr(open + 1, end - open - 1);
    const auto* const flag = std::find_if(kFlags.begin(), kFlags.end(),
                                          [&](const Flag& one) { return one.first == name; });
    if (flag == kFlags.end()) {  // not an option's name; the second quote may begin another
      made.append(text.substr(0, end));
      text.remove_prefix(end);
    } else {
      made.append(text.substr(0, open)).append(flag->second);
      text.remove_prefix(end + 1);
    }
  }
}

}  // namespace neliroute::tool
