#include "tool/exec/notifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <neliroute/clock.h>
#include <utility>

#include "tool/exec/one_request.h"
#include "tool/print/log.h"

namespace neliroute::tool {
namespace {

constexpr int kTries = 3;
// Before the second try, and four times as long before the third.
constexpr milliseconds kBackOff{100};
// For an event whose time was over before it was its turn.
constexpr milliseconds kLeast{1000};

}  // namespace

struct Notifier::Entry {
  Entry(boost::asio::io_context& io, std::string json, CompletionToken waits, milliseconds left)
      : text(std::move(json)),
        token(std::move(waits)),
        until(Clock::now() + left),
        limit(io, until),
        again(io) {}
  std::string text;
  CompletionToken token;
  Clock::time_point until;
  boost::asio::steady_timer limit;
  boost::asio::steady_timer again;
};

Notifier::Notifier(NotifierOptions options, std::function<void()> hung)
    : options_(std::move(options)),
      hung_(std::move(hung)),
      work_(boost::asio::make_work_guard(io_)),
      thread_([this] { io_.run(); }) {}

Notifier::~Notifier() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void Notifier::finish(milliseconds bound) {
  std::promise<void> idle;
  boost::asio::post(io_, [this, &idle] {
    if (queues_.empty()) return idle.set_value();
    on_idle_ = [&idle] { idle.set_value(); };
  });
  idle.get_future().wait_for(bound);
  io_.stop();
  thread_.join();  // before `idle` is gone
}

void Notifier::tell(ProgramEvent event, CompletionToken token) {
  milliseconds left = options_.each;
  if (event.until != kNever) {
    const auto barrier = std::chrono::duration_cast<milliseconds>(event.until - boot_now());
    left = std::clamp(barrier, milliseconds{0}, left);
  }
  auto entry = std::make_shared<Entry>(io_, json_of(event, ++last_), std::move(token), left);
  boost::asio::post(io_, [this, partition = event.partition, entry = std::move(entry)]() mutable {
    take(partition, std::move(entry));
  });
}

void Notifier::take(Partition partition, EntryPtr entry) {
  std::deque<EntryPtr>& queue = queues_[partition];
  if (queue.size() >= options_.queue) {
    entry->token.complete();
    if (std::exchange(told_hung_, true)) return;
    log(Severity::error, fmt::format("--notify {}: {} events of partition {} are not answered: the "
                                     "program counts as hung", options_.url.text, queue.size(),
                                     partition.value()));
    return hung_();
  }
  entry->limit.async_wait([weak = std::weak_ptr(entry)](const boost::system::error_code& error) {
    const auto late = weak.lock();
    if (late && !error) late->token.complete();
  });
  queue.push_back(std::move(entry));
  if (queue.size() > 1) return;
  ready_.push_back(partition);
  send_next();
}

void Notifier::send_next() {
  while (on_the_way_ < options_.at_once && !ready_.empty()) {
    const Partition partition = ready_.front();
    ready_.pop_front();
    ++on_the_way_;
    send(partition, 1);
  }
}

void Notifier::send(Partition partition, int attempt) {
  const EntryPtr& entry = queues_.at(partition).front();
  const auto left = std::chrono::duration_cast<milliseconds>(entry->until - Clock::now());
  post_json(io_.get_executor(), options_.url, entry->text, std::max(kLeast, left),
            [this, partition, attempt](boost::system::error_code error, unsigned status) {
              on_answer(partition, attempt, error, status);
            });
}

void Notifier::on_answer(Partition partition, int attempt, boost::system::error_code error,
                         unsigned status) {
  if (!error && status >= 200 && status < 300) return end_first(partition);
  complain(error ? error.message() : fmt::format("the answer is {}", status));
  const bool over = Clock::now() >= queues_.at(partition).front()->until;
  if (attempt >= kTries || over) return end_first(partition);
  send_again(partition, attempt + 1);
}

void Notifier::send_again(Partition partition, int attempt) {
  const EntryPtr& entry = queues_.at(partition).front();
  entry->again.expires_after(attempt == 2 ? kBackOff : 4 * kBackOff);
  entry->again.async_wait([this, partition, attempt](const boost::system::error_code& error) {
    if (!error) send(partition, attempt);
  });
}

void Notifier::end_first(Partition partition) {
  const auto found = queues_.find(partition);
  const EntryPtr ended = std::move(found->second.front());
  ended->limit.cancel();
  ended->token.complete();
  found->second.pop_front();
  --on_the_way_;
  if (found->second.empty()) {
    queues_.erase(found);
  } else {
    ready_.push_back(partition);
  }
  send_next();
  if (queues_.empty() && on_idle_) std::exchange(on_idle_, nullptr)();
}

void Notifier::complain(const std::string& what) {
  if (!complaints_.insert(what).second) return;
  log(Severity::warning, fmt::format("--notify {}: {}; an event is sent {} times at most, and not "
                                     "waited for longer than {} ms", options_.url.text, what,
                                     kTries, options_.each.count()));
}

}  // namespace neliroute::tool
