// What one join costs when a topic has many partitions: one process leads all of them, another one
// joins and takes half of them, picked at random. Both are whole engines on KafkaLedgers, on the
// embedded broker. Only the group's assignments are simulated, and are immediate: the broker's
// group and librdkafka's assignor take minutes for so many partitions, on threads of their own.
//
//     large_m [--partitions 1024,10000,65536] [--logs 4] [--json FILE]
//
// A turn is what the strand's thread does between two waits for an event, in CPU time: other load
// on the machine does not count. During a turn, no heartbeat is answered and no record read.
#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <neliroute/clock.h>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/cpu_clock.h"
#include "embedded_broker/embedded_broker.h"
#include "ledgers/kafka/client/kafka_statistics.h"
#include "ledgers/kafka/kafka_ledger.h"
#include "ledgers/kafka/topic/topic_setup.h"
#include "neli_core/claimed/claim_protocol.h"
#include "router/owner/owning_reader.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr auto kPatience = 240s;
constexpr auto kReadEvery = 1ms;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "large_m: %s\n", what.c_str());
  std::exit(1);
}

template <class Value>
Value must(Result<Value> result) {
  if (!result) fail(result.error().message());
  return std::move(*result);
}

double cpu_ms() { return 1e3 * bench::thread_cpu_seconds(); }

/// An io_context on a thread of its own, which measures its turns.
class Loop {
 public:
  Loop() : thread_([this] { run(); }) {}
  ~Loop() { stop(); }
  void stop() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] asio::any_io_executor executor() { return io_.get_executor(); }
  /// Since the last call.
  [[nodiscard]] double take_longest_ms() { return longest_ms_.exchange(0); }

 private:
  void run() {
    while (!io_.stopped()) {
      const double before = cpu_ms();
      io_.run_one();
      const double took = cpu_ms() - before;
      if (took > longest_ms_.load()) longest_ms_.store(took);
    }
  }

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::atomic<double> longest_ms_{0};
  std::thread thread_;
};

struct Written {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> records{0};
};

/// A ledger that counts writes; the bench is its group.
class CountedLedger final : public Ledger, public GroupPort {
 public:
  CountedLedger(std::unique_ptr<Ledger> ledger, Written& written)
      : ledger_(std::move(ledger)), written_(written) {}
  void start(EventSink events, NoticeSink notices) override {
    suggest = [events](const Event& event) { events(event, boot_now()); };
    ledger_->start(std::move(events), std::move(notices));
  }
  void on_refused(std::function<void(const Error&)> handler) override {
    ledger_->on_refused(std::move(handler));
  }
  void write(Write write) override {
    written_.bytes += write.value.size();
    ++written_.records;
    ledger_->write(std::move(write));
  }
  void restart_tail(Log log) override { ledger_->restart_tail(log); }
  void reread(const RereadRequest& request) override { ledger_->reread(request); }
  void subscribe() override { subscribed = true; }
  void finish_rebalances(std::uint32_t count) override { rebalances += count; }
  void expedite(milliseconds) override {}
  void leave_group() override {}
  void stay_away(bool) override {}
  void count_others(std::function<void(std::optional<std::size_t>)> answer) override {
    answer(std::nullopt);
  }
  void broadcast() override {}
  void close(LocalTime deadline, std::function<void()> done) override {
    ledger_->close(deadline, std::move(done));
  }

  std::function<void(const Event&)> suggest;  ///< on the strand
  std::atomic<bool> subscribed{false};
  std::atomic<std::uint32_t> rebalances{0};  ///< that may proceed

 private:
  std::unique_ptr<Ledger> ledger_;
  Written& written_;
};

/// One process, with a thread that looks keys up now and then.
class Owner : Listener {
 public:
  Owner(std::uint64_t id, const KafkaOptions& kafka) : led_(*kafka.partitions, false) {
    const TopicFacts facts = must(prepare_topic(kafka));
    TimingRequest request;
    request.session = 10s;
    request.interval = 2s;
    request.lease = 60s;
    const Timing timing = must(derive_timing(request, facts.session));
    CoreOptions core;
    core.id = ProcessId{id};
    core.interval = timing.interval;
    core.lease = timing.lease;
    core.clock_error = timing.clock_error;
    core.process = {"owner-" + std::to_string(id), "127.0.0.1:" + std::to_string(7000 + id), {}};
    core.settings = {kafka.group, facts.partitions, facts.partitions, facts.logs, "xxh3",
                     "non_exclusive"};
    const Strand strand(loop_.executor());
    strand_.emplace(strand);
    auto ledger = must(KafkaLedger::open(
        strand, {kafka, facts, timing, std::make_shared<KafkaStatistics>()}));
    auto counted = std::make_unique<CountedLedger>(std::move(ledger), written);
    ledger_ = counted.get();
    ReaderParts reading{strand,
                        std::move(counted),
                        directory_options(core),
                        Peer{core.id, core.process},
                        SlotSpace{SlotCount{core.settings.slots}},
                        [](const Notice& notice) {
                          if (notice.severity == Severity::info) return;
                          std::fprintf(stderr, "large_m: %s\n", notice.text.c_str());
                        },
                        boot_now};
    OwnerParts parts{std::make_unique<ClaimProtocol>(must(ClaimProtocol::make(core))),
                     core.settings, ledger_};
    owner_ = std::make_shared<OwningReader>(std::move(reading), std::move(parts));
    listening_ = owner_->subscribe(*this);
    owner_->start();
    reader_ = std::thread([this] { read(); });
  }
  ~Owner() {
    reading_ = false;
    reader_.join();
    loop_.stop();
    listening_->cancel();
    owner_.reset();
  }
  void acquired(const Transition& transition) override { note(transition, true); }
  void draining(const Transition& transition) override { note(transition, true); }
  void stopped(const Transition& transition, BarrierToken) override { note(transition, false); }
  [[nodiscard]] std::int64_t leads() const { return leads_; }
  [[nodiscard]] bool subscribed() const { return ledger_->subscribed; }
  [[nodiscard]] std::uint32_t rebalances() const { return ledger_->rebalances; }
  void suggest(const Event& event) {
    asio::post(*strand_, [this, event] { ledger_->suggest(event); });
  }
  [[nodiscard]] double take_longest_ms() { return loop_.take_longest_ms(); }

