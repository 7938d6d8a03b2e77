#include "ledgers/postgres/postgres_writer.h"

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/postgres/postgres_promise.h"
#include "net/await.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;

constexpr milliseconds kPromiseEach{60'000};
constexpr std::size_t kBatch = 64;
constexpr std::size_t kBatchBytes = 262'144;
constexpr const char* kWriter = "writer";

/// As an element of an array of bytea.
void append_bytes(std::string& array, const std::string& value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (array.size() > 1) array += ',';
  array += "\"\\\\x";
  for (const char one : value) {
    const auto byte = static_cast<unsigned char>(one);
    array += kDigits[byte >> 4U];
    array += kDigits[byte & 15U];
  }
  array += '"';
}

bool is_refusal(const PostgresAnswer& answer) {
  return answer.outcome == PostgresOutcome::denied ||
         answer.outcome == PostgresOutcome::missing;
}

bool is_plain(const std::string& value) {
  return std::all_of(value.begin(), value.end(),
                     [](char one) { return one >= ' ' && one <= '~'; });
}

}  // namespace

PostgresWriter::PostgresWriter(asio::any_io_executor strand,
                               std::shared_ptr<PostgresServers> servers,
                               PostgresWriterOptions options)
    : strand_(std::move(strand)),
      pause_(strand_),
      queue_(strand_),
      servers_(std::move(servers)),
      // A commit may be slow although its server is well, and the reader asks, too.
      client_(strand_, servers_, /*patient=*/1),
      options_(options) {}

void PostgresWriter::start(Written written, Refused refused, Doubted doubted) {
  queue_.start(std::move(written));
  refused_ = std::move(refused);
  doubted_ = std::move(doubted);
  run_apart(strand_, [self = shared_from_this()] { return self->run(); });
}

void PostgresWriter::write(Write write) {
  queue_.push({++number_, write.seq, write.log, std::move(write.value),
               later(boot_now(), options_.lease / 2)});
  pause_.cancel();
}

void PostgresWriter::finish(std::function<void()> done) {
  finished_ = std::move(done);
  pause_.cancel();
}

void PostgresWriter::close() {
  closed_ = true;
  refused_ = nullptr;
  doubted_ = nullptr;
  finished_ = nullptr;
  pause_.cancel();
  queue_.close();
  client_.close();
}

void PostgresWriter::report(const PostgresAnswer& answer) {
  if (closed_) return;
  servers_->reports().report(kWriter, static_cast<int>(answer.outcome), Severity::error,
                             "a record cannot be written (" + answer.trouble + ")" +
                                 (is_refusal(answer) ? "; `neliroute schema` prints the GRANTs"
                                                     : "; trying again"),
                             boot_now());
}

asio::awaitable<void> PostgresWriter::run() {
  while (!closed_) {
    if (queue_.empty() && finished_) {
      const auto done = std::exchange(finished_, nullptr);  // it may end this
      done();
      continue;
    }
    const bool curious = ever_stored_ && boot_now() >= promise_due_;
    if (queue_.empty() && !curious) {
      const LocalTime due = ever_stored_ ? promise_due_ : later(boot_now(), kPromiseEach);
      const auto left = std::chrono::ceil<milliseconds>(due - boot_now());
      co_await pause(pause_, std::max(left, milliseconds{1}));
      continue;
    }
    const bool ready = queue_.empty() || !servers_->id_of(queue_.entries().front().log).empty();
    bool there = client_.connected();
    if (ready && !there) there = co_await connect();
    if (closed_) co_return;
    if (!ready || !there) {
      co_await pause(pause_, kPostgresRetry);
    } else if (!queue_.empty()) {
      co_await append();
    } else {
      co_await look_at_promise();
    }
  }
}

asio::awaitable<bool> PostgresWriter::connect() {
  const PostgresAnswer connected =
      co_await client_.connect(std::max(options_.lease / 2, kPostgresRetry));
  if (!connected.ok()) report(connected);
  promise_due_ = kLongAgo;  // it may be another server
  co_return connected.ok();
}

std::vector<std::uint64_t> PostgresWriter::batch(std::string& values, bool& plain) const {
  std::vector<std::uint64_t> numbers;
  values = "{";
  plain = true;
  for (const Pending& one : queue_.entries()) {
    const bool more = one.log == queue_.entries().front().log && numbers.size() < kBatch &&
                      values.size() < kBatchBytes;
    if (!numbers.empty() && !more) break;
    numbers.push_back(one.number);
    append_bytes(values, one.value);
    plain = plain && is_plain(one.value);
  }
  values += '}';
  return numbers;
}

asio::awaitable<void> PostgresWriter::append() {
  const Log log = queue_.entries().front().log;
  const auto left =
      std::chrono::duration_cast<milliseconds>(queue_.entries().front().due - boot_now());
  const milliseconds patience = std::clamp(
      left, kPostgresAttemptLeast, std::max(options_.lease / 2, kPostgresAttemptLeast));
  std::string values;
  bool plain = false;
  const std::vector<std::uint64_t> numbers = batch(values, plain);
  std::vector<std::string> parameters{
      servers_->connection().topic, std::to_string(log.value()), servers_->id_of(log),
      std::to_string(options_.kept.count()), std::to_string(patience.count() * 3 / 4),
      std::move(values),
      plain ? "t" : "f"};
  const PostgresAnswer answer =
      co_await client_.ask("SELECT " + servers_->named("append") + "($1, $2, $3, $4, $5, $6, $7)",
                           std::move(parameters), patience);
  if (closed_) co_return;
  take(numbers, answer);
  if (!closed_ && !answer.ok()) co_await pause(pause_, kPostgresRetry);
}

void PostgresWriter::take(const std::vector<std::uint64_t>& numbers,
                          const PostgresAnswer& answer) {
  const bool stored = answer.ok() && answer.rows() == 1;
  if (stored) {
    ever_stored_ = true;
    servers_->reports().recovered(kWriter, "records are written again", boot_now());
  } else if (answer.outcome != PostgresOutcome::other_logs) {
    report(answer);
  }
  std::int64_t position = stored ? answer.number(0, 0) : 0;
  for (const std::uint64_t number : numbers) {
    if (closed_) return;
    // What was due meanwhile has failed already, and the next one is the first now.
    queue_.answer(number, stored ? std::optional(position) : std::nullopt);
    ++position;
  }
  const auto doubted = doubted_;
  if (answer.outcome == PostgresOutcome::other_logs && doubted) doubted();
  const auto refused = refused_;
  if (is_refusal(answer) && !ever_stored_ && refused && !std::exchange(ever_refused_, true)) {
    refused({Errc::ledger_refused, "PostgreSQL refuses what this process writes: " +
                                       answer.trouble + "; `neliroute schema` prints the GRANTs"});
  }
}

asio::awaitable<void> PostgresWriter::look_at_promise() {
  promise_due_ = later(boot_now(), kPromiseEach);
  const PostgresAnswer answer =
      co_await client_.ask(promise_statement(servers_->connection()), std::vector<std::string>(),
                           std::max(options_.lease / 2, kPostgresAttemptLeast));
  if (closed_ || !answer.ok()) co_return;
  for (const std::string& doubt : promise_doubts(answer)) {
    servers_->reports().report("promise " + doubt, 0,
                               options_.exclusive ? Severity::error : Severity::warning, doubt,
                               boot_now());
  }
  const std::string full = queue_doubt(answer);
  if (!full.empty()) {
    servers_->reports().report("queue", 0, Severity::warning, full, boot_now());
  }
}

}  // namespace neliroute
