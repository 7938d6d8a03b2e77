// How a log begins, and how a voter that lost its disk comes back: it says that it is there, and
// copies the log until the leader counts it.
#include <algorithm>
#include <utility>

#include "quorum/mutation.h"
#include "quorum/voter.h"

namespace neliroute::quorum {

void Voter::announce(LocalTime now) {
  if (!durable_.log) {
    form(now);
    if (durable_.log) {
      return;
    }
  }
  std::set<std::string> all(options_.addresses.begin(), options_.addresses.end());
  for (const Member& member : entries().configuration().members) {
    all.insert(member.address);
  }
  all.erase(options_.address);
  for (const std::string& address : all) {
    say_here(address);
  }
}

void Voter::say_here(const std::string& address) {
  Here here{!durable_.log, {}};
  for (const auto& [_, met] : met_) {
    here.met.push_back(met.id);
  }
  send_once_stored(address, std::move(here));
}

/// The first of the voters begins the log once it has met all others, and all are empty: no log
/// can have been lost. They must know it: what says so may have been on its way since before this
/// voter lost a disk.
void Voter::form(LocalTime now) {
  if (options_.address != options_.addresses.front()) {
    return;
  }
  LogStart start;
  bool spared = !mutated(Mutation::forms_without_all);
  for (const std::string& address : options_.addresses) {
    VoterId id = durable_.self;
    if (address != options_.address) {
      const auto found = met_.find(address);
      const bool there = found != met_.end() && found->second.empty && found->second.knows_own &&
                         now - found->second.at <= 2 * options_.election;
      if (!there && std::exchange(spared, true)) {
        return;
      }
      id = there ? found->second.id : VoterId(1);
    }
    start.configuration.members.push_back({id, address, priority_of(address)});
  }
  adopt(options_.new_log, std::move(start), now);
  for (const Member& member : entries().configuration().members) {
    if (member.id != durable_.self) {
      send_once_stored(member.address, Formed{entries().start()});
    }
  }
}

void Voter::on_here(const Message& message, const Here& here, LocalTime now) {
  const std::string& address = message.from_address;
  if (durable_.log && here.empty &&
      entries().start().configuration.find(message.from) != nullptr) {
    // It was empty when the log began, too: it never voted.
    send_once_stored(address, Formed{entries().start()});
  }
  if (!durable_.log && message.log) {
    say_here(address);  // whoever has a log may share it
  }
  const bool others = message.told != told_;
  const bool of_another_log = message.log && message.log != durable_.log;
  if (durable_.log && of_another_log) {
    ready_.strangers.push_back(address);
  }
  const bool strange = of_another_log || !may_copy(address);
  if (strange || (others && !durable_.log)) {
    met_.erase(address);
    return;
  }
  if (!durable_.log) {
    const bool knows_own = std::ranges::find(here.met, durable_.self) != here.met.end();
    met_[address] = {message.from, now, here.empty, knows_own};
    return;
  }
  if (leading_ && entries().configuration().find(message.from) == nullptr) {
    (void)follower_of(message, now);
  }
}

}  // namespace neliroute::quorum