  Written written;

 private:
  void note(const Transition& transition, bool leads) {
    const std::size_t p = transition.partition.value();
    if (led_[p] == leads) return;
    led_[p] = leads;
    leads_ += leads ? 1 : -1;
  }
  void read() {
    std::uint32_t slot = 0;
    while (reading_) {
      static_cast<void>(owner_->view().route(Slot{slot}, boot_now()));
      slot = (slot + 7919) % owner_->view().partition_count();
      std::this_thread::sleep_for(kReadEvery);
    }
  }

  std::vector<bool> led_;  ///< the strand's
  std::atomic<std::int64_t> leads_{0};
  Loop loop_;
  std::optional<Strand> strand_;
  CountedLedger* ledger_ = nullptr;  ///< the owner's
  std::shared_ptr<OwningReader> owner_;
  std::shared_ptr<ListenerSlot> listening_;
  std::atomic<bool> reading_{true};
  std::thread reader_;
};

template <class Condition>
double await(const char* what, const Condition& holds) {
  const auto began = std::chrono::steady_clock::now();
  while (!holds()) {
    if (std::chrono::steady_clock::now() - began > kPatience) fail(std::string("no ") + what);
    std::this_thread::sleep_for(5ms);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

boost::json::object measure(std::uint32_t partitions, std::uint32_t logs) {
  Loop broker_loop;
  EmbeddedBrokerOptions broker_options;
  broker_options.port = 0;
  broker_options.topics = {{"large", partitions}};
  const auto broker = must(EmbeddedBroker::open(broker_loop.executor(), broker_options));
  KafkaOptions kafka;
  kafka.brokers = broker->address();
  kafka.topic = "large";
  kafka.group = "large";
  kafka.partitions = partitions;
  kafka.logs = logs;
  boost::json::object row{{"partitions", partitions}, {"logs", logs}};
  {
    Owner first(1, kafka);
    std::vector<Partition> all;
    std::vector<Partition> half;
    std::mt19937_64 random(partitions);
    for (std::uint32_t p = 0; p < partitions; ++p) all.push_back(Partition{p});
    std::sample(all.begin(), all.end(), std::back_inserter(half), partitions / 2, random);
    static_cast<void>(await("history read", [&] { return first.subscribed(); }));
    first.suggest(GroupAssigned{PartitionRanges::of(all)});
    row["start_s"] = await("owner of everything", [&] { return first.leads() == partitions; });
    row["start_longest_ms"] = first.take_longest_ms();
    row["start_bytes"] = first.written.bytes.exchange(0);
    row["start_records"] = first.written.records.exchange(0);
    Owner second(2, kafka);
    static_cast<void>(await("history read by the newcomer", [&] { return second.subscribed(); }));
    first.suggest(GroupRevoked{PartitionRanges::of(half), false});
    static_cast<void>(await("answer to the rebalance", [&] { return first.rebalances() == 2; }));
    second.suggest(GroupAssigned{PartitionRanges::of(half)});
    row["join_s"] = await("two owners of half each", [&] {
      return second.leads() == partitions / 2 && first.leads() == partitions - partitions / 2;
    });
    row["join_longest_owner_ms"] = first.take_longest_ms();
    row["join_longest_newcomer_ms"] = second.take_longest_ms();
    row["join_bytes"] = first.written.bytes + second.written.bytes;
    row["join_records"] = first.written.records + second.written.records;
  }
  broker_loop.stop();
  return row;
}

std::uint32_t number(const std::string& text, std::uint32_t most) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0 || value > most) {
    std::fprintf(stderr, "large_m: %s: expected 1 to %u\n", text.c_str(), most);
    std::exit(2);
  }
  return value;
}

int run(const std::vector<std::string>& words) {
  std::string partitions = "1024,10000,65536";
  std::uint32_t logs = kLogsDefault;
  std::optional<std::string> json;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--partitions") {
      partitions = words[i + 1];
    } else if (words[i] == "--logs") {
      logs = number(words[i + 1], kLogCountMax);
    } else if (words[i] == "--json") {
      json = words[i + 1];
    } else {
      std::fprintf(stderr, "large_m: %s?\n", words[i].c_str());
      return 2;
    }
  }
  boost::json::array rows;
  std::istringstream list(partitions);
  for (std::string one; std::getline(list, one, ',');) {
    rows.push_back(measure(number(one, kPartitionCountMax), logs));
    std::printf("%s\n", boost::json::serialize(rows.back()).c_str());
    std::fflush(stdout);
  }
  if (json) std::ofstream(*json) << boost::json::serialize(boost::json::object{{"rows", rows}});
  return 0;
}

}  // namespace
}  // namespace neliroute

int main(int argc, char** argv) {
  return neliroute::run(std::vector<std::string>(argv + 1, argv + argc));
}
