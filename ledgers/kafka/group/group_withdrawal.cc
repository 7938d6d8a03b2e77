#include "ledgers/kafka/group/group_withdrawal.h"

#include <neliroute/clock.h>
#include <utility>

namespace neliroute {
namespace {

std::string text_of(const std::vector<Log>& logs) {
  std::string text = logs.size() == 1 ? "log " : "logs ";
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(logs[i].value());
  }
  return text;
}

}  // namespace

GroupWithdrawal::GroupWithdrawal(GroupWithdrawalParts parts)
    : parts_(std::move(parts)),
      withdrawal_(parts_.options),
      random_(std::random_device{}()) {}

void GroupWithdrawal::note(const Event& event, LocalTime now) {
  if (const auto* received = std::get_if<Received>(&event)) {
    const auto* record = std::get_if<Record>(received->value);
    const bool own = record && record->id == parts_.self && record->lane == parts_.lane;
    own ? withdrawal_.own_record(received->log, now) : withdrawal_.answered(received->log, now);
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    withdrawal_.answered(position->log, now);
  } else if (const auto* started = std::get_if<TailStarted>(&event)) {
    withdrawal_.answered(started->log, now);
  } else if (const auto* reread = std::get_if<Reread>(&event)) {
    // Of an empty log any broker answers whether the topic exists.
    if (reread->offset >= 0) withdrawal_.answered(reread->log, now);
  } else if (const auto* assigned = std::get_if<GroupAssigned>(&event)) {
    withdrawal_.assigned(assigned->partitions, now);
  } else if (const auto* revoked = std::get_if<GroupRevoked>(&event)) {
    withdrawal_.revoked(revoked->partitions);
  }
}

void GroupWithdrawal::on_write_refused(std::optional<Log> log, LocalTime now) {
  if (log) return withdrawal_.write_refused(*log, now);
  for (std::uint32_t l = 0; l < parts_.options.logs; ++l) withdrawal_.write_refused(Log{l}, now);
}

void GroupWithdrawal::on_joined() {
  if (!withdrawal_.away()) return;
  withdrawal_.joined();
  if (parts_.statistics) parts_.statistics->note_return();
  parts_.notices({Severity::info, "joins the group again"});
}

void GroupWithdrawal::tick(LocalTime now) {
  const Withdrawal::Step step = withdrawal_.step(now, static_cast<std::uint32_t>(random_()));
  if (step.ask_leaders) query_leaders();
  if (step.ask_others) count_others(now);
  if (step.stays_alone) {
    parts_.notices({Severity::warning,
                    "this process cannot lead all that the group gives it, and stays in the "
                    "group, as nobody else is in it who could"});
  }
  if (step.leave) leave(*step.leave);
  if (step.join) {
    parts_.notices({Severity::warning, "the group is empty; not waiting any longer"});
    parts_.join();
  }
}

void GroupWithdrawal::query_leaders() {
  if (std::exchange(querying_leaders_, true)) return;
  parts_.query_leaders([this, alive = std::weak_ptr(alive_)](const auto& described) {
    if (alive.expired()) return;
    querying_leaders_ = false;
    if (!described.value || described.value->error != RD_KAFKA_RESP_ERR_NO_ERROR) return;
    auto leaders = described.value->leaders;
    leaders.resize(parts_.options.logs);
    withdrawal_.leaders_named(leaders, boot_now());
  });
}

void GroupWithdrawal::count_others(LocalTime now) {
  if (std::exchange(counting_others_, true)) return;
  parts_.count_others([this, now, alive = std::weak_ptr(alive_)](auto count) {
    if (alive.expired()) return;
    counting_others_ = false;
    if (count) withdrawal_.others_counted(*count, now, boot_now());
  });
}

void GroupWithdrawal::leave(const Withdrawal::Leave& why) {
  const std::string cause =
      why.obstacle == Obstacle::refused
          ? "the broker refuses what this process writes or reads"
          : "the cluster names a leader, which does not answer this process";
  if (parts_.statistics) parts_.statistics->note_withdrawal(why.obstacle);
  parts_.notices({Severity::error,
                  text_of(why.logs) + ": " + cause + ", and no own record has come back for " +
                      std::to_string(withdrawal_.bound().count()) +
                      " ms; it leaves the group, so that others lead what it was given, and joins "
                      "again in " + std::to_string(why.pause.count()) + " ms"});
  parts_.leave(why.pause);
}

}  // namespace neliroute
