#include "tests/unit/voter/served_rig.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <utility>
#include <variant>

#include "tests/eventually.h"
#include "tests/unit/voter/simulated_files.h"

namespace neliroute {
namespace {

using boost::asio::ip::tcp;

constexpr quorum::LogId kLog{77};

quorum::VoterId id_of(std::size_t voter) { return quorum::VoterId(voter + 1); }

}  // namespace

ServedRig::ServedRig(bool stores) : stores_(stores), disks_(io_.executor(), 1) {
  io_.run([this] { start(); });
  EXPECT_TRUE(eventually([this] { return leads(); }));
  if (stores) {
    EXPECT_TRUE(eventually([this] { return committed() == end(); }));
  }
}

ServedRig::~ServedRig() {
  look([this](ServedLog&) { door_->close(); });
  // A session ends when it has something to say, which a log that is closed has not.
  EXPECT_TRUE(eventually([this] {
    return look([this](ServedLog&) { return door_.use_count() == 1; });
  }));
  look([this](ServedLog& log) {
    log.close();
    disks_.close(milliseconds{10'000});
    door_.reset();
  });
  io_.join();
}

void ServedRig::start() {
  auto notices = std::make_shared<VoterNotices>(nullptr, "v0");
  auto files = std::make_shared<SimulatedFiles>();
  auto opened = VoterDisk::open(*files, "/log-0", [] { return id_of(0); });
  ASSERT_TRUE(opened) << opened.error();
  // The log has begun, and nobody has led it yet.
  quorum::LogStart began;
  for (std::size_t one = 0; one < addresses_.size(); ++one) {
    began.configuration.members.push_back({id_of(one), addresses_[one], one == 0 ? 2 : 1});
  }
  opened->durable.log = kLog;
  opened->durable.entries = quorum::EntryLog(std::move(began));
  quorum::Ready ready;
  ready.vote_changed = ready.start_changed = true;
  ready.entries_changed = 0;
  ASSERT_TRUE(opened->disk.store(ready, opened->durable));

  const auto statistics =
      std::make_shared<VoterStatistics>(addresses_[0], "main", kElection, 1);
  ServedLog::Options options;
  options.folder = "/log-0";
  options.kept = milliseconds{600'000};
  options.bytes_max = std::size_t{1} << 30;
  options.statistics = statistics;
  options.voter.address = addresses_[0];
  options.voter.addresses = addresses_;
  options.voter.priorities = {2, 1, 1};
  options.voter.election = kElection;
  options.voter.new_log = kLog;
  ServedLog::Handlers handlers;
  handlers.send = [this](const quorum::Message& message) { answer(message); };
  handlers.failed = [](const Error& error) { ADD_FAILURE() << error; };
  log_ = std::make_unique<ServedLog>(io_.executor(), disks_, notices, std::move(options),
                                     std::move(handlers), std::move(files), std::move(*opened));
  tcp::acceptor acceptor(io_.executor(), {boost::asio::ip::address_v4::loopback(), 0});
  port_ = acceptor.local_endpoint().port();
  VoterDoor::Options door;
  door.name = "main";
  door.address = addresses_[0];
  door.election = kElection;
  door.statistics = statistics;
  door.channel = {std::string(quorum::kQuorumProtocol), {}, quorum::kSaidBytesMax};
  door_ = std::make_shared<VoterDoor>(std::move(acceptor), notices, std::move(door),
                                      std::vector<ServedLog*>{log_.get()});
  door_->begin();
  log_->begin();
}

/// Of whom it was sent to.
quorum::Message ServedRig::from_other(const quorum::Message& asked, quorum::Term term) const {
  const auto to = std::ranges::find(addresses_, asked.to_address) - addresses_.begin();
  quorum::Message answer;
  answer.from = id_of(static_cast<std::size_t>(to));
  answer.from_address = asked.to_address;
  answer.to_address = addresses_[0];
  answer.log = kLog;
  answer.term = term;
  answer.told = quorum::print_of(addresses_);
  return answer;
}

void ServedRig::answer(const quorum::Message& message) {
  quorum::Message said = from_other(message, message.term);
  if (const auto* ask = std::get_if<quorum::AskVote>(&message.body)) {
    said.body = quorum::GiveVote{ask->poll, ask->asked, true};
  } else if (const auto* append = std::get_if<quorum::Append>(&message.body)) {
    quorum::Index& held = held_.at(said.from.value() - 1);
    if (stores_) held = append->index + std::ssize(append->entries);
    said.body = quorum::Stored{held, append->round};
  } else {
    return;
  }
  boost::asio::post(io_.executor(), [this, said] { log_->take(said, 0); });
}

void ServedRig::let_store(bool stores) {
  io_.run([&] { stores_ = stores; });
}

void ServedRig::depose(quorum::Index index) {
  io_.run([&] {
    const quorum::Voter& voter = log_->voter();
    quorum::Message asked;
    asked.to_address = addresses_[1];
    quorum::Message said = from_other(asked, voter.term() + 1);
    const quorum::Entry begins{said.term, voter.entries().last_stamp(), quorum::Begins{}};
    said.body = quorum::Append{index, voter.entries().term_before(index), {begins}, index + 1, 1};
    for (quorum::Index& held : held_) held = index + 1;
    log_->take(said, 0);
  });
}

quorum::Index ServedRig::end() {
  return look([](ServedLog& log) { return log.voter().entries().end(); });
}

quorum::Index ServedRig::committed() {
  return look([](ServedLog& log) { return log.voter().committed(); });
}

bool ServedRig::leads() {
  return look([](ServedLog& log) { return log.leads(); });
}

std::size_t ServedRig::waiting_bytes() {
  return look([](ServedLog& log) { return log.waiting_bytes(); });
}

std::size_t ServedRig::settled_waiting_bytes() {
  // What is in a socket is read a message at a turn, so these are enough for all of a test's.
  for (int turn = 0; turn < 5'000; ++turn) (void)waiting_bytes();
  return waiting_bytes();
}

std::unique_ptr<VoterClient> ServedRig::client(int receive_bytes) {
  auto client = std::make_unique<VoterClient>(port_, std::string(), receive_bytes);
  const auto welcome = client->greet("main");
  EXPECT_TRUE(welcome && welcome->leads);
  return client;
}

}  // namespace neliroute
