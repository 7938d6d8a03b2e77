// Who is no client and no other voter, and who says that it is one.
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/net/certificates.h"
#include "tests/unit/voter/server_rig.h"
#include "voter/voter_server.h"

namespace neliroute {
namespace {

using boost::asio::ip::tcp;

/// A connection that a test writes to as it likes.
class Bare {
 public:
  explicit Bare(std::uint16_t port, const char* from = "127.0.0.1") : socket_(io_) {
    socket_.open(tcp::v4());
    socket_.bind({boost::asio::ip::make_address(from), 0});
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void say(const std::string& bytes) {
    boost::system::error_code ignored;
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  /// Whether the other side ends it.
  bool is_ended(milliseconds within = milliseconds(10'000)) {
    bool ended = false;
    read(ended);
    const auto end = std::chrono::steady_clock::now() + within;
    while (!ended && std::chrono::steady_clock::now() < end) {
      io_.restart();
      io_.run_one_until(end);
    }
    return ended;
  }

 private:
  void read(bool& ended) {
    socket_.async_read_some(boost::asio::buffer(bytes_),
                            [this, &ended](const auto& error, std::size_t) {
                              if (error) {
                                ended = true;
                              } else {
                                read(ended);
                              }
                            });
  }

  boost::asio::io_context io_;
  tcp::socket socket_;
  std::string bytes_ = std::string(1024, '\0');
};

TEST(VoterStrangersTest, whoSaysNothingIsOutAgain) {
  ServerRig rig(1);
  rig.start_all();
  Bare silent(rig.port(0));
  EXPECT_TRUE(silent.is_ended());
  VoterClient opened(rig.port(0));  // and no Hello
  ASSERT_TRUE(opened.is_connected());
  EXPECT_TRUE(opened.is_ended());
  EXPECT_TRUE(rig.append("others go on"));
}

TEST(VoterStrangersTest, garbageAndTooMuchEndTheConnection) {
  ServerRig rig(1);
  rig.start_all();
  Bare garbage(rig.port(0));
  garbage.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(5'000, 'x'));
  EXPECT_TRUE(garbage.is_ended());
  VoterClient large(rig.port(0));
  ASSERT_TRUE(large.is_connected());
  (void)large.say_bytes(std::string(quorum::kSaidBytesMax + 1, 'x'));
  EXPECT_TRUE(large.is_ended());
  EXPECT_TRUE(rig.append("others go on"));
}

TEST(VoterStrangersTest, manySilentConnectionsKeepNobodyOut) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  std::vector<std::unique_ptr<Bare>> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<Bare>(rig.port(rig.size() - 1)));
  EXPECT_TRUE(rig.append("b"));
}

TEST(VoterStrangersTest, ofManySilentConnectionsTheOldestGoAndANewcomerIsServed) {
  ServerRig rig(1);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  std::vector<std::unique_ptr<Bare>> silent;
  // Far more, as some are given up meanwhile: each has two seconds.
  while (silent.size() < 5'000 && !rig.has_notice(0, "the oldest is closed")) {
    silent.push_back(std::make_unique<Bare>(rig.port(0)));
  }
  ASSERT_TRUE(rig.has_notice(0, "256 connections have not said who they are"));
  EXPECT_TRUE(silent.front()->is_ended());
  silent.push_back(std::make_unique<Bare>(rig.port(0)));
  const auto welcome = VoterClient(rig.port(0)).greet("main");
  ASSERT_TRUE(welcome) << "it came last";
  EXPECT_TRUE(welcome->leads);
}

TEST(VoterStrangersTest, ofManySilentConnectionsThoseOfTheMachineThatHasMostGo) {
  ServerRig rig(1);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  bool tried = false;
  for (int turn = 0; turn < 20 && !tried; ++turn) {
    const auto began = std::chrono::steady_clock::now();
    Bare other(rig.port(0), "127.0.0.2");
    std::vector<std::unique_ptr<Bare>> silent;
    for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<Bare>(rig.port(0)));
    EXPECT_TRUE(silent.front()->is_ended());
    const bool ended = other.is_ended(milliseconds(50));
    // Silence alone ends it after two seconds.
    tried = std::chrono::steady_clock::now() - began < milliseconds(1'500);
    EXPECT_FALSE(tried && ended);
  }
  EXPECT_TRUE(tried);
}

TEST(VoterStrangersTest, whoHasNotSaidWhoItIsMaySayLittle) {
  ServerRig rig(1);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  VoterClient large(rig.port(0));
  ASSERT_TRUE(large.is_connected());
  (void)large.say_bytes(std::string(quorum::kHelloBytesMax + 1, 'x'));
  EXPECT_TRUE(large.is_ended());
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(0, "began a message of"); }));
  VoterClient client(rig.port(0));
  const auto welcome = client.greet("main");
  ASSERT_TRUE(welcome && welcome->leads);
  EXPECT_TRUE(client.say(quorum::AppendRecord{1, std::string(1'000'000, 'x')}));
  EXPECT_TRUE(client.hear_one<quorum::Appended>()) << "then it may say much";
}

TEST(VoterStrangersTest, whoHasAnotherKeyIsNotHeard) {
  ServerRig rig(3, [](VoterServerOptions& options) { options.key = "a key that is long enough"; });
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const int leader = rig.leader();
  VoterClient other(rig.port(leader), "another key, as long as that");
  EXPECT_FALSE(other.is_connected());
  VoterClient none(rig.port(leader));
  EXPECT_FALSE(none.is_connected());
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(leader, "key"); }));
  EXPECT_EQ(rig.records(), (std::vector<std::string>{"a"}));
}

