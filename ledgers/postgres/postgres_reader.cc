#include "ledgers/postgres/postgres_reader.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/parts/history_horizon.h"
#include "net/await.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;

constexpr int kPage = 512;         ///< records at a time
constexpr int kNewest = 64;        ///< of which one is likely to state a lease
constexpr int kProofs = 5;         ///< in so many leases it asks, at least, which logs these are
constexpr const char* kReader = "reader";

/// Takes a number and the blank behind it off the text; no value: there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t value = 0;
  const auto [read_to, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read_to - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return value;
}

/// Which only who may read the log can know.
std::string channel_of(const std::string& id) {
  std::string name = "neliroute_";
  for (const char one : id) {
    if (one != '-') name += one;
  }
  return name;
}

BrokerTime stamp(std::int64_t count) { return BrokerTime{milliseconds{count}}; }

}  // namespace

PostgresReader::PostgresReader(asio::any_io_executor strand,
                               std::shared_ptr<PostgresServers> servers,
                               PostgresReaderOptions options)
    : strand_(std::move(strand)),
      pause_(strand_),
      servers_(std::move(servers)),
      client_(strand_, servers_, /*patient=*/0),
      options_(options) {
  for (std::uint32_t log = 0; log < options.logs; ++log) {
    tails_.emplace_back().log = Log{log};
  }
}

void PostgresReader::start(Happened happened) {
  happened_ = std::move(happened);
  run_apart(strand_, [self = shared_from_this()] { return self->run(); });
}

void PostgresReader::restart(Log log) {
  Tail& tail = tails_.at(log.value());
  ++tail.turn;
  tail.wanted = true;
  tail.running = false;
  client_.wake();
}

void PostgresReader::reread(const RereadRequest& request) {
  tails_.at(request.log.value()).reread = request;
  client_.wake();
}

void PostgresReader::doubt() {
  proved_ = kLongAgo;
  client_.wake();
}

void PostgresReader::close() {
  closed_ = true;
  happened_ = nullptr;
  pause_.cancel();
  client_.close();
}

void PostgresReader::emit(const Event& event) {
  const Happened happened = happened_;  // which may close this
  if (happened) happened(event);
}

void PostgresReader::lose(Tail& tail, GapReason reason) {
  ++tail.turn;
  tail.wanted = tail.running = false;
  tail.begin_at = later(boot_now(), kPostgresRetry);
  emit(GapFound{tail.log, reason});
}

void PostgresReader::report(const PostgresAnswer& answer) {
  if (closed_) return;
  servers_->reports().report(kReader, static_cast<int>(answer.outcome), Severity::error,
                             "the logs cannot be read (" + answer.trouble + "); trying again",
                             boot_now());
}

asio::awaitable<void> PostgresReader::run() {
  while (!closed_) {
    const bool well = co_await serve();
    if (closed_) co_return;
    if (well) continue;
    client_.drop();
    co_await pause(pause_, kPostgresRetry);
  }
}

bool PostgresReader::is_due(const Tail& tail) {
  const bool begins = tail.wanted && !tail.running && boot_now() >= tail.begin_at;
  return begins || tail.reread || (tail.running && tail.behind);
}

LocalTime PostgresReader::due() const {
  const milliseconds quiet =
      servers_->connection().notify ? options_.lease / 2 : options_.interval / 4;
  LocalTime first = std::min(later(heard_, std::max(quiet, milliseconds{10})),
                             later(proved_, kProofs * options_.lease));
  for (const Tail& tail : tails_) {
    if (tail.wanted && !tail.running) first = std::min(first, tail.begin_at);
  }
  return first;
}

asio::awaitable<bool> PostgresReader::serve() {
  if (!client_.connected()) {
    const bool there = co_await connect();
    if (!there || closed_) co_return false;
  }
  const bool well = co_await serve_tails();
  if (!well || closed_) co_return false;
  take_notifications();
  const bool behind = std::any_of(tails_.begin(), tails_.end(), is_due);
  if (closed_ || behind) co_return !closed_;
  if (boot_now() >= due()) {
    look_everywhere();
    co_return true;
  }
  const auto left = std::chrono::ceil<milliseconds>(due() - boot_now());
  co_await client_.wait(std::max(left, milliseconds{1}));
  if (closed_) co_return false;
  take_notifications();
  co_return true;
}

