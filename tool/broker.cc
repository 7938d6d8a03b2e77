// neliroute broker: the embedded broker, for trying things without Kafka.
#include "embedded_broker/embedded_broker.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/json/array.hpp>
#include <csignal>
#include <utility>

#include "ledgers/ledger_needs.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

struct BrokerOptions {
  std::uint16_t port = 9092;
  std::uint32_t partitions = kPartitionsDefault;
  std::vector<std::string> topics;
  bool json = false;
};

void add_options(CommandLine& line, BrokerOptions& options) {
  line.add({.flag = "--port", .type = "N",
            .help = "Port of 127.0.0.1; 0 is any free one (default 9092)"},
           [&options](const std::string& text) -> Result<void> {
             const auto port = parse_number(text, 0, 65535);
             if (!port) return port.error();
             options.port = static_cast<std::uint16_t>(*port);
             return {};
           });
  line.add({.flag = "--topic", .takes = OptionText::Takes::each, .type = "NAME",
            .help = "A topic to create; may be repeated (default neliroute)"},
           [&options](const std::string& text) -> Result<void> {
             auto topic = parse_topic(text);
             if (!topic) return topic.error();
             options.topics.push_back(std::move(*topic));
             return {};
           });
  line.add({.flag = "--partitions", .type = "N", .help = "Partitions of each topic (default 64)"},
           into(options.partitions, [](const std::string& text) {
             return parse_number(text, 1, EmbeddedBroker::kPartitionsMax);
           }));
  add_json_flag(line, options.json);
}

void announce(const EmbeddedBroker& broker, const EmbeddedBrokerOptions& made, bool as_json) {
  if (as_json) {
    boost::json::array topics;
    for (const auto& [name, partitions] : made.topics) {
      topics.push_back({{"topic", name}, {"partitions", partitions}});
    }
    say({{"brokers", broker.address()}, {"topics", std::move(topics)}});
    return;
  }
  std::string text = fmt::format("neliroute broker: listens on {}, Ctrl-C ends it\n",
                                 broker.address());
  for (const auto& [name, partitions] : made.topics) {
    text += fmt::format("  topic {} with {} partitions\n", name, partitions);
  }
  text += "\nIt is for trying things out:\n";
  text += EmbeddedBroker::limits();
  while (text.ends_with('\n')) text.pop_back();
  say(text);
}

}  // namespace

int broker_command(const Arguments& arguments) {
  CommandLine line({"broker", "Runs a Kafka broker inside this process, in memory, until Ctrl-C: "
                    "enough to try neliroute without Kafka, not for production.", "", ""});
  BrokerOptions options;
  add_options(line, options);
  if (const auto code = line.parse(arguments)) return *code;
  if (options.topics.empty()) options.topics = {KafkaConnection{}.topic};
  EmbeddedBrokerOptions wanted{options.port, {}};
  for (const std::string& topic : options.topics) {
    wanted.topics.emplace_back(topic, options.partitions);
  }
  std::signal(SIGPIPE, SIG_IGN);
  end_at_once_on_signals();  // until it has said where it listens, for which nobody may wait
  boost::asio::io_context io(1);
  const auto broker = EmbeddedBroker::open(io.get_executor(), wanted);
  if (!broker) return fail(line.name(), broker.error());
  announce(**broker, wanted, options.json);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  io.run();
  return kExitYes;
}

}  // namespace neliroute::tool
