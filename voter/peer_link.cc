#include "voter/peer_link.h"

#include <neliroute/clock.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "net/dial.h"
#include "quorum/client_message.h"

namespace neliroute {
namespace {

/// Others start later or are being restarted, which is nothing to be told of.
constexpr milliseconds kSilentFor{5'000};

}  // namespace

PeerLink::PeerLink(const boost::asio::any_io_executor& executor, std::shared_ptr<HostNames> names,
                   std::shared_ptr<VoterNotices> notices, Options options)
    : executor_(executor),
      names_(std::move(names)),
      notices_(std::move(notices)),
      options_(std::move(options)),
      patience_(std::max(2 * options_.election, milliseconds{1'000})),
      timer_(executor) {}

void PeerLink::begin() {
  run_apart(executor_, [self = shared_from_this()] { return self->run(); });
}

void PeerLink::close() {
  over_ = true;
  if (channel_) channel_->close();
  timer_.cancel();
}

void PeerLink::send(std::string message) {
  if (over_ || !channel_) return;
  Waiting& waiting = message.size() <= kShort ? short_ : long_;
  if (waiting.bytes + message.size() > kWaitingBytesMax) waiting = {};
  waiting.bytes += message.size();
  waiting.messages.push_back(std::move(message));
  timer_.cancel();
}

void PeerLink::forget() { short_ = long_ = {}; }

std::string PeerLink::next() {
  Waiting& waiting = short_.messages.empty() ? long_ : short_;
  std::string message = std::move(waiting.messages.front());
  waiting.messages.pop_front();
  waiting.bytes -= message.size();
  return message;
}

Awaitable<> PeerLink::run() {
  while (!over_) {
    co_await use_one();
    channel_.reset();
    forget();
    if (!over_) co_await pause(timer_, std::max(options_.election / 2, milliseconds{10}));
  }
}

Awaitable<> PeerLink::use_one() {
  TlsContextPtr tls;
  if (options_.tls) tls = options_.tls();
  Dialed dialed = co_await dial(*names_, options_.address, tls,
                                std::max(options_.election, milliseconds{500}));
  if (over_) co_return;
  if (!dialed.stream) {
    fail(dialed.trouble);
    co_return;
  }
  expect_acknowledged(dialed.stream->socket(), patience_);
  const auto channel = std::make_shared<Channel>(std::move(dialed.stream), Channel::Side::client,
                                                 options_.channel);
  const bool open = co_await channel->open(patience_);
  if (!open) {
    fail(channel->trouble());
    co_return;
  }
  quorum::Hello hello;
  hello.name = options_.name;
  hello.peer = true;
  hello.election = options_.election;
  hello.kept = options_.kept;
  const bool told = co_await channel->write(quorum::encode(quorum::ToVoter(hello)), patience_);
  if (!told || over_) co_return;
  recover();
  channel_ = channel;
  run_apart(executor_, [self = shared_from_this(), channel] { return self->listen(channel); });
  co_await send_all(channel);
}

Awaitable<> PeerLink::send_all(std::shared_ptr<Channel> channel) {
  while (!over_ && channel_ == channel) {
    if (short_.messages.empty() && long_.messages.empty()) {
      co_await pause(timer_, std::chrono::hours(1));
      continue;
    }
    const bool told = co_await channel->write(next(), patience_);
    if (!told) {
      fail(channel->trouble());
      co_return;
    }
  }
}

Awaitable<> PeerLink::listen(std::shared_ptr<Channel> channel) {
  const auto bytes = co_await channel->read();
  if (over_) co_return;
  const auto said = bytes ? quorum::decode_to_client(*bytes) : std::nullopt;
  if (const auto* refused = said ? std::get_if<quorum::Refused>(&*said) : nullptr) {
    notices_->say_seldom("refused by " + options_.address, Severity::error,
                         options_.address + " refuses this voter: " + refused->why, boot_now());
  }
  if (channel_ == channel) channel_.reset();
  channel->close();
  timer_.cancel();
}

void PeerLink::recover() {
  if (!failing_since_) return;
  const auto lasted = std::chrono::duration_cast<milliseconds>(
      boot_now() - *std::exchange(failing_since_, std::nullopt));
  if (!std::exchange(told_, false)) return;
  notices_->say(Severity::info, options_.address + " is reached again, after " +
                                    std::to_string(lasted.count()) + " ms");
}

void PeerLink::fail(const std::string& why) {
  if (over_) return;
  const LocalTime now = boot_now();
  if (!failing_since_) failing_since_ = now;
  if (now - *failing_since_ < kSilentFor) return;
  told_ = true;
  notices_->say_seldom("unreachable " + options_.address, Severity::warning,
                       options_.address + " cannot be reached: " +
                           (why.empty() ? "it ends the connection" : why),
                       now);
}

}  // namespace neliroute
