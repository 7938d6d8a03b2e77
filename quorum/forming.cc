// How a log begins, and how a voter that lost its disk comes back: it says that it is there, and
// copies the log until the leader counts it.
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
  for (const std::string& address : options_.addresses) {
    if (address != options_.address) {
      Message message = to(address);
      message.body = Here{!durable_.log, options_.addresses};
      ready_.once_stored.push_back(std::move(message));
    }
  }
}

/// The first of the voters begins the log once it has met all others, and all are empty: no log
/// can have been lost.
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
      const bool there = found != met_.end() && found->second.empty &&
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
      Message message = to(member.address);
      message.body = Formed{entries().start()};
      ready_.once_stored.push_back(std::move(message));
    }
  }
}

void Voter::on_here(const Message& message, const Here& here, LocalTime now) {
  const std::string& address = message.from_address;
  const bool others = here.addresses != options_.addresses;
  if (others || (durable_.log && message.log && message.log != durable_.log)) {
    ready_.strangers.push_back(address);
  }
  if (others || address == options_.address || (message.log && message.log != durable_.log)) {
    met_.erase(address);
    return;
  }
  if (!durable_.log) {
    met_[address] = {message.from, now, here.empty};
    return;
  }
  if (here.empty && entries().start().configuration.find(message.from) != nullptr) {
    Message answer = to(address);  // it was empty when the log began, too: it never voted
    answer.body = Formed{entries().start()};
    ready_.once_stored.push_back(std::move(answer));
  }
  if (leading_ && entries().configuration().find(message.from) == nullptr) {
    follower_of(message);
  }
}

}  // namespace neliroute::quorum
