#include "quorum/message.h"

#include <algorithm>

namespace neliroute::quorum {
namespace {

/// No log gets so long, and no term so high; what comes after them can still be written.
constexpr Index kIndexMax = Index{1} << 52;
constexpr Term kTermMax = Term{1} << 52;

bool is_index(Index index) { return index >= 0 && index <= kIndexMax; }

bool is_sound(const Configuration& voters) {
  std::vector<VoterId> ids;
  std::vector<std::string> addresses;
  for (const Member& member : voters.members) {
    ids.push_back(member.id);
    addresses.push_back(member.address);
  }
  std::ranges::sort(ids);
  std::ranges::sort(addresses);
  return !ids.empty() && std::ranges::adjacent_find(ids) == ids.end() &&
         std::ranges::adjacent_find(addresses) == addresses.end();
}

bool is_sound(const LogStart& start, Term term) {
  return is_index(start.first) && start.term_before <= term && is_sound(start.configuration);
}

bool is_sound(const Append& append, Term term) {
  Term before = append.term_before;
  for (const Entry& entry : append.entries) {
    const auto* voters = std::get_if<Configuration>(&entry.what);
    if (entry.term < before || (voters != nullptr && !is_sound(*voters))) {
      return false;
    }
    before = entry.term;
  }
  return is_index(append.index) && is_index(append.committed) && before <= term;
}

}  // namespace

// FNV-1a: those who are told of other voters make a mistake, and no attack.
std::uint64_t print_of(const std::vector<std::string>& addresses) {
  std::uint64_t print = 14'695'981'039'346'656'037U;
  const auto add = [&print](unsigned char byte) { print = (print ^ byte) * 1'099'511'628'211U; };
  for (const std::string& address : addresses) {
    std::ranges::for_each(address, add);
    add(0);
  }
  return print;
}

bool is_sound(const Message& message) {
  const auto& body = message.body;
  if (message.term > kTermMax) {
    return false;
  }
  if (const auto* append = std::get_if<Append>(&body)) {
    return is_sound(*append, message.term);
  }
  if (const auto* restart = std::get_if<Restart>(&body)) {
    return is_sound(restart->start, message.term);
  }
  if (const auto* formed = std::get_if<Formed>(&body)) {
    return is_sound(formed->start, message.term);
  }
  if (const auto* ask = std::get_if<AskVote>(&body)) {
    return is_index(ask->end) && ask->asked <= kTermMax;
  }
  if (const auto* stored = std::get_if<Stored>(&body)) {
    return is_index(stored->end);
  }
  const auto* behind = std::get_if<Behind>(&body);
  return behind == nullptr || behind->end == kNothing || is_index(behind->end);
}

}  // namespace neliroute::quorum
