#include "ledgers/quorum/prepared_quorum.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "ledgers/newest_settings.h"
#include "ledgers/parts/kept_for.h"
#include "ledgers/quorum/quorum_ledger.h"
#include "ledgers/quorum/quorum_talk.h"

namespace neliroute {
namespace {

/// Every member's renewals carry settings; of other records there are few.
constexpr std::uint32_t kSettingsRead = 48;

/// Null: there is none.
Result<TlsContextPtr> tls_of(const QuorumConnection& connection) {
  if (!connection.tls) return TlsContextPtr();
  return trusting({connection.authorities, connection.certificate, connection.private_key});
}

class PreparedQuorum final : public PreparedStore {
 public:
  PreparedQuorum(QuorumConnection connection, TlsContextPtr tls, LedgerFacts facts,
                 quorum::Welcome welcome, bool watcher)
      : connection_(std::move(connection)),
        tls_(std::move(tls)),
        facts_(std::move(facts)),
        welcome_(std::move(welcome)),
        watcher_(watcher) {}

  [[nodiscard]] const LedgerFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::vector<Notice>> check(const Timing& timing) const override;
  [[nodiscard]] Result<OpenedLedger> open(boost::asio::any_io_executor strand, const Timing& timing,
                                          ProcessId /*self*/) override {
    QuorumLedgerOptions options;
    options.logs = facts_.logs;
    options.lease = timing.lease;
    options.clock_error = timing.clock_error;
    options.watcher = watcher_;
    return make_quorum_ledger(std::move(strand), connection_, tls_, options);
  }

 private:
  QuorumConnection connection_;
  TlsContextPtr tls_;
  LedgerFacts facts_;
  quorum::Welcome welcome_;
  bool watcher_;
};

Result<std::vector<Notice>> PreparedQuorum::check(const Timing& timing) const {
  const auto in_ms = [](milliseconds time) { return std::to_string(time.count()) + " ms"; };
  if (welcome_.kept < kept_for(timing)) {
    return Error{Errc::ledger_unfit,
                 connection_.shown + ": its voters keep records for " + in_ms(welcome_.kept) +
                     ", and " + in_ms(kept_for(timing)) +
                     " are needed (10 leases and `timing.serve_stale`, at least 10 min); start the "
                     "voters with a longer `voter.kept`, or lower these"};
  }
  std::vector<Notice> notices;
  // A new leader must be there, and found, before a lease that was renewed in time runs out.
  if (2 * welcome_.election > timing.lease / 2) {
    notices.push_back(
        {Severity::warning, connection_.shown + ": the election timeout of its voters, " +
                                in_ms(welcome_.election) + ", is long for a lease of " +
                                in_ms(timing.lease) +
                                ": a change of leader may cost leases; lower the one or raise "
                                "the other"});
  }
  return notices;
}

bool is_record(const quorum::Entry& entry) {
  return std::holds_alternative<std::string>(entry.what);
}

Result<LedgerFacts> facts_of(const QuorumConnection& connection, const LedgerNeeds& needs,
                             QuorumTalk& talk, const BeforeCreation& before_creation) {
  quorum::Ask question;
  question.entries = kSettingsRead;
  const auto newest = talk.ask(question);
  if (!newest) return newest.error();
  LedgerFacts facts;
  facts.partitions = needs.partitions.value_or(kPartitionsDefault);
  facts.logs = talk.welcome().logs;
  facts.believe_broker_time = true;
  if (needs.logs.value_or(facts.logs) != facts.logs) {
    return Error{Errc::bad_option, "`logs` " + std::to_string(*needs.logs) + ", but " +
                                       connection.shown + " has " + std::to_string(facts.logs) +
                                       "; leave `logs` out, or start the voters of another "
                                       "quorum with so many"};
  }
  NewestSettings settings;
  for (const quorum::Entry& entry : newest->entries) {
    if (is_record(entry)) settings.take(decode_record(std::get<std::string>(entry.what)));
  }
  const auto& theirs = settings.found();
  const bool readable =
      theirs && theirs->partitions > 0 && theirs->partitions <= kPartitionCountMax;
  if (readable && !needs.partitions) facts.partitions = theirs->partitions;
  const bool used = std::any_of(newest->entries.begin(), newest->entries.end(), is_record);
  if (used || needs.watcher || !before_creation) return facts;
  if (auto fits = before_creation(facts); !fits) return fits.error();
  return facts;
}

Result<LogRead> read_quorum_log(QuorumTalk& talk, Log log, std::optional<BrokerTime> since,
                                const RecordSink& sink) {
  const auto seen = talk.ask(quorum::Ask{});
  if (!seen) return seen.error();
  LogRead read;
  read.log = log;
  read.start = read.low = seen->first;
  bool older = false;
  const auto take = [&](quorum::Index position, quorum::Entry& entry) {
    if (since && entry.stamped < *since) {
      older = true;
      return;
    }
    if (!is_record(entry)) return;
    if (!read.first) {
      read.first = entry.stamped;
      read.start = position;
      read.cut_short = !older && read.low > 0;
    }
    read.last = entry.stamped;
    read.end = position + 1;
    const Decoded value = decode_record(std::get<std::string>(entry.what));
    sink({log, position, entry.stamped, true, &value});
  };
  const auto whole = talk.read(seen->log, seen->first, seen->end, take);
  if (!whole) return whole.error();
  if (!*whole) read.cut_short = true;
  // One that never had a record is left out.
  if (read.first || seen->first > 0) read.end = seen->end;
  return read;
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_quorum(const QuorumConnection& connection,
                                                      const LedgerNeeds& needs,
                                                      const NoticeSink& waiting,
                                                      const BeforeCreation& before_creation) {
  auto tls = tls_of(connection);
  if (!tls) return tls.error();
  const bool for_ever = needs.watcher && needs.missing_topic == MissingTopic::wait_for_ever;
  QuorumTalk talk(connection, *tls, Log{0}, waiting, for_ever);
  auto facts = facts_of(connection, needs, talk, before_creation);
  if (!facts) return facts.error();
  return std::unique_ptr<PreparedStore>(std::make_unique<PreparedQuorum>(
      connection, *tls, std::move(*facts), talk.welcome(), needs.watcher));
}

Result<std::vector<LogRead>> read_quorum(const QuorumConnection& connection,
                                         std::optional<BrokerTime> since,
                                         const RecordSink& record) {
  auto tls = tls_of(connection);
  if (!tls) return tls.error();
  std::vector<LogRead> all;
  std::uint32_t logs = 1;
  for (std::uint32_t log = 0; log < logs; ++log) {
    QuorumTalk talk(connection, *tls, Log{log});
    auto read = read_quorum_log(talk, Log{log}, since, record);
    if (!read) return read.error();
    logs = talk.welcome().logs;
    if (read->end > 0) all.push_back(std::move(*read));
  }
  return all;
}

}  // namespace neliroute
