// Quotes of instruments, each published by the process that owns it, to all subscribers:
//   03_pricing_stream owner NAME BROKERS HTTP    HTTP: where the slot page and /metrics are
//   03_pricing_stream subscriber BROKERS         a line per second; finally one per instrument
//
// An instrument must not fall silent, and a duplicate quote does no harm: non-exclusive mode. While
// an instrument moves, two owners publish it; both give a quote the same number, that of the feed,
// so subscribers keep quotes with greater numbers, and drop the rest. A successor does not know
// what a killed owner published last. The instrument was silent for a lease, or longer where the
// machine stood still, so it begins ten leases back: duplicates are the price of no gap.
#include <librdkafka/rdkafka.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <iostream>
#include <map>
#include <neliroute/admin.h>
#include <neliroute/router.h>
#include <random>
#include <sstream>

using Clock = std::chrono::steady_clock;
using Client = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;
constexpr const char* kQuotes = "neliroute-quotes";

// The feed stands for an exchange: a quote of each instrument every period, numbered by the time.
// Processes with the same seed get the same quotes, old ones as well as new ones.
constexpr std::chrono::milliseconds kPeriod{100};
constexpr int kSeed = 6;
const std::vector<std::string> kInstruments = {
    "AUDUSD", "CADJPY", "CHFJPY", "EURAUD", "EURCHF", "EURGBP", "EURJPY", "EURNOK", "EURSEK",
    "EURUSD", "GBPCHF", "GBPJPY", "GBPUSD", "NOKSEK", "NZDUSD", "USDCAD", "USDCHF", "USDJPY"};
std::int64_t newest() { return std::chrono::system_clock::now().time_since_epoch() / kPeriod; }
std::uint64_t price_of(const std::string& instrument, std::int64_t sequence) {
  const std::string what = instrument + std::to_string(sequence) + ' ' + std::to_string(kSeed);
  std::seed_seq seed(what.begin(), what.end());
  return 10'000 + std::minstd_rand(seed)() % 100;
}

int fail(const neliroute::Error& error) { return std::cerr << error.message() << '\n', 2; }

Client open_client(rd_kafka_type_t type, const std::string& brokers,
                   std::map<std::string, std::string> settings) {
  settings["bootstrap.servers"] = brokers;
  char why[512] = "";
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : settings) {
    rd_kafka_conf_set(conf, name.c_str(), value.c_str(), why, sizeof why);
  }
  Client client(rd_kafka_new(type, conf, why, sizeof why), rd_kafka_destroy);
  if (!client) std::exit(fail({neliroute::Errc::bad_option, why}));
  return client;
}

