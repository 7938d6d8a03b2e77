#include "tests/unit/ledgers/quorum/pretend_voters.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <neliroute/clock.h>
#include <utility>
#include <variant>

namespace neliroute {
namespace {

namespace ip = boost::asio::ip;
using quorum::ToClient;

constexpr milliseconds kTurn{2};
constexpr milliseconds kLong{60'000};

BrokerTime wall_stamp() {
  return BrokerTime{std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch())};
}

}  // namespace

PretendVoters::PretendVoters(std::uint32_t logs, std::size_t count) {
  io_.run([&] {
    script_.logs.resize(logs);
    for (PretendLog& log : script_.logs) begin_log(log);
    script_.greeted.resize(count);
    std::vector<std::pair<std::string, std::unique_ptr<ip::tcp::acceptor>>> made;
    for (std::size_t voter = 0; voter < count; ++voter) {
      auto acceptor = std::make_unique<ip::tcp::acceptor>(
          io_.executor(), ip::tcp::endpoint(ip::address_v4::loopback(), 0));
      made.emplace_back("127.0.0.1:" + std::to_string(acceptor->local_endpoint().port()),
                        std::move(acceptor));
    }
    std::sort(made.begin(), made.end());
    for (auto& [address, acceptor] : made) {
      addresses_.push_back(address);
      acceptors_.push_back(std::move(acceptor));
      accept(acceptors_.size() - 1);
    }
  });
}

PretendVoters::~PretendVoters() {
  io_.run([this] {
    done_ = true;
    for (auto& acceptor : acceptors_) acceptor->close();
  });
  hang_up();
  io_.join();
}

QuorumConnection PretendVoters::connection() {
  QuorumConnection connection;
  connection.voters = addresses_;
  connection.name = "pretended";
  connection.shown = "quorum://pretended";
  connection.timeout = milliseconds{1'000};
  return connection;
}

void PretendVoters::change(const std::function<void(Script&)>& how) {
  io_.run([&] { how(script_); });
}

// As real ones do: a leader's first entry has no record.
void PretendVoters::begin_log(PretendLog& log) {
  const quorum::LogId id{ids_++};
  log = {};
  log.id = id;
  log.entries.push_back({log.term, wall_stamp(), quorum::Begins{}});
}

void PretendVoters::new_leader() {
  ++reign_;
  for (PretendLog& log : script_.logs) {
    log.entries.push_back({++log.term, wall_stamp(), quorum::Begins{}});
  }
}

quorum::Index PretendVoters::append(Log log, const std::string& record) {
  return io_.run([&] {
    PretendLog& its = script_.logs.at(log.value());
    its.entries.push_back({its.term, wall_stamp(), record});
    return its.end() - 1;
  });
}

void PretendVoters::lead(std::optional<std::size_t> voter) {
  io_.run([&] {
    script_.leader = voter;
    new_leader();
  });
}

void PretendVoters::hang_up() {
  io_.run([&] {
    for (const auto& weak : talks_) {
      if (const auto talk = weak.lock()) talk->channel->close();
    }
    talks_.clear();
  });
}

void PretendVoters::expire(Log log, quorum::Index first) {
  io_.run([&] {
    PretendLog& its = script_.logs.at(log.value());
    while (its.first < first && !its.entries.empty()) {
      its.term_before = its.entries.front().term;
      its.entries.erase(its.entries.begin());
      ++its.first;
    }
  });
}

void PretendVoters::truncate(Log log, quorum::Index end) {
  io_.run([&] {
    PretendLog& its = script_.logs.at(log.value());
    its.entries.resize(static_cast<std::size_t>(end - its.first));
    new_leader();
  });
}

void PretendVoters::replace() {
  io_.run([&] {
    ++reign_;
    for (PretendLog& log : script_.logs) begin_log(log);
  });
}

void PretendVoters::accept(std::size_t voter) {
  acceptors_[voter]->async_accept(
      [this, voter](const boost::system::error_code& error, ip::tcp::socket socket) {
        if (error || done_) return;
        boost::system::error_code ignored;
        socket.set_option(ip::tcp::no_delay(true), ignored);
        const auto stream = std::make_shared<std::unique_ptr<Stream>>(
            std::make_unique<Stream>(std::move(socket)));
        run_apart(io_.executor(),
                  [this, stream, voter] { return serve(std::move(*stream), voter); });
        accept(voter);
      });
}

Awaitable<> PretendVoters::wait_while_silent() {
  boost::asio::steady_timer timer(io_.executor());
  while (script_.silent && !done_) co_await pause(timer, kTurn);
}

Awaitable<> PretendVoters::serve(std::unique_ptr<Stream> stream, std::size_t voter) {
  ++script_.greeted[voter];
  ChannelOptions options;
  options.protocol = quorum::kQuorumProtocol;
  options.message_bytes_max = quorum::kSaidBytesMax;
  options.key = script_.key;
  const auto talk = std::make_shared<Conversation>();
  talk->voter = voter;
  talk->reign = reign_;
  talk->channel =
      std::make_shared<Channel>(std::move(stream), Channel::Side::server, std::move(options));
  talks_.push_back(talk);
  co_await wait_while_silent();
  if (script_.mute == voter) {
    boost::asio::steady_timer timer(io_.executor());
    while (script_.mute == voter && !done_) co_await pause(timer, kTurn);
  }
  const bool opened = co_await talk->channel->open(kLong);
  if (!opened) co_return;
  const auto first = co_await talk->channel->read();
  co_await wait_while_silent();
  if (!first) co_return;
  const auto said = quorum::decode_to_voter(*first);
  const auto* const hello = said ? std::get_if<quorum::Hello>(&*said) : nullptr;
  if (hello == nullptr) {
    ++script_.nonsense;
    co_return;
  }
  quorum::Welcome welcome;
  welcome.logs = static_cast<std::uint32_t>(script_.logs.size());
  welcome.election = script_.election;
  welcome.kept = script_.kept;
  welcome.leads = script_.leader == voter;
  if (script_.leader) welcome.leader = addresses_[*script_.leader];
  if (!script_.says_leads.empty()) welcome.leader = script_.says_leads;
  ToClient answer = welcome;
  if (hello->name != script_.name) {
    answer = quorum::Refused{"it is of " + script_.name + ", not of " + hello->name};
  }
  if (!script_.refuses.empty()) answer = quorum::Refused{script_.refuses};
  talk->log = hello->log;
  const bool welcomed = co_await talk->channel->write(encode(answer), kLong);
  const bool serves = welcome.leads && !std::holds_alternative<quorum::Refused>(answer);
  if (!welcomed || !serves) co_return;
  run_apart(io_.executor(), [this, talk] { return speak(talk); });
  co_await hear(talk);
}

Awaitable<> PretendVoters::hear(std::shared_ptr<Conversation> talk) {
  while (!talk->over) {
    const auto text = co_await talk->channel->read();
    co_await wait_while_silent();
    if (!text) break;
    const auto said = quorum::decode_to_voter(*text);
    if (said) {
      take(*talk, *said);
    } else {
      ++script_.nonsense;
    }
  }
  talk->over = true;
}

void PretendVoters::take(Conversation& talk, const quorum::ToVoter& said) {
  PretendLog& log = script_.logs.at(talk.log);
  if (talk.reign != reign_) return;
  if (const auto* ask = std::get_if<quorum::Ask>(&said)) {
    ++script_.asks;
    if (script_.answers) say_answer(talk, answer(log, *ask));
  } else if (const auto* follow = std::get_if<quorum::Follow>(&said)) {
    if (talk.next) ++script_.nonsense;
    ++script_.follows;
    talk.next = follow->next;
    if (script_.ahead != 0) talk.next = std::max(*talk.next + script_.ahead, log.first);
  } else if (const auto* append = std::get_if<quorum::AppendRecord>(&said)) {
    ++script_.appends;
    if (!script_.stores) return;
    log.entries.push_back({log.term, wall_stamp(), append->record});
    talk.unsaid.push_back(encode(ToClient(quorum::Appended{append->number, log.end() - 1})));
  } else {
    ++script_.nonsense;
  }
}

void PretendVoters::say_answer(Conversation& talk, const quorum::Answer& said) const {
  if (script_.strange) {
    quorum::Answer other = said;
    ++other.number;
    other.log = quorum::LogId{1'000};
    other.first = other.index = other.end += 100;
    other.term_before = 9;
    other.entries.clear();
    talk.unsaid.push_back(encode(ToClient(other)));
  }
  talk.unsaid.push_back(encode(ToClient(said)));
}

quorum::Answer PretendVoters::answer(const PretendLog& log, const quorum::Ask& ask) const {
  quorum::Answer made;
  made.number = ask.number;
  made.log = log.id;
  made.first = log.first;
  made.end = log.end();
  made.index = ask.index;
  if (ask.since) {
    const auto at = std::find_if(log.entries.begin(), log.entries.end(), [&](const auto& entry) {
      return entry.stamped >= *ask.since;
    });
    made.index = log.first + (at - log.entries.begin());
  } else if (ask.index == quorum::kNothing) {
    made.index = log.end() - static_cast<quorum::Index>(ask.entries);
  }
  made.index = std::clamp(made.index, log.first, log.end());
  made.term_before = log.term_before;
  for (quorum::Index at = log.first; at < log.end(); ++at) {
    const quorum::Entry& entry = log.entries[static_cast<std::size_t>(at - log.first)];
    if (at < made.index) {
      made.term_before = entry.term;
    } else if (made.entries.size() < ask.entries) {
      made.entries.push_back(entry);
    }
  }
  return made;
}

std::string PretendVoters::next_words(Conversation& talk) {
  if (!talk.unsaid.empty()) {
    std::string first = std::move(talk.unsaid.front());
    talk.unsaid.erase(talk.unsaid.begin());
    return first;
  }
  if (!talk.next) return "";
  const PretendLog& log = script_.logs.at(talk.log);
  quorum::Entries entries;
  entries.index = *talk.next;
  for (; *talk.next < log.end() && *talk.next >= log.first; ++*talk.next) {
    if (entries.entries.size() == quorum::kChunkEntries) break;
    entries.entries.push_back(log.entries[static_cast<std::size_t>(*talk.next - log.first)]);
  }
  const bool beats = script_.beats && boot_now() >= later(talk.beat, script_.election / 4);
  if (entries.entries.empty() && !beats) return "";
  talk.beat = boot_now();
  return encode(ToClient(entries));
}

Awaitable<> PretendVoters::speak(std::shared_ptr<Conversation> talk) {
  boost::asio::steady_timer timer(io_.executor());
  while (!talk->over && !done_) {
    co_await wait_while_silent();
    const bool resigns = talk->reign != reign_;
    const bool behind = talk->next && *talk->next < script_.logs.at(talk->log).first;
    std::string words;
    if (resigns) {
      words = encode(ToClient(quorum::Resigned{}));
    } else if (!behind) {
      words = next_words(*talk);
    }
    if (words.empty() && !behind) {
      co_await pause(timer, kTurn);
      continue;
    }
    bool well = !words.empty();
    if (well) well = co_await talk->channel->write(std::move(words), kLong);
    if (resigns || behind || !well) talk->over = true;
  }
  talk->channel->close();
}

}  // namespace neliroute
