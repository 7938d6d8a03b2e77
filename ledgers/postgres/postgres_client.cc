#include "ledgers/postgres/postgres_client.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/postgres/postgres_schema.h"
#include "net/await.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;

/// Threads that connect: of those that are given up each ends by its own timeout.
constexpr std::size_t kAttemptsMost = 4;
/// After more lock timeouts in a row than these the server is left. They take longer than a lease,
/// so an owner that leaves has none to lose.
constexpr int kHeldMost = 4;

/// libpq ends its messages with a newline, and writes several lines for several hosts.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char one : text) {
    const bool blank = one == '\n' || one == '\t' || one == ' ';
    if (!blank) {
      line += one;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

PostgresOutcome outcome_of(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return PostgresOutcome::ok;
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state = field == nullptr ? "" : field;
  if (state == kOtherLogs) return PostgresOutcome::other_logs;
  // invalid_schema_name, undefined_table, undefined_function
  if (state == "3F000" || state == "42P01" || state == "42883") return PostgresOutcome::missing;
  if (state == "42501") return PostgresOutcome::denied;
  if (state == "25006") return PostgresOutcome::elsewhere;  // read_only_sql_transaction
  if (state == "55P03") return PostgresOutcome::held;       // lock_not_available
  // The server ends this connection: 57P01 to 57P05, or the connection failed.
  if (state.empty() || state.starts_with("57P") || state.starts_with("08")) {
    return PostgresOutcome::unreachable;
  }
  return PostgresOutcome::failed;
}

std::string trouble_of(const PGresult* result) {
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return one_line(primary != nullptr ? primary : PQresultErrorMessage(result));
}

}  // namespace

std::int64_t PostgresAnswer::number(int row, int column) const {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  const auto [read_to, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && read_to == digits.data() + digits.size() ? value : 0;
}

std::string PostgresAnswer::bytes(int row, int column) const {
  std::size_t size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> plain(
      PQunescapeBytea(reinterpret_cast<const unsigned char*>(
                          PQgetvalue(result_.get(), row, column)),
                      &size),
      PQfreemem);
  return plain ? std::string(reinterpret_cast<const char*>(plain.get()), size) : std::string();
}

PostgresClient::PostgresClient(asio::any_io_executor strand,
                               std::shared_ptr<PostgresServers> servers, int patient)
    : strand_(std::move(strand)),
      servers_(std::move(servers)),
      attempted_(std::make_shared<asio::steady_timer>(strand_)),
      overdue_(strand_),
      aside_(strand_, kAttemptsMost),
      patient_(patient) {}

bool PostgresClient::connected() {
  if (!connection_) return false;
  // The first time it may read why the server ended it, and only then that it did.
  const bool well = servers_->uses(host_) && PQconsumeInput(connection_.get()) != 0 &&
                    PQconsumeInput(connection_.get()) != 0 &&
                    PQstatus(connection_.get()) == CONNECTION_OK;
  if (!well) {
    drop();
    return false;
  }
  read_notifications();
  return true;
}

void PostgresClient::begin() {
  attempt_ = std::make_shared<Attempt>();
  attempt_->changes = servers_->changes();
  auto parameters = libpq_parameters(servers_->connection(), servers_->order(boot_now()));
  const bool begun = aside_.run([parameters = std::move(parameters), attempt = attempt_,
                                 waiting = std::weak_ptr(attempted_)]() -> SideThreads::Then {
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : parameters) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    attempt->connection.reset(PQconnectdbParams(names.data(), values.data(), 0));
    return [attempt, waiting] {
      attempt->done = true;
      if (const auto timer = waiting.lock()) timer->cancel();
    };
  });
  if (!begun) attempt_.reset();
}

// Connecting counts as a request: while no server answers, nothing else is asked.
void PostgresClient::count(const PostgresAnswer& answer, LocalTime asked) {
  if (closed_) return;
  StoreStatistics& statistics = servers_->statistics();
  ++statistics.requests;
  if (answer.outcome == PostgresOutcome::unreachable) {
    ++statistics.unanswered;
  } else {
    statistics.note_answer(asked, !answer.ok(), boot_now());
  }
}

asio::awaitable<PostgresAnswer> PostgresClient::connect(milliseconds within) {
  const LocalTime asked = boot_now();
  PostgresAnswer answer = co_await attempt(within);
  count(answer, asked);
  co_return answer;
}

asio::awaitable<PostgresAnswer> PostgresClient::attempt(milliseconds within) {
  PostgresAnswer answer;
  if (closed_) co_return answer;
  drop();
  // One that waits for a server that was left meanwhile may wait for long.
  if (attempt_ && attempt_->changes != servers_->changes()) attempt_.reset();
  if (!attempt_) begin();
  if (!attempt_) {
    answer.trouble = "the system has no thread left";
    co_return answer;
  }
  if (!attempt_->done) co_await pause(*attempted_, within);
  if (closed_) co_return answer;
  if (!attempt_->done) {
    answer.trouble = "not connected within " + std::to_string(within.count()) + " ms";
    co_return answer;
  }
  const auto attempt = std::exchange(attempt_, nullptr);
  connection_ = std::move(attempt->connection);
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    servers_->go_on();
    answer.trouble = one_line(PQerrorMessage(connection_.get()));
    if (PQconnectionNeedsPassword(connection_.get()) != 0) {
      answer.outcome = PostgresOutcome::denied;
    } else if (answer.trouble.find("read-only") != std::string::npos) {
      answer.outcome = PostgresOutcome::elsewhere;
    }
    drop();
    co_return answer;
  }
  host_ = libpq_host_index(servers_->connection(), PQhost(connection_.get()),
                           PQport(connection_.get()));
  servers_->use(host_);
  PQsetnonblocking(connection_.get(), 1);
  PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
  const int own = fcntl(PQsocket(connection_.get()), F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    answer.trouble = "the system has no file left";
    drop();
    co_return answer;
  }
  socket_.emplace(strand_, own);
  answer.outcome = PostgresOutcome::ok;
  co_return answer;
}

