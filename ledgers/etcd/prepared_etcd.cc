#include "ledgers/etcd/prepared_etcd.h"

#include <algorithm>
#include <neliroute/clock.h>
#include <thread>
#include <utility>

#include "base/process_id.h"
#include "ledgers/etcd/blocking_etcd.h"
#include "ledgers/etcd/etcd_identity.h"
#include "ledgers/etcd/etcd_json.h"
#include "ledgers/etcd/etcd_ledger.h"
#include "ledgers/newest_settings.h"
#include "ledgers/parts/kept_for.h"
#include "neli_core/record/log_parts.h"

namespace neliroute {
namespace {

constexpr milliseconds kAttempt{2'000};
constexpr milliseconds kPoll{200};
/// Every member's renewals carry settings; of other records there are few.
constexpr std::int64_t kRecords = 48;

Error cannot(Errc errc, const EtcdConnection& connection, const std::string& why) {
  return {errc, connection.shown + ": " + why};
}

/// Null: it has none.
Result<TlsContextPtr> tls_of(const EtcdConnection& connection) {
  if (!connection.tls) return TlsContextPtr();
  return trusting({connection.authorities, connection.certificate, connection.key});
}

class PreparedEtcd final : public PreparedStore {
 public:
  PreparedEtcd(EtcdConnection connection, TlsContextPtr tls, LedgerFacts facts, bool watcher)
      : connection_(std::move(connection)),
        tls_(std::move(tls)),
        facts_(std::move(facts)),
        watcher_(watcher) {}

  [[nodiscard]] const LedgerFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::vector<Notice>> check(const Timing& /*timing*/) const override {
    return std::vector<Notice>{};
  }
  [[nodiscard]] Result<OpenedLedger> open(boost::asio::any_io_executor strand, const Timing& timing,
                                          ProcessId self) override {
    EtcdLedgerOptions options;
    options.id = self == kNobody ? draw_process_id() : self;
    options.logs = facts_.logs;
    options.lease = timing.lease;
    options.kept = kept_for(timing);
    options.watcher = watcher_;
    return make_etcd_ledger(std::move(strand), connection_, tls_, options);
  }

 private:
  EtcdConnection connection_;
  TlsContextPtr tls_;
  LedgerFacts facts_;
  bool watcher_;
};

/// Asks until it is answered, or the time is over.
class Preparation {
 public:
  Preparation(const EtcdConnection& connection, const TlsContextPtr& tls,
              const LedgerNeeds& needs, NoticeSink waiting)
      : connection_(connection),
        needs_(needs),
        waiting_(std::move(waiting)),
        etcd_(connection, tls),
        keys_(connection.prefix),
        deadline_(later(boot_now(), connection.timeout)) {}

  [[nodiscard]] Result<LedgerFacts> facts(const BeforeCreation& before_creation);
  /// Connected to one that answers.
  [[nodiscard]] BlockingEtcd& etcd() noexcept { return etcd_; }

 private:
  [[nodiscard]] Result<EtcdCommitted> ask(const boost::json::object& transaction);
  [[nodiscard]] Result<EtcdCommitted> look();
  [[nodiscard]] Result<void> await_logs();
  [[nodiscard]] Result<void> make_logs(const BeforeCreation& before_creation);
  [[nodiscard]] LedgerFacts wanted() const;
  void note_size(LedgerFacts& facts);
  void say(const std::string& text) const {
    if (waiting_) waiting_({Severity::warning, text});
  }

  const EtcdConnection& connection_;
  const LedgerNeeds& needs_;
  NoticeSink waiting_;
  BlockingEtcd etcd_;
  EtcdKeys keys_;
  LocalTime deadline_;
  bool said_silent_ = false;
};

Result<EtcdCommitted> Preparation::ask(const boost::json::object& transaction) {
  for (;;) {
    const EtcdAnswer answer = etcd_.call("/v3/kv/txn", transaction, kAttempt);
    if (answer.ok()) {
      if (auto committed = committed_in(answer.body)) return std::move(*committed);
      return cannot(Errc::ledger_unfit, connection_, kNoEtcd);
    }
    switch (answer.outcome) {
      case EtcdOutcome::unreachable: break;
      case EtcdOutcome::denied:
      case EtcdOutcome::unauthenticated:
        return cannot(Errc::ledger_refused, connection_,
                      answer.trouble + "; give a user whose role may read and write the keys below "
                                       "the prefix, as in etcd://USER@HOST:2379/PREFIX with "
                                       "NELIROUTE_ETCD_PASSWORD in the environment");
      default:
        return cannot(Errc::ledger_unfit, connection_,
                      answer.trouble + (answer.trouble.find("not enabled") == std::string::npos
                                            ? ""
                                            : "; leave the user out"));
    }
    const std::string troubles = etcd_.all_failed() ? etcd_.troubles() : answer.trouble;
    if (boot_now() >= deadline_) {
      return cannot(Errc::ledger_unreachable, connection_,
                    "no etcd answered within " + std::to_string(connection_.timeout.count()) +
                        " ms (" + troubles + "); start it, name others, or wait longer "
                        "(`kafka.timeout`)");
    }
    if (!etcd_.all_failed()) continue;  // another one may answer
    if (!std::exchange(said_silent_, true)) {
      say(connection_.shown + ": no etcd answers yet (" + troubles +
          "); waiting, at most " + std::to_string(connection_.timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Result<EtcdCommitted> Preparation::look() {
  EtcdRange newest = all_below(keys_.records(Log{0}));
  newest.newest_first = true;
  newest.limit = kRecords;
  auto seen =
      ask(transaction({}, {range_operation({keys_.identity()}), range_operation(newest)}));
  if (seen && seen->found.size() != 2) {
    return cannot(Errc::ledger_unfit, connection_, kNoEtcd);
  }
  return seen;
}

Result<void> Preparation::await_logs() {
  const bool for_ever = needs_.missing_topic == MissingTopic::wait_for_ever;
  if (needs_.missing_topic != MissingTopic::fail) {
    say(connection_.shown + ": there are no logs yet, and a watcher makes none; waiting for "
        "an owner" + (for_ever ? std::string()
                               : ", at most " + std::to_string(connection_.timeout.count()) +
                                     " ms"));
    while (for_ever || boot_now() < deadline_) {
      std::this_thread::sleep_for(kPoll);
      if (for_ever) deadline_ = later(boot_now(), connection_.timeout);
      const auto seen = look();
      if (!seen) return seen.error();
      if (!seen->found[0].keys.empty()) return {};
    }
  }
  return cannot(Errc::ledger_unfit, connection_,
                "there are no logs, and a watcher makes none; start an owner (neliroute run), or "
                "name another prefix");
}

LedgerFacts Preparation::wanted() const {
  LedgerFacts facts;
  facts.partitions = needs_.partitions.value_or(kPartitionsDefault);
  facts.logs = needs_.logs.value_or(1);
  return facts;
}

Result<void> Preparation::make_logs(const BeforeCreation& before_creation) {
  const LedgerFacts facts = wanted();
  if (before_creation) {
    if (auto fits = before_creation(facts); !fits) return fits;
  }
  const auto made = ask(make_identity(keys_, facts.logs));
  if (!made) return made.error();
  return {};
}

Result<LedgerFacts> Preparation::facts(const BeforeCreation& before_creation) {
  auto seen = look();
  if (!seen) return seen.error();
  if (seen->found[0].keys.empty()) {
    const auto there = needs_.watcher ? await_logs() : make_logs(before_creation);
    if (!there) return there.error();
    seen = look();
    if (!seen) return seen.error();
  }
  const auto logs = seen->found[0].keys.empty()
                        ? std::nullopt
                        : logs_in(seen->found[0].keys[0].value);
  if (!logs) {
    return cannot(Errc::ledger_unfit, connection_,
                  "the key " + keys_.identity() + " is none of ours; name another prefix");
  }
  LedgerFacts facts = wanted();
  facts.logs = *logs;
  if (needs_.logs.value_or(*logs) != *logs) {
    return Error{Errc::bad_option, "`logs` " + std::to_string(*needs_.logs) + ", but " +
                                       connection_.shown + " has " + std::to_string(*logs) +
                                       "; leave `logs` out, or name another prefix"};
  }
  NewestSettings newest;
  auto& keys = seen->found[1].keys;
  for (auto one = keys.rbegin(); one != keys.rend(); ++one) {
    newest.take(decode_record(stamped_value(one->value).second));
  }
  const auto& theirs = newest.found();
  const bool readable =
      theirs && theirs->partitions > 0 && theirs->partitions <= kPartitionCountMax;
  if (readable && !needs_.partitions) facts.partitions = theirs->partitions;
  if (!needs_.watcher) note_size(facts);
  return facts;
}

void Preparation::note_size(LedgerFacts& facts) {
  const EtcdAnswer status = etcd_.call("/v3/maintenance/status", {}, kAttempt);
  const auto warning = size_warning(status.body);
  if (warning) facts.notices.push_back({Severity::warning, connection_.shown + ": " + *warning});
}

/// The records of one log, from etcd's history.
class HistoryReader {
 public:
  HistoryReader(BlockingEtcd& etcd, const EtcdKeys& keys, Log log,
                std::optional<BrokerTime> since, const RecordSink& sink)
      : etcd_(etcd), prefix_(keys.records(log)), since_(since), sink_(sink) {
    read_.log = log;
  }

  /// False: there is none, or it ended early.
  [[nodiscard]] bool read_until(std::int64_t last);
  [[nodiscard]] const LogRead& read() const noexcept { return read_; }

 private:
  [[nodiscard]] bool read_watch(std::int64_t last);
  void take(const EtcdKeyValue& put);

  BlockingEtcd& etcd_;
  std::string prefix_;
  std::optional<BrokerTime> since_;
  const RecordSink& sink_;
  LogRead read_;
  std::int64_t next_ = 1;
};

// A watch goes on for ever: it is dropped once all is read, and where it has to begin later.
bool HistoryReader::read_until(std::int64_t last) {
  read_.end = last + 1;
  while (next_ <= last) {
    if (!etcd_.watch(watch_request(prefix_, next_), kAttempt)) return false;
    const bool read = read_watch(last);
    etcd_.drop();
    if (!read) return false;
  }
  return true;
}

bool HistoryReader::read_watch(std::int64_t last) {
  while (next_ <= last) {
    const auto line = etcd_.next_line(kAttempt);
    const auto watched = line ? watched_in(*line) : std::nullopt;
    if (!watched) return false;
    if (watched->compacted_to > next_) {
      read_.low = next_ = watched->compacted_to;
      read_.cut_short = true;
      return true;
    }
    for (const EtcdKeyValue& put : watched->puts) take(put);
    if (watched->ended) return false;
  }
  return true;
}

void HistoryReader::take(const EtcdKeyValue& put) {
  if (put.revision < next_ || put.revision >= read_.end) return;
  next_ = put.revision + 1;
  const auto [stamped, text] = stamped_value(put.value);
  if (since_ && stamped < *since_) return;
  if (!read_.first) {
    read_.first = stamped;
    read_.start = put.revision;
  }
  read_.last = stamped;
  const Decoded value = decode_record(text);
  sink_({read_.log, put.revision, stamped, false, &value});
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_etcd(const EtcdConnection& connection,
                                                    const LedgerNeeds& needs,
                                                    const NoticeSink& waiting,
                                                    const BeforeCreation& before_creation) {
  const auto tls = tls_of(connection);
  if (!tls) return tls.error();
  auto facts = Preparation(connection, *tls, needs, waiting).facts(before_creation);
  if (!facts) return facts.error();
  return std::unique_ptr<PreparedStore>(
      std::make_unique<PreparedEtcd>(connection, *tls, std::move(*facts), needs.watcher));
}

Result<std::vector<LogRead>> read_etcd(const EtcdConnection& connection,
                                       std::optional<BrokerTime> since, const RecordSink& record) {
  LedgerNeeds needs;
  needs.watcher = true;
  needs.missing_topic = MissingTopic::fail;
  const auto tls = tls_of(connection);
  if (!tls) return tls.error();
  Preparation preparation(connection, *tls, needs, {});
  auto facts = preparation.facts({});
  if (!facts) return facts.error();
  BlockingEtcd& etcd = preparation.etcd();
  const EtcdKeys keys(connection.prefix);
  std::vector<LogRead> all;
  for (std::uint32_t log = 0; log < facts->logs; ++log) {
    EtcdRange newest = all_below(keys.records(Log{log}));
    newest.newest_first = true;
    newest.limit = 1;
    const EtcdAnswer answer = etcd.call("/v3/kv/range", json_of(newest), kAttempt);
    if (!answer.ok()) return cannot(Errc::ledger_unreachable, connection, answer.trouble);
    const auto found = found_in(answer.body);
    if (!found || found->keys.empty()) continue;
    HistoryReader reader(etcd, keys, Log{log}, since, record);
    if (!reader.read_until(found->keys[0].revision)) {
      return cannot(Errc::ledger_unreachable, connection,
                    "log " + std::to_string(log) + " could not be read to its end; try again");
    }
    all.push_back(reader.read());
  }
  return all;
}

}  // namespace neliroute
