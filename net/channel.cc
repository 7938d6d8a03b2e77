#include "net/channel.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "net/channel_keys.h"

namespace neliroute {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kProofBytes = std::tuple_size_v<Digest>;
/// What a connection keeps between messages; and before its first one.
constexpr std::size_t kChunkBytes = std::size_t{16} << 10;
constexpr std::size_t kFirstChunkBytes = 256;

std::string length_bytes(std::size_t length) {
  std::string made;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte) {
    made += static_cast<char>(length >> (8 * byte));
  }
  return made;
}

std::size_t length_of(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte) {
    length |= std::size_t{static_cast<unsigned char>(bytes[byte])} << (8 * byte);
  }
  return length;
}

bool is_end(const Stream::Error& error) {
  return error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated;
}

std::string in_ms(milliseconds time) { return std::to_string(time.count()) + " ms"; }

}  // namespace

struct Channel::State : std::enable_shared_from_this<State> {
  State(std::unique_ptr<Stream> connected, Side side_, ChannelOptions options_)
      : stream(std::move(connected)),
        is_client(side_ == Side::client),
        options(std::move(options_)),
        limit(stream->get_executor()) {
    stream->expires_never();
  }

  void close() {
    if (std::exchange(over, true)) return;
    ++limited;
    limit.cancel();
    stream->close();
  }
  /// False, for a result.
  bool fail(std::string why) {
    if (over) return false;
    trouble = std::move(why);
    close();
    return false;
  }

  /// Until unlimit(); then it fails.
  void limit_to(milliseconds within, std::string why) {
    limit.expires_after(within);
    limit.async_wait([self = shared_from_this(), number = ++limited,
                      why = std::move(why)](Stream::Error error) mutable {
      if (!error && number == self->limited) self->fail(std::move(why));
    });
  }
  void unlimit() {
    ++limited;
    limit.cancel();
  }

  [[nodiscard]] std::string_view waiting() const {
    return std::string_view(input).substr(taken);
  }
  void take(std::size_t count) {
    taken += count;
    if (taken < input.size()) return;
    taken = 0;
    input.clear();
    if (input.capacity() > 4 * kChunkBytes) input.shrink_to_fit();
  }
  /// Reads until so many bytes wait. Memory grows with what has come, whatever was announced.
  Awaitable<bool> receive(std::size_t count, const char* ended);
  Awaitable<bool> send(const std::string& bytes);
  bool judge_magic();
  bool judge(const std::optional<Preamble>& theirs);
  Awaitable<bool> prove();
  Awaitable<bool> shake_hands();
  Awaitable<bool> receive_message(std::string& message);

  // They keep it until they end, whatever becomes of the Channel.
  static Awaitable<bool> open(std::shared_ptr<State> self, milliseconds within);
  static Awaitable<std::optional<std::string>> read(std::shared_ptr<State> self);
  static Awaitable<bool> write(std::shared_ptr<State> self, std::string message,
                               milliseconds within);

  const std::unique_ptr<Stream> stream;
  const bool is_client;
  const ChannelOptions options;
  boost::asio::steady_timer limit;
  std::uint64_t limited = 0;  ///< an earlier one that expired just then ends nothing
  bool over = false;
  std::string trouble;
  std::string own_preamble, their_preamble;
  std::optional<ChannelKeys> keys;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::vector<char> chunk = std::vector<char>(kFirstChunkBytes);
  std::string input;
  std::size_t taken = 0;  ///< of `input`
};

Awaitable<bool> Channel::State::receive(std::size_t count, const char* ended) {
  while (!over && waiting().size() < count) {
    const Outcome outcome = co_await await_moved([this](Stream::Moved then) {
      stream->async_read_some(boost::asio::buffer(chunk), std::move(then));
    });
    if (over) break;
    if (is_end(outcome.error)) co_return fail(ended);
    if (outcome.error) co_return fail("the connection broke: " + outcome.error.message());
    if (taken > 0) input.erase(0, std::exchange(taken, 0));
    input.append(chunk.data(), outcome.count);
  }
  co_return !over;
}

Awaitable<bool> Channel::State::send(const std::string& bytes) {
  std::size_t from = 0;
  while (!over && from < bytes.size()) {
    const auto rest = boost::asio::buffer(bytes) + from;
    const Outcome outcome = co_await await_moved([this, &rest](Stream::Moved then) {
      stream->async_write_some(rest, std::move(then));
    });
    if (over) break;
    if (outcome.error) co_return fail("the connection broke: " + outcome.error.message());
    from += outcome.count;
  }
  co_return !over;
}

bool Channel::State::judge_magic() {
  if (waiting().starts_with(Preamble::kMagic)) return true;
  constexpr std::string_view kTlsHandshake("\x16\x03", 2);
  if (waiting().starts_with(kTlsHandshake)) {
    return fail("the other side speaks TLS and this one does not; give both the same address, "
                "with quorums:// for TLS");
  }
  return fail("the other side does not speak \"" + options.protocol + "\"");
}

bool Channel::State::judge(const std::optional<Preamble>& theirs) {
  if (!theirs) return fail("the other side's first bytes make no sense");
  if (theirs->protocol != options.protocol.substr(0, Preamble::kProtocolBytes)) {
    return fail("the other side speaks \"" + theirs->protocol + "\", this one \"" +
                options.protocol + "\"");
  }
  const bool keyed = !options.key.empty();
  if (theirs->keyed == keyed) return true;
  return fail(keyed ? "this side has a key and the other one has none; give both the same"
                    : "the other side has a key and this one has none; give both the same");
}

