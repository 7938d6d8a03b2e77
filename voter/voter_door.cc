#include "voter/voter_door.h"

#include <neliroute/clock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <utility>
#include <variant>

#include "net/dial.h"
#include "voter/client_session.h"

namespace neliroute {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr const char* kUnknown = "a connection";

/// One more of these, for as long as it is there.
class Counted {
 public:
  explicit Counted(std::atomic<std::size_t>& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::atomic<std::size_t>& count_;
};

/// One of these, for as long as it is there.
template <class T>
class Listed {
 public:
  Listed(std::deque<T>& all, T one) : all_(all), one_(std::move(one)) { all_.push_back(one_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;
  ~Listed() { std::erase(all_, one_); }

 private:
  std::deque<T>& all_;
  T one_;
};

/// Of a channel's troubles those that mean no harm: processes end, and ports are probed.
bool is_departure(std::string_view trouble) {
  return trouble.starts_with("the connection ") ||
         trouble.starts_with("the other side ended the connection before");
}

Awaitable<error_code> accept(tcp::acceptor& acceptor, tcp::socket& socket) {
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    acceptor.async_accept(
        socket, [then = std::move(then)](const error_code& error) { then(error, 0); });
  });
  co_return outcome.error;
}

Awaitable<error_code> shake_hands(Stream& stream, TlsContextPtr tls, milliseconds within) {
  stream.expires_after(within);
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    stream.async_accept_tls(
        tls, [then = std::move(then)](const error_code& error) { then(error, 0); });
  });
  stream.expires_never();
  co_return outcome.error;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char one) { return one > ' ' && one <= '~'; });
}

std::string name_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace

VoterDoor::VoterDoor(tcp::acceptor acceptor, std::shared_ptr<VoterNotices> notices,
                     Options options, std::vector<ServedLog*> logs)
    : acceptor_(std::move(acceptor)),
      notices_(std::move(notices)),
      options_(std::move(options)),
      logs_(std::move(logs)),
      timer_(acceptor_.get_executor()) {}

void VoterDoor::begin() {
  run_apart(acceptor_.get_executor(), [self = shared_from_this()] { return self->accept_all(); });
}

void VoterDoor::close() {
  over_ = true;
  error_code ignored;
  acceptor_.close(ignored);
  timer_.cancel();
  for (const auto& channel : std::exchange(channels_, {})) channel->close();
}

void VoterDoor::complain(const char* who, const std::string& from, const std::string& of) {
  if (over_ || of.empty() || is_departure(of)) return;
  notices_->say_seldom(who, Severity::warning, who + (" from " + from) + ": " + of, boot_now());
}

