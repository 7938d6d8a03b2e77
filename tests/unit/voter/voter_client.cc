#include "tests/unit/voter/voter_client.h"

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <utility>

namespace neliroute {

using boost::asio::ip::tcp;

VoterClient::VoterClient(std::uint16_t port, std::string key, int receive_bytes) {
  tcp::socket socket(io_, tcp::v4());
  boost::system::error_code error;
  if (receive_bytes > 0) {
    socket.set_option(boost::asio::socket_base::receive_buffer_size(receive_bytes), error);
  }
  socket.connect({boost::asio::ip::address_v4::loopback(), port}, error);
  if (error) {
    trouble_ = error.message();
    return;
  }
  auto channel = std::make_shared<Channel>(
      std::make_unique<Stream>(std::move(socket)), Channel::Side::client,
      ChannelOptions{std::string(quorum::kQuorumProtocol), std::move(key),
                     quorum::kSaidBytesMax});
  if (run(channel->open(kSoon), kSoon).value_or(false)) {
    channel_ = std::move(channel);
  } else {
    trouble_ = channel->trouble();
  }
}

template <class T>
std::optional<T> VoterClient::run(Awaitable<T> work, milliseconds within) {
  const auto result = std::make_shared<std::optional<T>>();
  boost::asio::co_spawn(io_, std::move(work), [result](const std::exception_ptr& thrown, T got) {
    if (!thrown) *result = std::move(got);
  });
  const auto end = std::chrono::steady_clock::now() + within;
  while (!*result && std::chrono::steady_clock::now() < end) {
    io_.restart();
    io_.run_one_until(end);
  }
  return *result;
}

bool VoterClient::say_bytes(std::string bytes) {
  return channel_ && run(channel_->write(std::move(bytes), kSoon), kSoon).value_or(false);
}

std::optional<quorum::ToClient> VoterClient::hear(milliseconds within) {
  if (!channel_) return std::nullopt;
  const auto bytes = run(channel_->read(), within);
  if (!bytes || !*bytes) {
    channel_.reset();  // a read that is under way cannot be taken back
    return std::nullopt;
  }
  return quorum::decode_to_client(**bytes);
}

bool VoterClient::is_ended(milliseconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (channel_ && std::chrono::steady_clock::now() < end) {
    const auto bytes = run(channel_->read(), within);
    if (!bytes) return false;
    if (!*bytes) channel_.reset();
  }
  return !channel_;
}

std::optional<quorum::Welcome> VoterClient::greet(const std::string& name, std::uint32_t log) {
  if (!say(quorum::Hello{name, false, log})) return std::nullopt;
  const auto heard = hear();
  const auto* welcome = heard ? std::get_if<quorum::Welcome>(&*heard) : nullptr;
  return welcome == nullptr ? std::nullopt : std::optional(*welcome);
}

}  // namespace neliroute
