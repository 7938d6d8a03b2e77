// A store that refuses writes of a process that is not the owner any more:
//   02_fencing_with_postgres HOST:PORT BROKERS DATABASE [unfenced]
//   02_fencing_with_postgres HOST:PORT postgres://USER@HOST/DATABASE
// Each line on stdin, "KEY AMOUNT", adds to a balance that the key's owner keeps in memory.
//
// begin() says who owns a key now, not when the write arrives: a process may be stopped in between
// and wake up long after another took over. So every row keeps the epoch of its last owner, and
// refuses a lower one in the very statement that writes. Reads must do so too (take), or a late
// write of the old owner slips in between the new owner's read and its first write.
//
// A store that was restored, or served another topic, may know an epoch that nobody has reached
// yet, and would refuse its rightful owner for ever. That owner reports it, and gets a greater one.
//
// The second form keeps the ledger in the store's own database. There one transaction asks whether
// anybody has claimed since, and writes, so no row needs an epoch (StoreInLedger).
//
// `unfenced` leaves the comparison out; tests/fencing shows the update that is lost then.
// NELIROUTE_ASSIGNMENT=assigner before it, for all processes, lets one of them assign (01).
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <neliroute/router.h>
#include <optional>
#include <pqxx/pqxx>
#include <sstream>
#include <string>
#include <utility>

namespace asio = boost::asio;

/// Keeps balances, and refuses every owner but the newest.
class Store {
 public:
  virtual ~Store() = default;
  /// Reads a balance as its new owner: from now on, the row refuses every earlier one.
  virtual std::optional<std::int64_t> take(const std::string& key,
                                           const neliroute::Work& owner) = 0;
  /// False: a newer owner has been here, nothing was written.
  virtual bool write(const std::string& key, const neliroute::Work& owner,
                     std::int64_t balance) = 0;
  /// Of the last process that took the key; kNoEpoch: it keeps none.
  virtual neliroute::Epoch epoch_of(const std::string& key) = 0;
};

/// In any database: each row has an epoch, which the statement that writes compares.
class StoreOfEpochs final : public Store {
 public:
  StoreOfEpochs(const std::string& database, bool fenced) : connection_(database) {
    pqxx::nontransaction(connection_).exec(
        "CREATE TABLE IF NOT EXISTS balances (key text PRIMARY KEY, balance bigint NOT NULL,"
        " inc bigint NOT NULL, off bigint NOT NULL)");
    // A row of two compares like the epoch itself: by inc, then by offset.
    const std::string newest = fenced ? "(b.inc, b.off) <= ($2, $3)" : "true";
    connection_.prepare("take", "INSERT INTO balances AS b VALUES ($1, 0, $2, $3)"
                        " ON CONFLICT (key) DO UPDATE SET inc = $2, off = $3 WHERE " + newest +
                        " RETURNING balance");
    connection_.prepare("write", "UPDATE balances AS b SET inc = $2, off = $3, balance = $4"
                        " WHERE key = $1 AND " + newest);
    connection_.prepare("epoch", "SELECT inc, off FROM balances WHERE key = $1");
  }

  std::optional<std::int64_t> take(const std::string& key, const neliroute::Work& owner) override {
    const neliroute::Epoch& epoch = owner.epoch();
    pqxx::nontransaction statement(connection_);
    const auto rows = statement.exec_prepared("take", key, epoch.incarnation, epoch.offset);
    if (rows.empty()) return std::nullopt;
    return rows[0][0].as<std::int64_t>();
  }

  bool write(const std::string& key, const neliroute::Work& owner, std::int64_t balance) override {
    const neliroute::Epoch& epoch = owner.epoch();
    pqxx::nontransaction statement(connection_);
    return statement.exec_prepared("write", key, epoch.incarnation, epoch.offset, balance)
               .affected_rows() == 1;
  }

  neliroute::Epoch epoch_of(const std::string& key) override {
    pqxx::nontransaction statement(connection_);
    const auto row = statement.exec_prepared1("epoch", key);
    return {row[0].as<std::int64_t>(), row[1].as<std::int64_t>()};
  }

 private:
  pqxx::connection connection_;
};

/// In the database that keeps the ledger: the transaction that writes asks there first.
class StoreInLedger final : public Store {
 public:
  static constexpr const char* kTopic = "tellers";

  StoreInLedger(std::string database, neliroute::Lane lane)
      : database_(std::move(database)), lane_(lane) {
    connect();
  }

  std::optional<std::int64_t> take(const std::string& key, const neliroute::Work& owner) override {
    return while_owned(owner, [&](pqxx::work& transaction) {
      return transaction.exec_prepared1("take", key)[0].as<std::int64_t>();
    });
  }

  bool write(const std::string& key, const neliroute::Work& owner, std::int64_t balance) override {
    return while_owned(owner, [&](pqxx::work& transaction) {
      return transaction.exec_prepared1("write", key, balance)[0].as<std::int64_t>();
    }).has_value();
  }

  neliroute::Epoch epoch_of(const std::string& /*key*/) override { return neliroute::kNoEpoch; }

 private:
  template <class Statement>
  std::optional<std::int64_t> while_owned(const neliroute::Work& owner, Statement statement) try {
    pqxx::work transaction(*connection_);
    // True: nobody has claimed the partition since, and nobody can until this transaction ends.
    const auto owned = transaction.exec_prepared1(
        "owned", kTopic, lane_.value(), owner.partition().value(), owner.epoch().offset);
    if (!owned[0].as<bool>()) return std::nullopt;
    const std::int64_t balance = statement(transaction);
    transaction.commit();
    return balance;
  } catch (const pqxx::in_doubt_error&) {
    throw;  // nobody knows whether it was committed
  } catch (const pqxx::failure& error) {
    // The server has ended the transaction of a process that stood still in it, say.
    std::clog << error.what() << '\n';
    connect();
    return std::nullopt;
  }