/// The client first, so that a server says nothing to somebody without the key that the key could
/// be guessed from.
Awaitable<bool> Channel::State::prove() {
  keys.emplace(options.key, is_client ? own_preamble : their_preamble,
               is_client ? their_preamble : own_preamble);
  const Digest& own = is_client ? keys->client_proof() : keys->server_proof();
  const Digest& expected = is_client ? keys->server_proof() : keys->client_proof();
  std::string proof(own.data(), own.size());
  if (is_client) {
    const bool told = co_await send(proof);
    if (!told) co_return false;
  }
  const bool whole = co_await receive(
      kProofBytes, "the other side ended the connection instead of proving that it has the key");
  if (!whole) co_return false;
  const bool same = is_same_secret(waiting().substr(0, kProofBytes),
                                   std::string_view(expected.data(), expected.size()));
  take(kProofBytes);
  if (!is_client) {
    // Zeros, or the other side could not tell its operator what is wrong.
    if (!same) proof.assign(kProofBytes, '\0');
    const bool told = co_await send(proof);
    if (!told) co_return false;
  }
  if (!same) co_return fail("the keys of the two sides differ; give both the same");
  co_return true;
}

Awaitable<bool> Channel::State::shake_hands() {
  const bool told = co_await send(own_preamble);
  if (!told) co_return false;
  // What is no neliroute may be shorter than a preamble, and wait for an answer.
  for (const std::size_t count : {Preamble::kMagic.size(), Preamble::kBytes}) {
    const bool come =
        co_await receive(count, "the other side ended the connection before it said what it is");
    if (!come) co_return false;
    if (!judge_magic()) co_return false;
  }
  their_preamble = waiting().substr(0, Preamble::kBytes);
  take(Preamble::kBytes);
  if (!judge(Preamble::decode(their_preamble))) co_return false;
  if (options.key.empty()) co_return true;
  const bool proved = co_await prove();
  co_return proved;
}

Awaitable<bool> Channel::State::open(std::shared_ptr<State> self, milliseconds within) {
  const auto own = draw_preamble(self->options.protocol, !self->options.key.empty());
  if (!own) co_return self->fail("the system has no random numbers");
  self->own_preamble = own->encode();
  self->limit_to(within, "the other side did not say what it is within " + in_ms(within));
  const bool opened = co_await self->shake_hands();
  self->unlimit();
  co_return opened;
}

/// False: it failed.
Awaitable<bool> Channel::State::receive_message(std::string& message) {
  // Between messages it may end.
  const bool begun = co_await receive(1, "");
  if (!begun) co_return false;
  constexpr const char* kTorn = "the connection ended inside a message";
  const bool announced = co_await receive(kLengthBytes, kTorn);
  if (!announced) co_return false;
  const std::size_t length = length_of(waiting());
  const std::size_t most =
      std::min(options.message_bytes_max,
               received == 0 ? options.first_message_bytes_max : options.message_bytes_max);
  if (length > most) {
    co_return fail("the other side began a message of " + std::to_string(length) +
                   " bytes; at most " + std::to_string(most) + " are taken");
  }
  take(kLengthBytes);
  const std::size_t code_bytes = keys ? ChannelKeys::kCodeBytes : 0;
  const bool whole = co_await receive(length + code_bytes, kTorn);
  if (!whole) co_return false;
  message = waiting().substr(0, length);
  if (keys && !is_same_secret(waiting().substr(length, code_bytes),
                              keys->code(!is_client, received, message))) {
    co_return fail("somebody between the two sides changed, dropped or repeated a message");
  }
  if (received++ == 0) chunk.resize(kChunkBytes);
  take(length + code_bytes);
  co_return true;
}

Awaitable<std::optional<std::string>> Channel::State::read(std::shared_ptr<State> self) {
  std::string message;
  const bool whole = co_await self->receive_message(message);
  std::optional<std::string> result;
  if (whole) result = std::move(message);
  co_return result;
}

Awaitable<bool> Channel::State::write(std::shared_ptr<State> self, std::string message,
                                      milliseconds within) {
  if (self->over) co_return false;
  const std::size_t length = message.size();
  if (length > self->options.message_bytes_max) {
    co_return self->fail("a message of " + std::to_string(length) +
                         " bytes is too large for the other side; at most " +
                         std::to_string(self->options.message_bytes_max) + " are taken");
  }
  std::string frame = length_bytes(length);
  frame += message;
  if (self->keys) frame += self->keys->code(self->is_client, self->sent++, message);
  message.clear();
  self->limit_to(within, "the other side did not take a message of " + std::to_string(length) +
                             " bytes within " + in_ms(within));
  const bool told = co_await self->send(frame);
  self->unlimit();
  co_return told;
}

Channel::Channel(std::unique_ptr<Stream> stream, Side side, ChannelOptions options)
    : state_(std::make_shared<State>(std::move(stream), side, std::move(options))) {}

Channel::~Channel() { state_->close(); }

Awaitable<bool> Channel::open(milliseconds within) { return State::open(state_, within); }

Awaitable<std::optional<std::string>> Channel::read() { return State::read(state_); }

Awaitable<bool> Channel::write(std::string message, milliseconds within) {
  return State::write(state_, std::move(message), within);
}

void Channel::close() { state_->close(); }

const std::string& Channel::trouble() const noexcept { return state_->trouble; }

Awaitable<ReadWithin> read_within(std::shared_ptr<Channel> channel, milliseconds within) {
  boost::asio::steady_timer limit(co_await boost::asio::this_coro::executor, within);
  const auto waits = std::make_shared<bool>(true);
  limit.async_wait([channel, waits](const boost::system::error_code& error) {
    // It may be called although the wait has ended meanwhile.
    if (!error && std::exchange(*waits, false)) channel->close();
  });
  ReadWithin heard;
  heard.message = co_await channel->read();
  heard.in_time = std::exchange(*waits, false);
  co_return heard;
}

}  // namespace neliroute