void PostgresReader::look_everywhere() {
  heard_ = proved_ = boot_now();
  for (Tail& tail : tails_) tail.behind = true;
}

asio::awaitable<PostgresAnswer> PostgresReader::ask(std::string statement,
                                                    std::vector<std::string> parameters) {
  PostgresAnswer answer =
      co_await client_.ask(std::move(statement), std::move(parameters),
                           std::max(options_.lease / 2, kPostgresAttemptLeast));
  if (!answer.ok()) report(answer);
  co_return answer;
}

// A listener that stands still must not hold up what others notify for longer than a lease.
asio::awaitable<bool> PostgresReader::connect() {
  const PostgresAnswer connected =
      co_await client_.connect(std::max(options_.lease, kPostgresRetry));
  if (closed_) co_return false;
  if (!connected.ok()) {
    report(connected);
    co_return false;
  }
  if (servers_->connection().notify) {
    const PostgresAnswer bounded =
        co_await ask("SET tcp_user_timeout = " + std::to_string(options_.lease.count()),
                     std::vector<std::string>());
    if (!bounded.ok()) co_return false;
  }
  look_everywhere();
  for (Tail& tail : tails_) {
    tail.unsure = true;
    tail.listens = false;
  }
  co_return true;
}

asio::awaitable<bool> PostgresReader::serve_tails() {
  for (Tail& tail : tails_) {
    bool well = true;
    if (tail.wanted && !tail.running && boot_now() >= tail.begin_at) well = co_await begin(tail);
    if (!well || closed_) co_return false;
    if (tail.reread) well = co_await answer(tail);
    if (!well || closed_) co_return false;
    if (tail.running && tail.behind) well = co_await look(tail);
    if (!well || closed_) co_return false;
  }
  co_return true;
}

PostgresReader::Row PostgresReader::row_in(const PostgresAnswer& answer) {
  if (answer.rows() == 0) return {};
  return {std::string(answer.text(0, 0)), answer.number(0, 1), answer.number(0, 2)};
}

// The horizon of docs/protocol.md rule 6: nobody may still lead by an older record.
asio::awaitable<std::optional<BrokerTime>> PostgresReader::old_enough(const Tail& tail) {
  std::vector<std::string> which{servers_->connection().topic, std::to_string(tail.log.value())};
  const PostgresAnswer newest = co_await ask(
      "SELECT stamped, value FROM " + servers_->named("record") +
          " WHERE topic = $1 AND log = $2 ORDER BY position DESC LIMIT " + std::to_string(kNewest),
      std::move(which));
  if (!newest.ok()) co_return std::nullopt;
  HistoryHorizon horizon;
  for (int row = 0; row < newest.rows() && !horizon.is_known(); ++row) {
    horizon.note(decode_record(newest.bytes(row, 1)), stamp(newest.number(row, 0)),
                 options_.lease);
  }
  co_return horizon.at() - options_.clock_error;
}