Awaitable<> VoterDoor::accept_all() {
  while (!over_) {
    tcp::socket socket(acceptor_.get_executor());
    const error_code error = co_await accept(acceptor_, socket);
    if (over_) co_return;
    error_code gone;
    const tcp::endpoint from = socket.remote_endpoint(gone);
    if (error) {
      notices_->say_seldom("accept", Severity::error,
                           "cannot take connections: " + error.message(), boot_now());
      co_await pause(timer_, milliseconds{100});
    } else if (!gone) {
      make_room();
      // Longer than who reads slowly is waited for, which can be told why it ends.
      expect_acknowledged(socket, std::max(8 * options_.election, milliseconds{4'000}));
      // Not moved from inside of the coroutine: what run_apart() takes must be copyable.
      const auto stream =
          std::make_shared<std::unique_ptr<Stream>>(std::make_unique<Stream>(std::move(socket)));
      run_apart(acceptor_.get_executor(),
                [self = shared_from_this(), stream, name = name_of(from)] {
                  return self->serve(std::move(*stream), name);
                });
    }
  }
}

/// The oldest of the machine that has most of them: it does not keep others out.
std::deque<VoterDoor::UnknownPtr>::iterator VoterDoor::first_to_go() {
  std::map<std::string, std::size_t> counts;
  for (const UnknownPtr& one : unknown_) ++counts[one->address];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& of) { return of.second; });
  return std::ranges::find(unknown_, most->first,
                           [](const UnknownPtr& one) { return one->address; });
}

void VoterDoor::make_room() {
  while (unknown_.size() >= kUnknownMax) {
    const auto first = first_to_go();
    const UnknownPtr oldest = std::move(*first);
    unknown_.erase(first);
    oldest->closed = true;
    oldest->close();
    notices_->say_seldom("unknown", Severity::warning,
                         std::to_string(kUnknownMax) +
                             " connections have not said who they are: for each new one the "
                             "oldest is closed",
                         boot_now());
  }
}

Awaitable<> VoterDoor::serve(std::unique_ptr<Stream> stream, std::string from) {
  const auto self = shared_from_this();
  std::shared_ptr<Channel> channel;
  std::optional<quorum::Hello> hello;
  const auto unknown = std::make_shared<Unknown>();
  unknown->address = from.substr(0, from.rfind(':'));
  unknown->close = [raw = stream.get()] { raw->close(); };
  {
    const Listed<UnknownPtr> listed(unknown_, unknown);
    channel = co_await open(std::move(stream), unknown, from);
    if (!channel || over_) co_return;
    channels_.insert(channel);
    hello = co_await hear(channel);
  }
  if (unknown->closed) {
    // Nobody is there any more.
  } else if (!hello) {
    complain(kUnknown, from, channel->trouble().empty() ? "it sent no greeting"
                                              : channel->trouble());
  } else if (const std::string why = refusal(*hello); !why.empty()) {
    complain(kUnknown, from, "refused: " + why);
    quorum::Refused refused;
    refused.why = why;
    const bool told = co_await channel->write(quorum::encode(quorum::ToClient(refused)), kSoon);
    (void)told;
  } else if (hello->peer) {
    co_await serve_peer(channel, *hello, from);
  } else {
    co_await serve_client(channel, hello->log, from);
  }
  channel->close();
  channels_.erase(channel);
}

Awaitable<std::shared_ptr<Channel>> VoterDoor::open(std::unique_ptr<Stream> stream,
                                                    UnknownPtr unknown, std::string from) {
  if (options_.tls) {
    const TlsContextPtr tls = options_.tls();
    const error_code error = co_await shake_hands(*stream, tls, kSoon);
    if (error) {
      unknown->close = [] {};
      if (unknown->closed) co_return nullptr;
      const std::string refused = stream->refusal();
      complain(kUnknown, from, "TLS: " + (refused.empty() ? error.message() : refused));
      co_return nullptr;
    }
  }
  auto channel =
      std::make_shared<Channel>(std::move(stream), Channel::Side::server, options_.channel);
  unknown->close = [weak = std::weak_ptr(channel)] {
    if (const auto there = weak.lock()) there->close();
  };
  const bool is_open = co_await channel->open(kSoon);
  if (is_open) co_return channel;
  complain(kUnknown, from, channel->trouble());
  co_return nullptr;
}

Awaitable<std::optional<quorum::Hello>> VoterDoor::hear(std::shared_ptr<Channel> channel) {
  const ReadWithin heard = co_await read_within(channel, kSoon);
  std::optional<quorum::Hello> hello;
  auto said = heard.message ? quorum::decode_to_voter(*heard.message) : std::nullopt;
  if (said && std::holds_alternative<quorum::Hello>(*said)) {
    hello = std::get<quorum::Hello>(*std::move(said));
  }
  co_return hello;
}

std::string VoterDoor::refusal(const quorum::Hello& hello) const {
  if (hello.name != options_.name) {
    return "this is a voter of the quorum `" + options_.name + "`, not of `" +
           hello.name.substr(0, 255) + "`";
  }
  if (hello.peer) return options_.statistics->peers < kPeersMax
                          ? ""
                          : "it has " + std::to_string(kPeersMax) +
                                " connections from voters, the most it takes";
  if (hello.log >= logs_.size()) {
    return "there are " + std::to_string(logs_.size()) + " logs, and none has the number " +
           std::to_string(hello.log);
  }
  return options_.statistics->clients < options_.clients_max
             ? ""
             : "it has " + std::to_string(options_.clients_max) + " clients, which is the most";
}

std::string VoterDoor::trouble_with(const quorum::PeerMessage& peer) const {
  const quorum::Message& message = peer.message;
  if (peer.log >= logs_.size()) {
    return "it has a log " + std::to_string(peer.log) + ", and this voter has " +
           std::to_string(logs_.size()) + ": give all the same number of logs";
  }
  if (message.to_address != options_.address) {
    return "it addresses another voter: give all the same addresses, each its own";
  }
  if (message.from_address == options_.address) {
    return "it has this voter's address: give all the same addresses, each its own";
  }
  if (!is_printable(message.from_address) || !host_and_port(message.from_address)) {
    return "its address is not valid";
  }
  return {};
}

/// Voters whose election timeouts differ disturb each other's elections; what is kept is what the
/// leader keeps, so owners cannot rely on it.
void VoterDoor::compare(const quorum::Hello& hello, const std::string& address) {
  if (hello.election == options_.election && hello.kept == options_.kept) return;
  const auto values = [](milliseconds election, milliseconds kept) {
    return "`voter.election` " + std::to_string(election.count()) + " ms and `voter.kept` " +
           std::to_string(kept.count()) + " ms";
  };
  notices_->say_seldom("settings of " + address, Severity::warning,
                       address + " was started with " + values(hello.election, hello.kept) +
                           ", this voter with " + values(options_.election, options_.kept) +
                           "; give all the same",
                       boot_now());
}

Awaitable<> VoterDoor::serve_peer(std::shared_ptr<Channel> channel, quorum::Hello hello,
                                  std::string from) {
  const Counted counted(options_.statistics->peers);
  while (!over_) {
    const auto bytes = co_await channel->read();
    if (over_) co_return;
    if (!bytes) {
      complain("another voter", from, channel->trouble());
      co_return;
    }
    auto said = quorum::decode_to_voter(*bytes);
    auto* peer = said ? std::get_if<quorum::PeerMessage>(&*said) : nullptr;
    const std::string trouble =
        peer == nullptr ? std::string("it sent an invalid message") : trouble_with(*peer);
    if (!trouble.empty()) {
      complain("another voter", from, trouble);
      co_return;
    }
    compare(hello, peer->message.from_address);
    logs_[peer->log]->take(std::move(peer->message), bytes->size());
  }
}

Awaitable<> VoterDoor::serve_client(std::shared_ptr<Channel> channel, std::uint32_t log,
                                    std::string from) {
  const Counted counted(options_.statistics->clients);
  ServedLog& served = *logs_[log];
  quorum::Welcome welcome;
  welcome.logs = static_cast<std::uint32_t>(logs_.size());
  welcome.election = options_.election;
  welcome.kept = options_.kept;
  const std::string* leader = served.voter().leader();
  // One whose disk hangs has lost its lead, or soon will have.
  const bool is_known = leader != nullptr && (!served.leads() || served.is_lively(boot_now()));
  welcome.leads = is_known && served.leads();
  if (is_known) welcome.leader = *leader;
  const auto session = std::make_shared<ClientSession>(acceptor_.get_executor(), channel, served,
                                                       std::move(welcome));
  const std::string trouble = co_await session->serve();
  complain("a client", from, trouble);
}

}  // namespace neliroute
