#include "ledgers/memory/prepared_memory.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/memory/memory_ledger.h"

namespace neliroute {
namespace {

constexpr milliseconds kRetention{3'600'000};

BrokerTime stamp_now() {
  return BrokerTime{std::chrono::floor<milliseconds>(wall_now().time_since_epoch())};
}

struct NamedStore {
  MemoryStore store;
  std::uint32_t partitions;  ///< of who made it
};

class Names {
 public:
  static Names& all() {
    static Names names;
    return names;
  }
  /// Null: nobody has it open.
  std::shared_ptr<NamedStore> find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = stores_.find(name);
    return found == stores_.end() ? nullptr : found->second.lock();
  }
  /// Another thread's, if that was faster.
  std::shared_ptr<NamedStore> make(const std::string& name, const LedgerFacts& facts) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<NamedStore>& known = stores_[name];
    if (auto there = known.lock()) return there;
    // MemoryStore cannot be moved, so the aggregate is made in place.
    std::shared_ptr<NamedStore> made(
        new NamedStore{{facts.logs, stamp_now, kRetention}, facts.partitions});
    known = made;
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<NamedStore>> stores_;
};

class PreparedMemory final : public PreparedStore {
 public:
  PreparedMemory(std::shared_ptr<NamedStore> store, LedgerFacts facts, bool watcher)
      : store_(std::move(store)), facts_(std::move(facts)), watcher_(watcher) {}

  [[nodiscard]] const LedgerFacts& facts() const noexcept override { return facts_; }

  [[nodiscard]] Result<std::vector<Notice>> check(const Timing& timing) const override {
    if (kRetention >= 10 * timing.lease) return std::vector<Notice>{};
    return Error{Errc::ledger_unfit,
                 "a ledger in memory keeps records for " + std::to_string(kRetention.count()) +
                     " ms, less than 10 x the lease of " + std::to_string(timing.lease.count()) +
                     " ms; lower `timing.lease`"};
  }

  [[nodiscard]] Result<OpenedLedger> open(boost::asio::any_io_executor strand, const Timing& timing,
                                          ProcessId /*self*/) override {
    OpenedLedger opened;
    opened.ledger = std::make_unique<MemoryLedger>(
        std::move(strand), std::shared_ptr<MemoryStore>(store_, &store_->store),
        MemoryLedgerOptions{timing.lease, watcher_});
    return opened;
  }

 private:
  std::shared_ptr<NamedStore> store_;
  LedgerFacts facts_;
  bool watcher_;
};

Error missing(const std::string& name) {
  return {Errc::ledger_unfit, "nothing in this program has opened the ledger memory:" + name +
                                  " as an owner; open a Router on it first"};
}

LedgerFacts wanted(const LedgerNeeds& needs) {
  LedgerFacts facts;
  facts.partitions = needs.partitions.value_or(kPartitionsDefault);
  facts.logs = needs.logs.value_or(std::min(kLogsDefault, facts.partitions));
  facts.believe_broker_time = true;
  return facts;
}

}  // namespace

Result<std::unique_ptr<PreparedStore>> prepare_memory(
    const std::string& name, const LedgerNeeds& needs,
    const BeforeCreation& before_creation) {
  LedgerFacts facts = wanted(needs);
  std::shared_ptr<NamedStore> store = Names::all().find(name);
  if (!store) {
    if (needs.watcher) return missing(name);
    if (before_creation) {
      if (auto fits = before_creation(facts); !fits) return fits.error();
    }
    store = Names::all().make(name, facts);
  }
  facts.partitions = needs.partitions.value_or(store->partitions);
  facts.logs = store->store.log_count();
  if (needs.logs.value_or(facts.logs) != facts.logs) {
    return Error{Errc::bad_option, "`logs` " + std::to_string(*needs.logs) + ", but the ledger "
                                       "memory:" + name + " has " + std::to_string(facts.logs) +
                                       "; leave `logs` out, or use another name"};
  }
  return std::unique_ptr<PreparedStore>(
      std::make_unique<PreparedMemory>(std::move(store), std::move(facts), needs.watcher));
}

Result<std::vector<LogRead>> read_memory(const std::string& name, std::optional<BrokerTime> since,
                                         const RecordSink& record) {
  const std::shared_ptr<NamedStore> store = Names::all().find(name);
  if (!store) return missing(name);
  std::vector<LogRead> all;
  for (std::uint32_t l = 0; l < store->store.log_count(); ++l) {
    const auto answer = store->store.read(Log{l}, 0);
    if (!answer || answer->end == 0) continue;
    LogRead read{Log{l}, answer->low, answer->end, answer->end, std::nullopt, std::nullopt, false};
    for (const MemoryStore::Stored& stored : answer->records) {
      if (since && stored.stamped < *since) continue;
      if (!read.first) {
        read.first = stored.stamped;
        read.start = stored.position;
      }
      read.last = stored.stamped;
      const Decoded value = decode_record(*stored.value);
      record({Log{l}, stored.position, stored.stamped, true, &value});
    }
    read.cut_short = read.low > 0 && read.start == read.low;
    all.push_back(read);
  }
  return all;
}

}  // namespace neliroute