asio::awaitable<bool> PostgresReader::begin(Tail& tail) {
  const std::uint64_t turn = tail.turn;
  BrokerTime before{};
  if (!options_.watcher) {
    const std::optional<BrokerTime> found = co_await old_enough(tail);
    if (!found) co_return false;
    before = *found;
  }
  std::vector<std::string> which{servers_->connection().topic, std::to_string(tail.log.value()),
                                 std::to_string(before.time_since_epoch().count())};
  const PostgresAnswer seen = co_await ask(
      "SELECT id, next, coalesce((SELECT position FROM " + servers_->named("record") +
          " r WHERE r.topic = l.topic AND r.log = l.log AND position >= l.low ORDER BY position"
          " LIMIT 1), next), (SELECT position FROM " + servers_->named("record") +
          " r WHERE r.topic = l.topic AND r.log = l.log AND stamped <= $3"
          " ORDER BY position DESC LIMIT 1) FROM " +
          servers_->named("log") + " l WHERE topic = $1 AND log = $2",
      std::move(which));
  if (!seen.ok()) co_return false;
  if (closed_ || turn != tail.turn) co_return true;
  const Row row = row_in(seen);
  if (row.id.empty()) {
    PostgresAnswer gone;
    gone.outcome = PostgresOutcome::other_logs;
    gone.trouble = "the logs of the topic are gone; a process that starts makes them anew";
    report(gone);
    tail.begin_at = later(boot_now(), std::max(options_.lease / 2, kPostgresRetry));
    co_return true;
  }
  start_tail(tail, row, seen.is_null(0, 3) ? std::nullopt : std::optional(seen.number(0, 3)));
  co_return true;
}

void PostgresReader::start_tail(Tail& tail, const Row& row, std::optional<std::int64_t> old) {
  Below below = Below::older;
  if (options_.watcher) {
    tail.next = row.next;
  } else {
    tail.next = old.value_or(row.low);
    if (!old) below = Below::expired;
  }
  if (tail.next == 0) below = Below::nothing;
  servers_->id_of(tail.log) = tail.id = row.id;
  tail.last = {};
  tail.running = tail.behind = true;
  tail.unsure = tail.at_end = tail.listens = false;
  emit(TailStarted{tail.log, tail.next, row.next, below});
}

// Before it looks, so that it misses nothing in between.
asio::awaitable<bool> PostgresReader::listen(Tail& tail) {
  const std::uint64_t turn = tail.turn;
  const PostgresAnswer listens =
      co_await ask("LISTEN " + channel_of(tail.id), std::vector<std::string>());
  if (listens.ok() && turn == tail.turn) tail.listens = true;
  co_return listens.ok();
}

// From the record that was delivered last, if it may stand there no more; else from the next one.
asio::awaitable<bool> PostgresReader::look(Tail& tail) {
  const std::uint64_t turn = tail.turn;
  if (servers_->connection().notify && !tail.listens) {
    const bool listens = co_await listen(tail);
    if (!listens || closed_ || turn != tail.turn) co_return listens;
  }
  const bool again = tail.unsure && tail.last.position >= 0;
  const std::int64_t from = again ? tail.last.position : tail.next;
  tail.behind = false;
  std::vector<std::string> which{servers_->connection().topic, std::to_string(tail.log.value()),
                                 std::to_string(from)};
  const PostgresAnswer seen = co_await ask(
      "SELECT l.id, l.next, l.low, r.position, r.stamped, r.value FROM " +
          servers_->named("log") + " l LEFT JOIN LATERAL (SELECT * FROM " +
          servers_->named("record") +
          " WHERE topic = $1 AND log = $2 AND position >= $3 ORDER BY position LIMIT " +
          std::to_string(kPage) + ") r ON true WHERE l.topic = $1 AND l.log = $2"
          " ORDER BY r.position",
      std::move(which));
  if (closed_ || turn != tail.turn) co_return true;
  if (!seen.ok()) {
    tail.behind = true;
    co_return false;
  }
  const Row row = row_in(seen);
  if (!is_same(tail, row)) co_return true;
  servers_->reports().recovered(kReader, "the logs are read again", boot_now());
  take(tail, seen, row);
  co_return true;
}

bool PostgresReader::is_same(Tail& tail, const Row& row) {
  if (row.id != tail.id) {
    lose(tail, row.id.empty() ? GapReason::missing : GapReason::replaced);
    return false;
  }
  if (row.next < tail.next) {
    lose(tail, GapReason::truncated);
    return false;
  }
  return true;
}