/// How many partitions it has; 0: the topic does not exist.
std::int32_t partitions_of(rd_kafka_t* client) {
  auto* topic = rd_kafka_topic_new(client, kQuotes, nullptr);
  const rd_kafka_metadata_t* told = nullptr;
  std::int32_t count = 0;
  if (rd_kafka_metadata(client, 0, topic, &told, 10'000) == 0) {
    count = told->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(told);
  }
  rd_kafka_topic_destroy(topic);
  return count;
}

/// A broker that creates topics by itself has done so when it is asked for them.
void make_topic(rd_kafka_t* client) {
  if (partitions_of(client) > 0) return;
  char why[512] = "";
  auto* topic = rd_kafka_NewTopic_new(kQuotes, -1, -1, why, sizeof why);
  auto* queue = rd_kafka_queue_new(client);
  rd_kafka_CreateTopics(client, &topic, 1, nullptr, queue);
  if (auto* event = rd_kafka_queue_poll(queue, 10'000)) rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_NewTopic_destroy(topic);
}

/// False: the producer's queue is full.
bool send(rd_kafka_t* producer, const std::string& instrument, std::int64_t sequence,
          const std::string& by) {
  std::string text = std::to_string(sequence) + ' ' +
                     std::to_string(price_of(instrument, sequence)) + ' ' + by;
  return rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(kQuotes),
                           RD_KAFKA_V_KEY(instrument.data(), instrument.size()),
                           RD_KAFKA_V_VALUE(text.data(), text.size()),
                           RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END) == 0;
}

int own(const std::string& name, const std::string& brokers, const std::string& http) {
  // First, as it blocks: nothing may hold up the executor once there is a router.
  const Client producer = open_client(RD_KAFKA_PRODUCER, brokers, {{"enable.idempotence", "true"}});
  make_topic(producer.get());
  auto given = neliroute::RouterOptions::from_environment();  // NELIROUTE_ASSIGNMENT, say
  if (!given) return fail(given.error());
  neliroute::RouterOptions& options = *given;
  options.kafka.brokers = brokers;
  options.kafka.topic = options.group = "neliroute-pricing";
  options.process.name = name;  // and no endpoint: subscribers read quotes from Kafka
  options.timing.profile = neliroute::Profile::fast;
  options.on_notice = [](const neliroute::Notice& notice) { std::clog << notice.text << '\n'; };
  boost::asio::io_context io;
  const auto opened = neliroute::Router::open(io.get_executor(), options);
  if (!opened) return fail(opened.error());
  neliroute::Router& router = **opened;
  neliroute::AdminOptions page;
  page.listen = http;
  const auto admin = neliroute::AdminServer::open(io.get_executor(), router.observable(), page);
  if (!admin) return fail(admin.error());
  std::cout << name << " http://" << (*admin)->address() << '/' << std::endl;
  boost::asio::steady_timer timer(io);
  std::map<std::string, std::int64_t> next;  // of the instruments that are owned here
  const std::function<void()> publish = [&] {
    const auto now = neliroute::boot_now();
    const std::int64_t last = newest();
    for (const std::string& instrument : kInstruments) {
      if (!router.owns(instrument, now)) {
        next.erase(instrument);
        continue;
      }
      const auto begin = last - 10 * router.timing().lease / kPeriod;
      std::int64_t& at = next.try_emplace(instrument, begin).first->second;
      while (at <= last && send(producer.get(), instrument, at, name)) ++at;
    }
    rd_kafka_poll(producer.get(), 0);
    timer.expires_after(kPeriod / 4);
    timer.async_wait([&](auto error) { if (!error) publish(); });
  };
  publish();
  struct : neliroute::Listener {
    void failed(const neliroute::Error&) override { status = 2, io->stop(); }
    boost::asio::io_context* io = nullptr;
    int status = 0;
  } listener;
  listener.io = &io;
  const auto subscription = router.subscribe(listener);
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait(
      [&](auto, int) { router.async_drain(router.timing().drain, [&](auto) { io.stop(); }); });
  io.run();
  rd_kafka_flush(producer.get(), 5'000);
  return listener.status;
}

/// What a subscriber received of an instrument.
struct Heard {
  std::int64_t sequence = 0, missing = 0, duplicates = 0;
  std::string price, by;
  Clock::time_point at;
  std::chrono::duration<double> silence{};  ///< the longest until then
};

void hear(Heard& one, const std::string& text) {
  std::istringstream words(text);
  std::int64_t sequence = 0;
  words >> sequence;
  if (sequence <= one.sequence) {
    ++one.duplicates;
    return;
  }
  const auto now = Clock::now();
  if (one.sequence != 0) {
    one.missing += sequence - one.sequence - 1;
    one.silence = std::max<std::chrono::duration<double>>(one.silence, now - one.at);
  }
  one.sequence = sequence;
  one.at = now;
  words >> one.price >> one.by;
}

/// Prints a line for all, and with `each` one for each instrument; returns how many quotes are
/// missing.
std::int64_t tell(const std::map<std::string, Heard>& tape, bool each) {
  std::map<std::string, int> live;
  Heard all;
  for (const auto& [instrument, one] : tape) {
    const std::chrono::duration<double> silence = Clock::now() - one.at;
    ++live[silence.count() < 1 ? one.by : "(silent)"];
    all.missing += one.missing, all.duplicates += one.duplicates;
    if (each) {
      std::cout << instrument << ": quote " << one.sequence << " is " << one.price << ", missing "
                << one.missing << ", duplicates " << one.duplicates << ", longest silence "
                << std::max(one.silence, silence).count() << " s\n";
    }
  }
  for (const auto& [by, count] : live) std::cout << by << ' ' << count << "  ";
  std::cout << "missing " << all.missing << "  duplicates " << all.duplicates << std::endl;
  return all.missing;
}

volatile std::sig_atomic_t stopped = 0;
int subscribe(const std::string& brokers) {
  const Client consumer = open_client(
      RD_KAFKA_CONSUMER, brokers, {{"group.id", kQuotes}, {"enable.auto.commit", "false"}});
  const std::int32_t partitions = partitions_of(consumer.get());
  if (partitions == 0) return fail({neliroute::Errc::ledger_unfit, "no topic neliroute-quotes"});
  auto* all = rd_kafka_topic_partition_list_new(0);  // assigned, so it joins no group
  for (std::int32_t p = 0; p < partitions; ++p) {
    rd_kafka_topic_partition_list_add(all, kQuotes, p)->offset = RD_KAFKA_OFFSET_END;
  }
  rd_kafka_assign(consumer.get(), all);
  rd_kafka_topic_partition_list_destroy(all);
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { stopped = 1; });
  std::map<std::string, Heard> tape;
  for (auto next = Clock::now(); stopped == 0;) {
    if (auto* message = rd_kafka_consumer_poll(consumer.get(), 100)) {
      if (message->err == 0) {
        hear(tape[{static_cast<const char*>(message->key), message->key_len}],
             {static_cast<const char*>(message->payload), message->len});
      }
      rd_kafka_message_destroy(message);
    }
    if (Clock::now() < next) continue;
    tell(tape, false);
    next += std::chrono::seconds{1};
  }
  return tell(tape, true) == 0 ? 0 : 1;
}

int main(int count, char** words) {
  if (count == 5 && words[1] == std::string("owner")) return own(words[2], words[3], words[4]);
  if (count == 3 && words[1] == std::string("subscriber")) return subscribe(words[2]);
  return fail({neliroute::Errc::bad_option, "use: owner NAME BROKERS HTTP | subscriber BROKERS"});
}