  void connect() {
    connection_.emplace(database_);
    // A process that stops within a transaction keeps its successor waiting for no longer.
    pqxx::nontransaction(*connection_).exec(
        "SET idle_in_transaction_session_timeout = '500ms';"
        " CREATE TABLE IF NOT EXISTS balances (key text PRIMARY KEY, balance bigint NOT NULL)");
    connection_->prepare("owned", "SELECT neliroute.owned($1, $2, $3, $4)");
    connection_->prepare("take", "INSERT INTO balances AS b VALUES ($1, 0)"
                         " ON CONFLICT (key) DO UPDATE SET balance = b.balance RETURNING balance");
    connection_->prepare("write", "UPDATE balances SET balance = $2 WHERE key = $1"
                         " RETURNING balance");
  }

  const std::string database_;
  const neliroute::Lane lane_;
  std::optional<pqxx::connection> connection_;
};

class Teller {
 public:
  Teller(neliroute::Router& router, Store& store) : router_(router), store_(store) {}

  std::string add(const std::string& key, std::int64_t amount) {
    // A successor waits until this is written, but not longer than the lease.
    const auto work = router_.begin(router_.slot_of(key));
    if (!work) return "ask " + std::string(router_.route(key).endpoint());
    Balance& known = known_[key];
    // A balance read under another epoch may have been changed by others since.
    if (known.epoch != work.epoch()) {
      const auto balance = store_.take(key, work);
      if (!balance) return refused(key, work.epoch());
      known = {work.epoch(), *balance};
    }
    // Whatever happens to this process from here on, the store has the last word.
    if (!store_.write(key, work, known.amount + amount)) {
      return refused(key, work.epoch());
    }
    known.amount += amount;
    return "balance " + std::to_string(known.amount);
  }

 private:
  struct Balance {
    neliroute::Epoch epoch = neliroute::kNoEpoch;
    std::int64_t amount = 0;
  };

  std::string refused(const std::string& key, const neliroute::Epoch& epoch) {
    known_.erase(key);
    const neliroute::Epoch stored = store_.epoch_of(key);
    // Checked after the store. A process that still leads has no newer owner (in exclusive mode),
    // so the store is ahead. One that does not was fenced, as it should be.
    const auto lease = router_.lease(key);
    if (stored == neliroute::kNoEpoch || !lease || lease->epoch != epoch) {
      return "refused, somebody newer owns it";
    }
    router_.refused(key, stored);
    return "refused, the store knows a greater epoch; ask again soon";
  }

  neliroute::Router& router_;
  Store& store_;
  std::map<std::string, Balance> known_;
};

int main(int count, char** arguments) try {
  const bool in_ledger = count == 3 && std::string(arguments[2]).starts_with("postgres://");
  if (count < 4 && !in_ledger) {
    std::cerr << "usage: " << arguments[0] << " HOST:PORT BROKERS DATABASE [unfenced]\n"
              << "       " << arguments[0] << " HOST:PORT postgres://USER@HOST/DATABASE\n";
    return 2;
  }
  auto options = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!options) {
    std::cerr << options.error().message() << '\n';
    return 1;
  }
  options->process.endpoint = arguments[1];
  std::unique_ptr<Store> store;
  if (in_ledger) {
    options->ledger = std::string(arguments[2]) + "?create=1&topic=" + StoreInLedger::kTopic;
    store = std::make_unique<StoreInLedger>(arguments[2], options->lane);
  } else {
    options->kafka.brokers = arguments[2];
    store = std::make_unique<StoreOfEpochs>(arguments[3], count == 4);
  }
  options->mode = neliroute::Mode::exclusive;
  options->timing.profile = neliroute::Profile::fast;
  options->on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };

  asio::io_context io;
  const auto opened = neliroute::Router::open(io.get_executor(), *options);
  if (!opened) {
    std::cerr << opened.error().message() << '\n';
    return 1;
  }
  neliroute::Router& router = **opened;
  struct : neliroute::Listener {
    void failed(const neliroute::Error& error) override {
      std::cerr << error.message() << '\n';
      io->stop();
    }
    asio::io_context* io = nullptr;
  } listener;
  listener.io = &io;
  const auto subscription = router.subscribe(listener);
  const auto leave = [&] { router.async_drain(router.timing().drain, [&](auto) { io.stop(); }); };
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](auto, int) { leave(); });

  Teller teller(router, *store);
  asio::posix::stream_descriptor input(io, ::dup(STDIN_FILENO));
  std::string lines;
  std::function<void()> next = [&] {
    asio::async_read_until(input, asio::dynamic_buffer(lines), '\n', [&](auto error, auto size) {
      if (error) return leave();
      std::istringstream line(lines.substr(0, size));
      std::string key;
      std::int64_t amount = 0;
      line >> key >> amount;
      std::cout << key << ": " << teller.add(key, amount) << std::endl;
      lines.erase(0, size);
      next();
    });
  };
  next();
  io.run();
} catch (const pqxx::failure& error) {  // libpqxx throws; neliroute returns values.
  std::cerr << error.what() << '\n';
  return 1;
}