void PostgresClient::wake() {
  if (socket_ && waiting_) socket_->cancel();
}

void PostgresClient::drop() {
  overdue_.cancel();
  socket_.reset();
  connection_.reset();
  notifications_.clear();
}

void PostgresClient::close() {
  closed_ = true;
  attempted_->cancel();
  attempt_.reset();
  aside_.close(milliseconds{0});
  drop();
}

asio::awaitable<bool> PostgresClient::ready(bool to_write, LocalTime due) {
  if (!socket_) co_return false;
  overdue_.expires_after(std::max(due - boot_now(), microseconds{0}));
  overdue_.async_wait([this, alive = std::weak_ptr(alive_),
                       wait = ++waits_](const boost::system::error_code& error) {
    // It may be called although the wait has ended meanwhile.
    if (!error && !alive.expired() && wait == waits_ && socket_) socket_->cancel();
  });
  const auto kind = to_write ? asio::posix::stream_descriptor::wait_write
                             : asio::posix::stream_descriptor::wait_read;
  const Outcome outcome = co_await await_moved([this, kind](Stream::Moved then) {
    socket_->async_wait(
        kind, [then = std::move(then)](boost::system::error_code error) { then(error, 0); });
  });
  overdue_.cancel();
  ++waits_;
  co_return !outcome.error && socket_.has_value();
}

asio::awaitable<bool> PostgresClient::sent(LocalTime due) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left <= 0) co_return left == 0;
    // What the server sends meanwhile must be read, or it may read no more.
    const bool writable = co_await ready(true, std::min(due, later(boot_now(), milliseconds{50})));
    if (!connection_ || PQconsumeInput(connection_.get()) == 0) co_return false;
    if (!writable && boot_now() >= due) co_return false;
  }
}

asio::awaitable<bool> PostgresClient::received(LocalTime due) {
  while (PQisBusy(connection_.get()) != 0) {
    const bool readable = co_await ready(false, due);
    if (!readable || !connection_ || PQconsumeInput(connection_.get()) == 0) co_return false;
  }
  co_return true;
}

asio::awaitable<PostgresAnswer> PostgresClient::ask(std::string statement,
                                                    std::vector<std::string> parameters,
                                                    milliseconds within) {
  if (!connection_) co_return PostgresAnswer{};
  const LocalTime asked = boot_now();
  PostgresAnswer answer =
      co_await request(std::move(statement), std::move(parameters), within);
  count(answer, asked);
  co_return answer;
}

asio::awaitable<PostgresAnswer> PostgresClient::request(std::string statement,
                                                        std::vector<std::string> parameters,
                                                        milliseconds within) {
  const LocalTime due = later(boot_now(), within);
  std::vector<const char*> values;
  for (const std::string& one : parameters) values.push_back(one.c_str());
  const int begun =
      PQsendQueryParams(connection_.get(), statement.c_str(), static_cast<int>(values.size()),
                        nullptr, values.data(), nullptr, nullptr, 0);
  bool well = begun != 0;
  if (well) well = co_await sent(due);
  PostgresAnswer answer;
  while (well) {
    well = co_await received(due);
    if (!well) break;
    PGresult* const result = PQgetResult(connection_.get());
    if (result == nullptr) break;
    answer.take(result);
    answer.outcome = outcome_of(result);
    if (!answer.ok()) answer.trouble = trouble_of(result);
  }
  if (!well) co_return gone(boot_now() < due);
  // A commit that waits for standbys which follow another server keeps its row for ever.
  const bool held = answer.outcome == PostgresOutcome::held;
  if (!held) unanswered_ = 0;
  held_ = held ? held_ + 1 : 0;
  read_notifications();
  if (held_ > kHeldMost) {
    held_ = 0;
    servers_->leave(host_, boot_now());
  }
  if (answer.outcome == PostgresOutcome::elsewhere) servers_->leave(host_, boot_now());
  if (answer.outcome == PostgresOutcome::unreachable) drop();
  co_return answer;
}

PostgresAnswer PostgresClient::gone(bool in_time) {
  PostgresAnswer answer;
  answer.trouble = in_time && connection_ ? one_line(PQerrorMessage(connection_.get()))
                                          : "no answer in time";
  if (!in_time && ++unanswered_ > patient_) {
    unanswered_ = 0;
    servers_->leave(host_, boot_now());
  }
  drop();
  return answer;
}

asio::awaitable<void> PostgresClient::wait(milliseconds at_most) {
  if (!connection_ || !notifications_.empty()) co_return;
  waiting_ = true;
  const bool readable = co_await ready(false, later(boot_now(), at_most));
  waiting_ = false;
  if (!readable || !connection_) co_return;
  if (PQconsumeInput(connection_.get()) == 0) {
    drop();
  } else {
    read_notifications();
  }
}

void PostgresClient::read_notifications() {
  for (;;) {
    const std::unique_ptr<PGnotify, void (*)(void*)> one(PQnotifies(connection_.get()), PQfreemem);
    if (!one) return;
    servers_->statistics().heard_at = boot_now();
    notifications_.push_back({one->relname, one->extra});
  }
}

std::optional<PostgresNotification> PostgresClient::next_notification() {
  if (notifications_.empty()) return std::nullopt;
  PostgresNotification first = std::move(notifications_.front());
  notifications_.pop_front();
  return first;
}

}  // namespace neliroute
