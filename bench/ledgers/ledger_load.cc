// How much a ledger carries: members that write to one log and read all of it, without the
// protocol. Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <neliroute/clock.h>
#include <string>
#include <thread>
#include <vector>

#include "bench/ledgers/load_client.h"
#include "ledgers/ledgers.h"
#include "neli_core/timing.h"

namespace {

using namespace neliroute;
using bench::Counts;
using bench::Load;
using bench::LoadClient;
using std::chrono::seconds;

constexpr seconds kWithin{60};
constexpr seconds kWarmUp{2};

struct Options {
  std::string ledger;
  std::uint64_t clients = 1;
  std::int64_t every_ms = 0;
  std::int64_t seconds = 10;
  Load load;
};

[[noreturn]] void end(const std::string& problem) {
  std::fprintf(stderr, "ledger_load: error: %s\n", problem.c_str());
  std::exit(1);
}

/// All members, on two threads: as many as this machine has cores, and its server needs them, too.
class Members {
 public:
  explicit Members(const Options& options) : options_(options) {
    threads_.emplace_back([this] { io_.run(); });
    threads_.emplace_back([this] { io_.run(); });
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    on_each([](LoadClient& client, const std::shared_ptr<std::promise<bool>>& done) {
      client.close(later(boot_now(), seconds(5)), [done] { done->set_value(true); });
    });
    for (Member& one : members_) {
      boost::asio::post(one.strand, [client = std::move(one.client)]() mutable { client.reset(); });
    }
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(const LedgerAddress& address) {
    LedgerNeeds needs;
    needs.assignment = Assignment::assigner;
    needs.logs = 1;
    const Timing timing = watcher_timing({});
    for (std::uint64_t number = 0; number < options_.clients; ++number) {
      auto store = prepare_store(address, needs);
      if (!store) end(store.error().message());
      auto strand = boost::asio::make_strand(io_);
      const ProcessId id{number + 1};
      auto ledger = (*store)->open(strand, timing, id);
      if (!ledger) end(ledger.error().message());
      members_.push_back({strand, std::make_shared<LoadClient>(strand, std::move(ledger->ledger),
                                                               id, options_.load)});
    }
    on_each([](LoadClient& client, const std::shared_ptr<std::promise<bool>>& done) {
      client.start([done] { done->set_value(true); });
    });
  }

  void write() {
    on_each([this](LoadClient& client, const std::shared_ptr<std::promise<bool>>& done) {
      client.write(options_.clients);
      done->set_value(true);
    });
  }

  void count() {
    on_each([](LoadClient& client, const std::shared_ptr<std::promise<bool>>& done) {
      client.count();
      done->set_value(true);
    });
  }

  Counts stop() {
    Counts all;
    on_each([&](LoadClient& client, const std::shared_ptr<std::promise<bool>>& done) {
      const Counts one = client.stop();
      const std::lock_guard lock(mutex_);
      all.stored += one.stored;
      all.delivered += one.delivered;
      all.failed += one.failed;
      all.read_back.insert(all.read_back.end(), one.read_back.begin(), one.read_back.end());
      done->set_value(true);
    });
    return all;
  }

 private:
  struct Member {
    boost::asio::strand<boost::asio::io_context::executor_type> strand;
    std::shared_ptr<LoadClient> client;
  };

  /// Each on its strand; returns when all have set their promise.
  template <class Work>
  void on_each(const Work& work) {
    std::vector<std::future<bool>> waiting;
    for (Member& one : members_) {
      auto done = std::make_shared<std::promise<bool>>();
      waiting.push_back(done->get_future());
      boost::asio::post(one.strand,
                        [&work, client = one.client, done] { work(*client, done); });
    }
    for (std::future<bool>& one : waiting) {
      if (one.wait_for(kWithin) != std::future_status::ready) end("a member does not answer");
    }
  }

  const Options& options_;
  boost::asio::io_context io_{2};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::vector<std::thread> threads_;
  std::vector<Member> members_;
  std::mutex mutex_;
};

double in_ms(std::vector<microseconds>& sorted, double part) {
  if (sorted.empty()) return -1;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[at].count()) / 1000;
}

void measure(const Options& options) {
  KafkaConnection kafka;
  const auto address = ledger_address(options.ledger, kafka);
  if (!address) end(address.error().message());
  Members members(options);
  members.start(*address);
  members.write();
  std::this_thread::sleep_for(kWarmUp);  // the length of a window is what is asked for
  const LocalTime began = boot_now();
  members.count();
  std::this_thread::sleep_for(seconds(options.seconds));
  Counts all = members.stop();
  const double passed = std::chrono::duration<double>(boot_now() - began).count();
  std::ranges::sort(all.read_back);
  const boost::json::object row{
      {"clients", options.clients},
      {"every_ms", options.every_ms},
      {"bytes", options.load.bytes},
      {"seconds", passed},
      {"stored_s", static_cast<double>(all.stored) / passed},
      {"delivered_s", static_cast<double>(all.delivered) / passed},
      {"failed", all.failed},
      {"read_back_ms", {{"median", in_ms(all.read_back, 0.5)}, {"p99", in_ms(all.read_back, 0.99)},
                        {"worst", in_ms(all.read_back, 1)}}}};
  std::printf("%s\n", boost::json::serialize(row).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Members that write to one log of a ledger, and read all of it.");
  app.add_option("--ledger", options.ledger, "its address")->required();
  app.add_option("--clients", options.clients, "how many members")->check(CLI::Range(1, 1000));
  app.add_option("--every-ms", options.every_ms, "each writes so often; 0: as fast as it goes")
      ->check(CLI::Range(0, 60'000));
  app.add_option("--in-flight", options.load.in_flight, "as fast as it goes: records of a member")
      ->check(CLI::Range(1, 1000));
  app.add_option("--bytes", options.load.bytes, "of a record")->check(CLI::Range(300, 60'000));
  app.add_option("--seconds", options.seconds, "to count for")->check(CLI::Range(1, 600));
  CLI11_PARSE(app, argc, argv);
  options.load.every = milliseconds(options.every_ms);
  measure(options);
  return 0;
}
