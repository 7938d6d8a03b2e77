#include "ledgers/postgres/prepared_postgres.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <neliroute/clock.h>
#include <string>
#include <thread>
#include <utility>

#include "ledgers/newest_settings.h"
#include "ledgers/parts/kept_for.h"
#include "ledgers/parts/run_within.h"
#include "ledgers/postgres/postgres_client.h"
#include "ledgers/postgres/postgres_ledger.h"
#include "ledgers/postgres/postgres_promise.h"
#include "ledgers/postgres/postgres_schema.h"

namespace neliroute {
namespace {

constexpr milliseconds kAttempt{5'000};
constexpr milliseconds kPoll{200};
/// Every member's renewals carry settings; of other records there are few.
constexpr int kRecords = 48;
constexpr int kAuditPage = 1'000;

class PreparedPostgres final : public PreparedStore {
 public:
  PreparedPostgres(PostgresConnection connection, LedgerFacts facts, const LedgerNeeds& needs)
      : connection_(std::move(connection)), facts_(std::move(facts)) {
    options_.logs = facts_.logs;
    options_.exclusive = needs.mode == Mode::exclusive;
    options_.watcher = needs.watcher;
  }

  [[nodiscard]] const LedgerFacts& facts() const noexcept override { return facts_; }
  [[nodiscard]] Result<std::vector<Notice>> check(const Timing& /*timing*/) const override {
    return std::vector<Notice>{};
  }
  [[nodiscard]] Result<OpenedLedger> open(boost::asio::any_io_executor strand, const Timing& timing,
                                          ProcessId /*self*/) override {
    options_.lease = timing.lease;
    options_.interval = timing.interval;
    options_.clock_error = timing.clock_error;
    options_.kept = kept_for(timing);
    return make_postgres_ledger(std::move(strand), connection_, options_);
  }

 private:
  PostgresConnection connection_;
  LedgerFacts facts_;
  PostgresLedgerOptions options_;
};

/// Asks until it is answered, or the time is over.
class Preparation {
 public:
  Preparation(const PostgresConnection& connection, const LedgerNeeds& needs, NoticeSink waiting)
      : connection_(connection),
        needs_(needs),
        waiting_(std::move(waiting)),
        servers_(std::make_shared<PostgresServers>(connection)),
        client_(io_.get_executor(), servers_, /*patient=*/0),
        deadline_(later(boot_now(), connection.timeout)) {}
  ~Preparation() { client_.close(); }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;

  [[nodiscard]] Result<LedgerFacts> facts(const BeforeCreation& before_creation);
  [[nodiscard]] Result<PostgresAnswer> ask(const std::string& statement,
                                           const std::vector<std::string>& parameters);
  [[nodiscard]] std::string named(const char* name) const { return servers_->named(name); }

 private:
  [[nodiscard]] PostgresAnswer ask_once(const std::string& statement,
                                        const std::vector<std::string>& parameters);
  [[nodiscard]] Error error_of(const PostgresAnswer& answer) const;
  [[nodiscard]] Result<std::uint32_t> logs();
  [[nodiscard]] Result<void> make_schema();
  [[nodiscard]] Result<std::uint32_t> await_logs();
  [[nodiscard]] Result<std::uint32_t> make_logs(const BeforeCreation& before_creation);
  [[nodiscard]] LedgerFacts wanted() const;
  [[nodiscard]] Result<void> check_server(LedgerFacts& facts);
  [[nodiscard]] Result<void> take_newest(LedgerFacts& facts);
  [[nodiscard]] Error cannot(Errc errc, const std::string& why) const {
    return {errc, connection_.shown + ": " + why};
  }
  void say(const std::string& text) const {
    if (waiting_) waiting_({Severity::warning, connection_.shown + ": " + text});
  }

  const PostgresConnection& connection_;
  const LedgerNeeds& needs_;
  NoticeSink waiting_;
  boost::asio::io_context io_;
  std::shared_ptr<PostgresServers> servers_;
  PostgresClient client_;
  LocalTime deadline_;
  bool said_silent_ = false;
};

PostgresAnswer Preparation::ask_once(const std::string& statement,
                                     const std::vector<std::string>& parameters) {
  const auto stop = [this] { client_.drop(); };
  if (!client_.connected()) {
    PostgresAnswer connected = run_within(io_, client_.connect(kAttempt), 2 * kAttempt, stop);
    if (!connected.ok()) return connected;
  }
  return run_within(io_, client_.ask(statement, parameters, kAttempt), 2 * kAttempt, stop);
}

Error Preparation::error_of(const PostgresAnswer& answer) const {
  switch (answer.outcome) {
    case PostgresOutcome::denied:
      return cannot(Errc::ledger_refused,
                    answer.trouble + "; give a password by PGPASSFILE, or rights: `neliroute "
                                     "schema` prints the GRANTs");
    case PostgresOutcome::missing:
      return cannot(Errc::ledger_unfit,
                    answer.trouble + "; make the schema by `neliroute schema | psql`, or add "
                                     "create=1 to the address");
    default:
      return cannot(Errc::ledger_unfit, answer.trouble);
  }
}

Result<PostgresAnswer> Preparation::ask(const std::string& statement,
                                        const std::vector<std::string>& parameters) {
  for (;;) {
    PostgresAnswer answer = ask_once(statement, parameters);
    if (answer.ok()) return answer;
    const bool may_pass = answer.outcome == PostgresOutcome::unreachable ||
                          answer.outcome == PostgresOutcome::elsewhere;
    if (!may_pass) return error_of(answer);
    if (answer.trouble.find("authentication") != std::string::npos) {
      return cannot(Errc::ledger_refused, answer.trouble);
    }
    if (boot_now() >= deadline_) {
      return cannot(Errc::ledger_unreachable,
                    "no server that takes writes answered within " +
                        std::to_string(connection_.timeout.count()) + " ms (" + answer.trouble +
                        "); start it, name others, or wait longer (`kafka.timeout`)");
    }
    if (!std::exchange(said_silent_, true)) {
      say("no server answers yet (" + answer.trouble + "); waiting, at most " +
          std::to_string(connection_.timeout.count()) + " ms");
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Result<std::uint32_t> Preparation::logs() {
  const auto seen = ask("SELECT count(*) FROM " + named("log") + " WHERE topic = $1",
                        {connection_.topic});
  if (!seen) return seen.error();
  return static_cast<std::uint32_t>(seen->number(0, 0));
}

// Its owner's command, line by line: it fails as a whole.
Result<void> Preparation::make_schema() {
  const auto seen = ask("SELECT to_regproc($1) IS NOT NULL", {named("standbys")});
  if (!seen) return seen.error();
  if (seen->text(0, 0) == "t") return {};
  const auto made =
      ask("DO $neliroute$ BEGIN EXECUTE $make$" + postgres_schema_body(connection_.schema) +
              "$make$; END $neliroute$", {});
  if (!made) return made.error();
  return {};
}

Result<std::uint32_t> Preparation::await_logs() {
  const bool for_ever = needs_.missing_topic == MissingTopic::wait_for_ever;
  if (needs_.missing_topic != MissingTopic::fail) {
    say("there are no logs of the topic yet, and a watcher makes none; waiting for an owner" +
        (for_ever ? std::string()
                  : ", at most " + std::to_string(connection_.timeout.count()) + " ms"));
    while (for_ever || boot_now() < deadline_) {
      std::this_thread::sleep_for(kPoll);
      if (for_ever) deadline_ = later(boot_now(), connection_.timeout);
      auto seen = logs();
      if (!seen || *seen > 0) return seen;
    }
  }
  return cannot(Errc::ledger_unfit, "there are no logs of the topic, and a watcher makes none; "
                                    "start an owner (neliroute run), or name another topic");
}

LedgerFacts Preparation::wanted() const {
  LedgerFacts facts;
  facts.partitions = needs_.partitions.value_or(kPartitionsDefault);
  facts.logs = needs_.logs.value_or(1);
  facts.believe_broker_time = true;
  return facts;
}

Result<std::uint32_t> Preparation::make_logs(const BeforeCreation& before_creation) {
  const LedgerFacts facts = wanted();
  if (before_creation) {
    if (auto fits = before_creation(facts); !fits) return fits.error();
  }
  const auto made = ask("SELECT " + named("make_logs") + "($1, $2)",
                        {connection_.topic, std::to_string(facts.logs)});
  if (!made) return made.error();
  return logs();
}

Result<void> Preparation::check_server(LedgerFacts& facts) {
  const auto isolation = ask("SELECT current_setting('default_transaction_isolation')", {});
  if (!isolation) return isolation.error();
  if (isolation->text(0, 0) != "read committed") {
    return cannot(Errc::ledger_unfit, "default_transaction_isolation is " +
                                          std::string(isolation->text(0, 0)) +
                                          "; let it be read committed for this user (ALTER ROLE)");
  }
  const auto promise = ask(promise_statement(connection_), {});
  if (!promise) return promise.error();
  const bool may_lose = needs_.mode != Mode::exclusive || connection_.assume_durable;
  for (const std::string& doubt : promise_doubts(*promise)) {
    if (!may_lose) {
      return cannot(Errc::ledger_unfit, doubt + ". In exclusive mode two owners could follow; "
                                                "assume=durable in the address runs all the same");
    }
    facts.notices.push_back({Severity::warning, connection_.shown + ": " + doubt});
  }
  return {};
}

Result<void> Preparation::take_newest(LedgerFacts& facts) {
  const auto newest = ask("SELECT value FROM " + named("record") +
                              " WHERE topic = $1 AND log = 0 ORDER BY position DESC LIMIT " +
                              std::to_string(kRecords),
                          {connection_.topic});
  if (!newest) return newest.error();
  NewestSettings settings;
  for (int row = newest->rows() - 1; row >= 0; --row) {
    settings.take(decode_record(newest->bytes(row, 0)));
  }
  const auto& theirs = settings.found();
  const bool readable =
      theirs && theirs->partitions > 0 && theirs->partitions <= kPartitionCountMax;
  if (readable && !needs_.partitions) facts.partitions = theirs->partitions;
  return {};
}

Result<LedgerFacts> Preparation::facts(const BeforeCreation& before_creation) {
  if (connection_.create && !needs_.watcher) {
    if (auto made = make_schema(); !made) return made.error();
  }
  auto count = logs();
  if (!count) return count.error();
  if (*count == 0) {
    count = needs_.watcher ? await_logs() : make_logs(before_creation);
    if (!count) return count.error();
  }
  LedgerFacts facts = wanted();
  facts.logs = *count;
  if (needs_.logs.value_or(*count) != *count) {
    return Error{Errc::bad_option, "`logs` " + std::to_string(*needs_.logs) + ", but " +
                                       connection_.shown + " has " + std::to_string(*count) +
                                       "; leave `logs` out, or name another topic"};
  }
  if (!needs_.watcher) {
    if (auto fits = check_server(facts); !fits) return fits.error();
  }
  if (auto taken = take_newest(facts); !taken) return taken.error();
  return facts;
}

/// The records of one log, page by page.
Result<LogRead> read_log(Preparation& postgres, const std::string& topic, Log log,
                         std::optional<BrokerTime> since, const RecordSink& sink) {
  const std::string number = std::to_string(log.value());
  const auto row = postgres.ask("SELECT next, low FROM " + postgres.named("log") +
                                    " WHERE topic = $1 AND log = $2",
                                {topic, number});
  if (!row) return row.error();
  LogRead read;
  read.log = log;
  read.end = row->number(0, 0);
  std::int64_t next = read.start = read.low = row->number(0, 1);
  const std::int64_t from = since ? since->time_since_epoch().count() : 0;
  while (next < read.end) {
    const auto page = postgres.ask(
        "SELECT position, stamped, value FROM " + postgres.named("record") +
            " WHERE topic = $1 AND log = $2 AND position >= $3 AND position < $4"
            " AND stamped >= $5 ORDER BY position LIMIT " + std::to_string(kAuditPage),
        {topic, number, std::to_string(next), std::to_string(read.end), std::to_string(from)});
    if (!page) return page.error();
    for (int one = 0; one < page->rows(); ++one) {
      const std::int64_t position = page->number(one, 0);
      const BrokerTime stamped{milliseconds{page->number(one, 1)}};
      if (!read.first) {
        read.first = stamped;
        read.start = position;
        read.cut_short = position == read.low && read.low > 0;
      }
      read.last = stamped;
      next = position + 1;
      const Decoded value = decode_record(page->bytes(one, 2));
      sink({log, position, stamped, true, &value});
    }
    if (page->rows() < kAuditPage) break;
  }
  return read;
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_postgres(const PostgresConnection& connection,
                                                        const LedgerNeeds& needs,
                                                        const NoticeSink& waiting,
                                                        const BeforeCreation& before_creation) {
  auto facts = Preparation(connection, needs, waiting).facts(before_creation);
  if (!facts) return facts.error();
  return std::unique_ptr<PreparedStore>(
      std::make_unique<PreparedPostgres>(connection, std::move(*facts), needs));
}

Result<std::vector<LogRead>> read_postgres(const PostgresConnection& connection,
                                           std::optional<BrokerTime> since,
                                           const RecordSink& record) {
  LedgerNeeds needs;
  needs.watcher = true;
  needs.missing_topic = MissingTopic::fail;
  Preparation postgres(connection, needs, {});
  auto facts = postgres.facts({});
  if (!facts) return facts.error();
  std::vector<LogRead> all;
  for (std::uint32_t log = 0; log < facts->logs; ++log) {
    auto read = read_log(postgres, connection.topic, Log{log}, since, record);
    if (!read) return read.error();
    if (read->end > 0) all.push_back(std::move(*read));
  }
  return all;
}

}  // namespace neliroute