// As a process that was stopped: the system goes on to take connections for it.
TEST(VoterStrangersTest, aVoterThatStandsStillHoldsNobodyUp) {
  ServerRig rig(3);
  boost::asio::io_context io;
  tcp::acceptor still(io, {boost::asio::ip::address_v4::loopback(), rig.port(2)});
  rig.start(0);
  rig.start(1);
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(0, "cannot be reached"); }));
  // Two may keep a log, but a new one begins with all.
  EXPECT_FALSE(rig.leader_now() >= 0);
  still.close();
  rig.start(2);
  EXPECT_TRUE(rig.append("a"));
  EXPECT_TRUE(rig.has_notice(0, "is reached again"));
  rig.stop(2);
  tcp::acceptor again(io, {boost::asio::ip::address_v4::loopback(), rig.port(2)});
  EXPECT_TRUE(rig.append("b"));
}

TEST(VoterStrangersTest, votersProveToEachOtherWhoTheyAre) {
  const net_test::Folder folder;
  net_test::Authority authority("ca", folder / "ca.pem");
  authority.sign("voter", folder / "cert.pem", folder / "key.pem", "IP:127.0.0.1");
  ServerRig rig(3, [&](VoterServerOptions& options) {
    options.tls = true;
    options.authorities = (folder / "ca.pem").string();
    options.certificate = (folder / "cert.pem").string();
    options.private_key = (folder / "key.pem").string();
  });
  rig.start_all();
  EXPECT_TRUE(ServerRig::wait([&] {
    return rig.has_notice(0, "is led by") && rig.has_notice(1, "is led by") &&
           rig.has_notice(2, "is led by");
  }));
  EXPECT_FALSE(VoterClient(rig.port(0)).is_connected()) << "it speaks no TLS";
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(0, "TLS: "); }));
}

TEST(VoterStrangersTest, votersWithDifferentKeysDoNotReachEachOther) {
  ServerRig rig(2, [](VoterServerOptions& options) {
    if (options.address == options.voters[0]) options.key = "a key that is long enough";
  });
  rig.start_all();
  EXPECT_TRUE(ServerRig::wait([&] {
    return rig.has_notice(0, "key") && rig.has_notice(1, "key") &&
           rig.has_notice(0, "has had no leader");
  }));
}

TEST(VoterStrangersTest, anotherVoterThatCannotBeIsNotHeard) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const std::string own = rig.options(0).address;
  const std::string other = rig.options(1).address;
  const quorum::Hello as_peer{"main", true, 0, rig.options(0).election, rig.options(0).kept};
  const auto ends = [&](std::uint32_t log, const std::string& from, const std::string& to) {
    VoterClient peer(rig.port(0));
    EXPECT_TRUE(peer.say(as_peer));
    EXPECT_TRUE(peer.say(quorum::PeerMessage{
        log, {quorum::VoterId(7), from, to, std::nullopt, 0, 0, quorum::Here{true, {}}}}));
    return peer.is_ended(milliseconds(10'000));
  };
  EXPECT_TRUE(ends(0, "127.0.0.1\n:1", own)) << "there is no such address";
  EXPECT_TRUE(ends(0, own, own)) << "it is this one";
  EXPECT_TRUE(ends(0, other, other)) << "it means another one";
  EXPECT_TRUE(ends(1, other, own)) << "there is no such log";
  VoterClient peer(rig.port(0));
  ASSERT_TRUE(peer.say(as_peer));
  ASSERT_TRUE(peer.say(quorum::Ask{}));
  EXPECT_TRUE(peer.is_ended()) << "no voter asks";
  EXPECT_TRUE(rig.append("b"));
}

TEST(VoterStrangersTest, votersThatWereStartedDifferentlySaySo) {
  ServerRig rig(3, [](VoterServerOptions& options) {
    if (options.address == options.voters[1]) options.election = milliseconds(210);
    if (options.address == options.voters[2]) options.kept = milliseconds(700'000);
  });
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto says = [&](int i, int other, const std::string& with, const std::string& own) {
    return ServerRig::wait([&] {
      return rig.has_notice(i, rig.address(other) + " was started with " + with +
                                   ", this voter with " + own + "; give all the same");
    });
  };
  const std::string usual = "`voter.election` 200 ms and `voter.kept` 1200000 ms";
  const std::string hasty = "`voter.election` 210 ms and `voter.kept` 1200000 ms";
  const std::string brief = "`voter.election` 200 ms and `voter.kept` 700000 ms";
  EXPECT_TRUE(says(0, 1, hasty, usual));
  EXPECT_TRUE(says(0, 2, brief, usual));
  EXPECT_TRUE(says(1, 2, brief, hasty));
  EXPECT_TRUE(says(2, 0, usual, brief));
}

TEST(VoterStrangersTest, votersThatWereStartedAlikeSayNothing) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(rig.has_notice(i, "was started with"));
}

TEST(VoterStrangersTest, aVoterOfAnotherQuorumIsToldSo) {
  ServerRig rig(2, [](VoterServerOptions& options) {
    if (options.address == options.voters[1]) options.name = "other";
  });
  rig.start_all();
  EXPECT_TRUE(ServerRig::wait([&] {
    return rig.has_notice(1, "this is a voter of the quorum `main`, not of `other`");
  }));
}

}  // namespace
}  // namespace neliroute