void PostgresReader::take(Tail& tail, const PostgresAnswer& answer, const Row& row) {
  const std::uint64_t turn = tail.turn;
  int first = 0;
  int count = answer.is_null(0, 3) ? 0 : answer.rows();
  const bool whole = count < kPage;
  // Where it is not kept any more, nobody can tell.
  if (tail.unsure && tail.last.position >= row.low) {
    const Last& last = tail.last;
    if (count == 0 || answer.number(0, 3) != last.position ||
        answer.number(0, 4) != last.stamped || answer.bytes(0, 5) != last.value) {
      return lose(tail, GapReason::truncated);
    }
    first = 1;
  }
  tail.unsure = false;
  if (first < count && tail.at_end) note_unheard();
  for (int one = first; one < count; ++one) {
    const std::int64_t position = answer.number(one, 3);
    if (position != tail.next) return lose(tail, GapReason::out_of_range);
    deliver(tail, position, answer.number(one, 4), answer.bytes(one, 5));
    if (closed_ || turn != tail.turn) return;
  }
  if (!whole) {
    tail.behind = true;
  } else if (tail.next < row.next) {
    lose(tail, GapReason::out_of_range);  // somebody removed what was not read
  } else if (!std::exchange(tail.at_end, true)) {
    emit(LogPosition{tail.log, row.next});
  }
}

void PostgresReader::take_notifications() {
  while (!closed_) {
    const auto text = client_.next_notification();
    if (!text) return;
    take_notification(*text);
  }
}

// Behind some proxies of connections.
void PostgresReader::note_unheard() {
  constexpr int kMany = 5;
  if (!servers_->connection().notify || ++unheard_ < kMany) return;
  servers_->reports().report("listener", 0, Severity::warning,
                             "records come, and no notification of them; behind PgBouncer in "
                             "transaction mode add notify=off to the address",
                             boot_now());
}

// "LOG POSITION STAMPED VALUE", or without the value.
void PostgresReader::take_notification(const PostgresNotification& notification) {
  std::string_view text = notification.text;
  const auto log = take_number(text);
  const auto position = take_number(text);
  const auto stamped = take_number(text);
  if (!log || !position || !stamped || *log >= static_cast<std::int64_t>(tails_.size())) return;
  Tail& tail = tails_[static_cast<std::size_t>(*log)];
  if (!tail.running || !tail.listens || notification.channel != channel_of(tail.id)) return;
  heard_ = boot_now();
  unheard_ = 0;
  if (*position < tail.next) return;
  if (tail.behind || tail.unsure || *position > tail.next || text.empty()) {
    tail.behind = true;
    return;
  }
  deliver(tail, *position, *stamped, std::string(text));
}

void PostgresReader::deliver(Tail& tail, std::int64_t position, std::int64_t stamped,
                             std::string value) {
  tail.next = position + 1;
  tail.last = {position, stamped, std::move(value)};
  const Decoded decoded = decode_record(tail.last.value);
  emit(Received{tail.log, position, stamp(stamped), true, &decoded});
}

asio::awaitable<bool> PostgresReader::answer(Tail& tail) {
  const RereadRequest request = *tail.reread;
  const std::uint64_t turn = tail.turn;
  std::vector<std::string> which{servers_->connection().topic, std::to_string(tail.log.value()),
                                 std::to_string(request.offset)};
  const PostgresAnswer seen = co_await ask(
      "SELECT l.id, l.next, l.low, r.stamped, r.value FROM " + servers_->named("log") +
          " l LEFT JOIN " + servers_->named("record") +
          " r ON r.topic = l.topic AND r.log = l.log AND r.position = $3"
          " WHERE l.topic = $1 AND l.log = $2",
      std::move(which));
  if (!seen.ok()) co_return false;
  if (closed_ || turn != tail.turn) co_return true;
  if (tail.reread && tail.reread->question == request.question) tail.reread.reset();
  if (tail.running && !is_same(tail, row_in(seen))) co_return true;
  Reread found{tail.log, request.question, request.offset, std::nullopt};
  if (seen.rows() == 1 && !seen.is_null(0, 3)) {
    found.found = identity_of(decode_record(seen.bytes(0, 4)), stamp(seen.number(0, 3)));
  }
  emit(found);
  co_return true;
}

}  // namespace neliroute
