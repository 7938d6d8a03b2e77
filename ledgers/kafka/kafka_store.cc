#include "ledgers/kafka/kafka_store.h"

#include <string>
#include <utility>

#include "ledgers/kafka/client/kafka_statistics.h"
#include "ledgers/kafka/group/group_strategy.h"
#include "ledgers/kafka/kafka_ledger.h"
#include "ledgers/kafka/topic/last_settings.h"
#include "ledgers/kafka/topic/topic_setup.h"

namespace neliroute {
namespace {

class KafkaStore final : public PreparedStore {
 public:
  KafkaStore(KafkaOptions options, TopicFacts facts)
      : options_(std::move(options)), facts_(std::move(facts)) {}

  [[nodiscard]] const LedgerFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::vector<Notice>> check(const Timing& timing) const override;
  [[nodiscard]] Result<OpenedLedger> open(boost::asio::any_io_executor strand, const Timing& timing,
                                          ProcessId self) override;

 private:
  KafkaOptions options_;
  TopicFacts facts_;
};

Result<std::vector<Notice>> KafkaStore::check(const Timing& timing) const {
  if (auto kept = check_retention(facts_, timing.lease); !kept) return kept.error();
  std::vector<Notice> told;
  const auto warn = [&](std::optional<std::string> line) {
    if (line) told.push_back({Severity::warning, std::move(*line)});
  };
  warn(long_session_warning(facts_.group_session));
  warn(eager_lease_warning(options_, facts_.session.protocol, timing.lease));
  warn(short_retention_warning(facts_, timing));
  if (options_.mode == Mode::exclusive) {
    const auto line = broker_loss_text(facts_, timing.lease);
    if (line) told.push_back({Severity::info, "exclusive mode: " + *line});
  }
  return told;
}

Result<OpenedLedger> KafkaStore::open(boost::asio::any_io_executor strand, const Timing& timing,
                                      ProcessId self) {
  auto statistics = self == kNobody ? nullptr : std::make_shared<KafkaStatistics>();
  auto made = KafkaLedger::open(std::move(strand), {options_, facts_, timing, statistics, self});
  if (!made) return made.error();
  OpenedLedger opened;
  if (!options_.watcher && options_.assignment == Assignment::group) opened.group = made->get();
  opened.ledger = std::move(*made);
  opened.statistics = std::move(statistics);
  return opened;
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_kafka(
    const KafkaOptions& options, const NoticeSink& waiting,
    const BeforeCreation& before_creation) {
  auto facts = prepare_topic(options, waiting, before_creation);
  if (!facts) return facts.error();
  if (auto learned = learn_partitions(options, *facts); !learned) return learned.error();
  return std::unique_ptr<PreparedStore>(std::make_unique<KafkaStore>(options, std::move(*facts)));
}

}  // namespace neliroute
