#include "forward/caution.h"

namespace neliroute::forward {

bool Caution::may_connect(const std::string& endpoint, bool suspected, Clock::time_point now) {
  const auto found = failed_.find(endpoint);
  if (found == failed_.end()) return true;
  Failed& failed = found->second;
  if (!suspected && now >= failed.at + kMarked) {
    failed_.erase(found);
    return true;
  }
  if (now < failed.next) return false;
  failed.next = now + kProbe;
  return true;
}

void Caution::note_failed(const std::string& endpoint, Clock::time_point now) {
  const auto [found, is_new] = failed_.try_emplace(endpoint);
  Failed& failed = found->second;
  failed.at = now;
  // Those that were on their way before do not put the next attempt off.
  if (failed.next <= now) failed.next = now + kProbe;
  if (!is_new) return;
  std::erase_if(failed_, [now](const auto& one) { return one.second.at + kRemembered <= now; });
}

}  // namespace neliroute::forward
