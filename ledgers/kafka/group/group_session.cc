#include "ledgers/kafka/group/group_session.h"

#include <algorithm>

namespace neliroute {
namespace {

constexpr milliseconds kLong{30'000};
constexpr milliseconds kProfileSession{3000};
// Kafka's default of group.min.session.timeout.ms, for when it is unknown.
constexpr milliseconds kClassicFloorStock{6000};

std::string text(milliseconds value) { return std::to_string(value.count()) + " ms"; }
std::string number(milliseconds value) { return std::to_string(value.count()); }

milliseconds heartbeat_for(milliseconds session, milliseconds floor) {
  return std::max({session / 10, floor, milliseconds{1}});
}

// Two heartbeats may get lost before a member is considered dead.
bool fits(milliseconds session, milliseconds session_floor, milliseconds heartbeat_floor) {
  return session >= session_floor && 3 * heartbeat_for(session, heartbeat_floor) <= session;
}

std::string command(const GroupSession& found, milliseconds session, milliseconds heartbeat) {
  return "kafka-configs.sh --bootstrap-server " + found.brokers + " --alter --entity-type groups" +
         " --entity-name " + found.group + " --add-config consumer.session.timeout.ms=" +
         number(session) + ",consumer.heartbeat.interval.ms=" + number(heartbeat);
}

std::string classic(const GroupSession& found, milliseconds session) {
  const milliseconds floor =
      std::max(kClassicSessionMin, found.classic_floor.value_or(kClassicFloorStock));
  return "`group_protocol` classic `timing.session` " + number(std::max(session, floor)) + "ms";
}

std::string floors(const GroupSession& found, milliseconds session) {
  const milliseconds heartbeat = heartbeat_for(session, milliseconds{0});
  return "this broker allows a group no session below " + text(*found.session_floor) +
         " (group.consumer.min.session.timeout.ms) and no heartbeat below " +
         text(*found.heartbeat_floor) +
         " (group.consumer.min.heartbeat.interval.ms), which are static: put"
         " group.consumer.min.session.timeout.ms=" + number(session) +
         " and group.consumer.min.heartbeat.interval.ms=" + number(heartbeat) +
         " into the server.properties of each broker and restart it";
}

GroupSessionPlan leave(std::string why_not = {}) {
  GroupSessionPlan plan;
  plan.why_not = std::move(why_not);
  return plan;
}

}  // namespace

GroupSessionPlan plan_group_session(const GroupSession& found) {
  if (!found.wanted || !found.session || *found.wanted >= *found.session) return leave();
  const milliseconds wanted = *found.wanted;
  // Unknown floors are no reason to change a broker's state.
  if (!found.session_floor || !found.heartbeat_floor) return leave();
  if (!fits(wanted, *found.session_floor, *found.heartbeat_floor)) {
    return leave(floors(found, wanted) + ", or use " + classic(found, wanted));
  }
  const milliseconds heartbeat = heartbeat_for(wanted, *found.heartbeat_floor);
  if (found.own_settings) {
    return leave("group " + found.group + " has settings of its own, which somebody chose: " +
                 command(found, wanted, heartbeat) + ", or leave `timing.session` out");
  }
  if (found.empty == false) {
    return leave("group " + found.group +
                 " has members, whose session it is, too: stop them "
                 "first, or " +
                 command(found, wanted, heartbeat) + ", or leave `timing.session` out");
  }
  GroupSessionPlan plan;
  plan.step = found.empty ? GroupSessionPlan::Step::set : GroupSessionPlan::Step::ask_empty;
  plan.session = wanted;
  plan.heartbeat = heartbeat;
  return plan;
}

std::string cannot_set(const GroupSession& found, const std::string& refusal) {
  const milliseconds wanted = found.wanted.value_or(kProfileSession);
  const milliseconds heartbeat =
      heartbeat_for(wanted, found.heartbeat_floor.value_or(milliseconds{0}));
  return "this process could not set it for group " + found.group + " (" + refusal +
         "): grant it ALTER_CONFIGS on the group, or " + command(found, wanted, heartbeat) +
         ", or use " + classic(found, wanted);
}

std::optional<std::string> long_session_warning(const GroupSession& found) {
  if (found.wanted || !found.session || *found.session < kLong) return std::nullopt;
  const milliseconds session = kProfileSession;
  std::string line = "after a kill slots have no owner for " + text(*found.session) +
                     ", the session of this broker's consumer groups; to shorten it, ";
  const bool allowed =
      found.session_floor && found.heartbeat_floor &&
      fits(session, *found.session_floor, *found.heartbeat_floor);
  if (allowed || !found.session_floor || !found.heartbeat_floor) {
    line += command(found, session,
                    heartbeat_for(session, found.heartbeat_floor.value_or(milliseconds{0})));
  } else {
    line += floors(found, session) + ", then " +
            command(found, session, heartbeat_for(session, milliseconds{0}));
  }
  return line + "; or use " + classic(found, milliseconds{0}) +
         "; or `assignment` assigner, whose session is each process's own";
}

}  // namespace neliroute
