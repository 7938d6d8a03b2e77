#include "tool/demo/demo_cast.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json/parse.hpp>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "ledgers/ledger_needs.h"

namespace neliroute::tool {
namespace {

constexpr milliseconds kStartBound{25'000};
constexpr milliseconds kEndBound{4'000};
constexpr std::uint16_t kFirstPort = 7001;
constexpr std::size_t kVoters = 3;

/// On loopback, where nobody listens now.
std::vector<std::string> free_addresses(std::size_t count) {
  using boost::asio::ip::tcp;
  boost::asio::io_context io;
  std::vector<tcp::acceptor> held;  // all of them at once, so that they differ
  std::vector<std::string> found;
  while (found.size() < count) {
    held.emplace_back(io, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
    found.push_back("127.0.0.1:" + std::to_string(held.back().local_endpoint().port()));
  }
  return found;
}

}  // namespace

Cast::Cast(DemoOptions options, TemporaryFolder folder)
    : options_(std::move(options)), folder_(std::move(folder)), brokers_(options_.brokers) {
  // On the user's Kafka, a name of its own, so that no running group is disturbed.
  topic_ = options_.topic.value_or(options_.own_store() ? "neliroute" : "neliroute-demo");
}

Result<Cast> Cast::make(DemoOptions options) {
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  return Cast(std::move(options), std::move(*folder));
}

std::string Cast::file(const std::string& name, const char* kind) const {
  return folder_.path() + "/" + name + kind;
}

Error Cast::failed(const Actor& actor, const std::string& how) const {
  std::string log = last_lines(file(actor.name, ".err"), 5);
  while (log.ends_with('\n')) log.pop_back();
  return {Errc::ledger_unreachable,
          actor.name + " " + how + (log.empty() ? "" : "; the end of its log:\n" + log)};
}

Result<Actor> Cast::start(const std::string& name, std::string endpoint,
                          std::vector<std::string> arguments) {
  ChildOptions child;
  child.arguments = std::move(arguments);
  child.output = file(name, ".out");
  child.errors = file(name, ".err");
  child.inherit_settings = !options_.own_store();
  std::string properties;
  for (const std::string& one : options_.properties) properties += one + "\n";
  if (!properties.empty()) child.environment["NELIROUTE_X"] = properties;
  auto started = Child::start(child);
  if (!started) return started.error();
  const pid_t pid = started->pid();
  return Actor{name, std::move(endpoint), std::move(*started), pid, {}};
}

Result<void> Cast::await(Actor& actor) {
  const auto deadline = std::chrono::steady_clock::now() + kStartBound;
  while (true) {
    if (const auto line = first_line(file(actor.name, ".out"))) {
      boost::json::error_code error;
      actor.ready = boost::json::parse(*line, error).as_object();
      return {};
    }
    if (!actor.child.running()) return failed(actor, "ended while it started");
    if (std::chrono::steady_clock::now() >= deadline) return failed(actor, "did not start in time");
    std::this_thread::sleep_for(milliseconds{5});
  }
}

Result<void> Cast::start_store() {
  if (options_.quorum) return start_voters();
  if (options_.embedded()) return start_broker();
  return {};
}

Result<void> Cast::start_voters() {
  const std::vector<std::string> voters = free_addresses(kVoters);
  for (const std::string& voter : voters) ledger_ += (ledger_.empty() ? "quorum://" : ",") + voter;
  ledger_ += "/" + topic_;
  for (const std::string& voter : voters) {
    const std::string name = "voter-" + std::to_string(store_.size() + 1);
    auto started = start(name, voter, {"voter", "--json", "--voter", voter, "--ledger",
                                       ledger_ + "?dir=" + folder_.path() + "/" + name});
    if (!started) return started.error();
    store_.push_back(std::move(*started));
  }
  for (Actor& voter : store_) {
    if (auto ready = await(voter); !ready) return ready.error();
  }
  return {};
}

Result<void> Cast::start_broker() {
  // With an assigner the topic needs one partition a log.
  const std::uint32_t count =
      options_.by_assigner() ? kLogsDefault : options_.partitions.value_or(kDemoPartitions);
  auto broker = start("broker", "", {"broker", "--json", "--port", "0", "--topic", topic_,
                                     "--partitions", std::to_string(count)});
  if (!broker) return broker.error();
  store_.push_back(std::move(*broker));
  if (auto ready = await(store_.front()); !ready) return ready.error();
  brokers_ = std::string(store_.front().ready.at("brokers").as_string());
  return {};
}

Result<void> Cast::start_owners(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string endpoint =
        "127.0.0.1:" + std::to_string(kFirstPort + owners_.size());
    std::vector<std::string> arguments = {
        "run", "--json", "--name", name, "--endpoint", endpoint, "--group", topic_, "--slots",
        std::to_string(options_.slots.value()), "--profile", options_.profile, "--drain-timeout",
        "500ms", "--timeout", "20s"};
    if (options_.quorum) {
      arguments.insert(arguments.end(), {"--ledger", ledger_});
    } else {
      arguments.insert(arguments.end(), {"--brokers", brokers_, "--topic", topic_});
    }
    arguments.insert(arguments.end(),
                     {"--assignment", std::string(to_string(options_.source()))});
    if (const auto partitions = owned_partitions()) {
      arguments.insert(arguments.end(), {"--partitions", std::to_string(*partitions)});
    }
    if (options_.allow_uneven) arguments.emplace_back("--allow-uneven");
    arguments.insert(arguments.end(), options_.variation.begin(), options_.variation.end());
    auto owner = start(name, endpoint, std::move(arguments));
    if (!owner) return owner.error();
    owners_.push_back(std::move(*owner));
  }
  for (Actor& owner : owners_) {
    if (auto ready = await(owner); !ready) return ready.error();
  }
  return {};
}

void Cast::kill(std::size_t index) {
  killed_ = index;
  owners_[index].child.signal(SIGKILL);
}

std::optional<Error> Cast::casualty() {
  for (Actor& actor : store_) {
    if (!actor.child.running()) return failed(actor, "ended by itself");
  }
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (i != killed_ && !owners_[i].child.running()) return failed(owners_[i], "ended by itself");
  }
  return std::nullopt;
}

void Cast::end() {
  for (std::vector<Actor>* actors : {&owners_, &store_}) {
    for (Actor& actor : *actors) actor.child.signal(SIGTERM);
    for (Actor& actor : *actors) actor.child.wait(kEndBound);
    actors->clear();  // kills those that are left
  }
}

std::optional<std::uint32_t> Cast::owned_partitions() const {
  if (options_.partitions || !options_.by_assigner()) return options_.partitions;
  return kDemoPartitions;
}

std::uint32_t Cast::partitions() const {
  return owners_.front().ready.at("partitions").to_number<std::uint32_t>();
}

}  // namespace neliroute::tool
