// The group: joining, leaving, withdrawing, and how many others are in it.
#include <algorithm>
#include <neliroute/clock.h>

#include "ledgers/kafka/group/group_strategy.h"
#include "ledgers/kafka/ledger/kafka_ledger_impl.h"

namespace neliroute {
namespace {

// The request may go to a broker that cannot be reached; the next one soon goes to another.
constexpr milliseconds kLeadersAnswerWithin{3000};

std::optional<std::size_t> others_among(const Answer<MemberIds>& members, const std::string& self,
                                        bool leaving) {
  if (!members.value) return std::nullopt;
  const auto& ids = *members.value;
  const auto own = static_cast<std::size_t>(std::count(ids.begin(), ids.end(), self));
  // A coordinator that has just taken over may have yet to read who its members are.
  if (own == 0 && !self.empty() && !leaving) return std::nullopt;
  return ids.size() - own;
}

}  // namespace

Result<void> KafkaLedgerImpl::open_group() {
  group_ = std::make_unique<GroupMember>(
      settings(), *wakeup_, [this](const Event& e) { on_group_event(e); },
      [this](const Notice& n) { notice(n.severity, n.text); });
  if (parameters_.facts.session.protocol == GroupProtocol::consumer) {
    prompter_ = std::make_shared<GroupPrompter>(strand_, *group_, [this] {
      ever_assigned_ = true;
      emit(GroupJoined{});
    });
  }
  if (parameters_.self != kNobody && parameters_.kafka.variation == Variation::claimed) {
    make_withdrawal();
  }
  return group_->open();
}

void KafkaLedgerImpl::make_withdrawal() {
  GroupWithdrawalParts parts;
  parts.self = parameters_.self;
  parts.lane = parameters_.kafka.lane;
  parts.options = {parameters_.facts.partitions, parameters_.facts.logs,
                   parameters_.timing.lease, parameters_.timing.session,
                   parameters_.timing.heartbeat, parameters_.kafka.prepare_timeout};
  parts.statistics = parameters_.statistics;
  parts.query_leaders = [this](Then<TopicDescription> then) {
    BrokerProbe* probe = cluster_probe();
    if (probe == nullptr) return then({});
    probe->topic(parameters_.kafka.topic, kLeadersAnswerWithin, std::move(then));
  };
  parts.count_others = [this](auto answer) { count_others(std::move(answer)); };
  parts.leave = [this](milliseconds pause) { group_->withdraw(pause); };
  parts.join = [this] { group_->join_soon(); };
  parts.notices = [this](const Notice& n) { notice(n.severity, n.text); };
  withdrawal_ = std::make_unique<GroupWithdrawal>(std::move(parts));
  writer_->on_refused(
      [this](std::optional<Log> log) { withdrawal_->on_write_refused(log, boot_now()); });
  tail_->on_refused([this](Log log) { withdrawal_->on_read_refused(log); });
}

void KafkaLedgerImpl::on_group_event(const Event& event) {
  const auto* revoked = std::get_if<GroupRevoked>(&event);
  if (revoked && revoked->lost) {
    await_membership();
  } else {
    ever_assigned_ = true;
    inconsistent_since_.reset();
  }
  emit(event);
}

/// Of members and leaders: the producer's client, or the tail's while there is none, as the broker
/// refuses each. Null if there is neither.
BrokerProbe* KafkaLedgerImpl::cluster_probe() {
  if (BrokerProbe* probe = writer_probe()) return probe;
  if (!spare_probe_ && tail_->handle() != nullptr) {
    spare_probe_ = std::make_unique<BrokerProbe>(tail_->handle(), wakeup_.get());
  }
  return spare_probe_.get();
}

// A producer that the broker refuses ends soon, and each further one comes later: between them the
// refusal lasts, though nothing is written that could be refused.
void KafkaLedgerImpl::withdraw_if_due(LocalTime now) {
  if (!withdrawal_ || leaving_) return;
  if (writer_->is_refused()) withdrawal_->on_write_refused(std::nullopt, now);
  withdrawal_->tick(now);
}

void KafkaLedgerImpl::on_rejoined() {
  await_membership();
  writer_->retry();  // perhaps it is refused no more
  if (withdrawal_) withdrawal_->on_joined();
}

// librdkafka tries again every two seconds for as long as it lives. A process that was a member
// lets it, as others may be changing their assignor one by one; one that never was gives up.
void KafkaLedgerImpl::on_inconsistent_group(rd_kafka_resp_err_t error) {
  const LocalTime now = boot_now();
  const std::string text = inconsistent_group(
      parameters_.kafka, parameters_.facts.session.protocol, rd_kafka_err2name(error));
  const milliseconds bound = inconsistent_group_bound(parameters_.timing);
  if (!inconsistent_since_) {
    inconsistent_since_ = now;
    notice(Severity::error,
           text + (ever_assigned_ ? "; still trying"
                                  : "; trying for " + std::to_string(bound.count()) + " ms"));
  }
  if (!ever_assigned_ && now >= later(*inconsistent_since_, bound)) refuse(text);
}

void KafkaLedgerImpl::subscribe() {
  if (closing_) return;
  if (auto joined = group_->join(); !joined) notice(Severity::error, joined.error().message());
  await_membership();
}

void KafkaLedgerImpl::await_membership() {
  if (prompter_) prompter_->await_membership();
}

void KafkaLedgerImpl::expedite(milliseconds within) {
  if (prompter_ && !closing_) prompter_->expedite(within);
}

void KafkaLedgerImpl::finish_rebalances(std::uint32_t count) {
  if (!group_ || closing_) return;
  for (; count > 0; --count) group_->finish();
  post([this] {
    if (!closing_) group_->announce_next();
  });
}

void KafkaLedgerImpl::leave_group() {
  leaving_ = true;
  if (prompter_) prompter_->stop();
  if (group_) group_->leave();
}

void KafkaLedgerImpl::stay_away(bool away) {
  if (group_ && !closing_) group_->stay_away(away);
}

void KafkaLedgerImpl::count_others(std::function<void(std::optional<std::size_t>)> answer) {
  BrokerProbe* probe = closing_ || !group_ ? nullptr : cluster_probe();
  if (probe == nullptr) return answer(std::nullopt);
  probe->members(parameters_.kafka.group_id(),
                 [self = group_->member_id(), leaving = group_->is_leaving(),
                  answer = std::move(answer)](const Answer<MemberIds>& members) {
                   answer(others_among(members, self, leaving));
                 });
}

}  // namespace neliroute
