#include <neliroute/detail/assert.h>
#include <utility>

#include "quorum/bytes.h"
#include "quorum/client_message.h"

namespace neliroute::quorum {
namespace {

// --- To a voter ----------------------------------------------------------------------------------

void write(Writer& out, const Hello& hello) {
  out.words(hello.name);
  out.flag(hello.peer);
  out.number(hello.log);
  if (!hello.peer) return;
  out.number(std::int64_t{hello.election.count()});
  out.number(std::int64_t{hello.kept.count()});
}
void write(Writer& out, const Ask& ask) {
  out.number(ask.number);
  out.number(ask.index);
  out.flag(ask.since.has_value());
  if (ask.since) out.number(*ask.since);
  out.number(ask.entries);
}
void write(Writer& out, const Follow& follow) { out.number(follow.next); }
void write(Writer& out, const AppendRecord& append) {
  out.number(append.number);
  out.record(append.record);
}
void write(Writer& out, const PeerMessage& peer) {
  out.number(peer.log);
  out.rest(encode(peer.message));
}

milliseconds read_time(Reader& in, Index least) { return milliseconds(in.index(least)); }

Hello read_hello(Reader& in) {
  Hello hello;
  hello.name = in.words();
  hello.peer = in.flag();
  hello.log = in.number<std::uint32_t>();
  if (!hello.peer) return hello;
  hello.election = read_time(in, 1);
  hello.kept = read_time(in, 0);
  return hello;
}

Ask read_ask_of_client(Reader& in) {
  Ask ask;
  ask.number = in.number<std::uint64_t>();
  ask.index = in.index(kNothing);
  if (in.flag()) ask.since = in.stamp();
  ask.entries = in.number<std::uint32_t>();
  in.require(!ask.since || ask.index == kNothing);
  return ask;
}

ToVoter read_peer_message(Reader& in) {
  PeerMessage peer{in.number<std::uint32_t>(), {}};
  auto message = decode_message(in.rest());
  in.require(message.has_value());
  if (message) peer.message = *std::move(message);
  return peer;
}

ToVoter read_to_voter(Reader& in) {
  switch (in.number<std::uint8_t>()) {
    case 0:
      return read_hello(in);
    case 1:
      return read_ask_of_client(in);
    case 2:
      return Follow{in.index()};
    case 3:
      return AppendRecord{in.number<std::uint64_t>(), in.record()};
    case 4:
      return read_peer_message(in);
    default:
      in.require(false);
      return Hello{};
  }
}

// --- To a client ---------------------------------------------------------------------------------

void write(Writer& out, const Welcome& welcome) {
  out.number(welcome.logs);
  out.number(std::int64_t{welcome.election.count()});
  out.number(std::int64_t{welcome.kept.count()});
  out.flag(welcome.leads);
  out.words(welcome.leader);
}
void write(Writer& out, const Refused& refused) { out.words(refused.why); }
void write(Writer& /*out*/, const Resigned& /*resigned*/) {}
void write(Writer& out, const Answer& answer) {
  out.number(answer.number);
  out.number(answer.log);
  out.number(answer.first);
  out.number(answer.end);
  out.number(answer.index);
  out.number(answer.term_before);
  write(out, answer.entries);
}
void write(Writer& out, const Entries& entries) {
  out.number(entries.index);
  write(out, entries.entries);
}
void write(Writer& out, const Appended& appended) {
  out.number(appended.number);
  out.number(appended.index);
}

Welcome read_welcome(Reader& in) {
  Welcome welcome;
  welcome.logs = in.number<std::uint32_t>();
  welcome.election = read_time(in, 1);
  welcome.kept = read_time(in, 0);
  welcome.leads = in.flag();
  welcome.leader = in.words();
  in.require(welcome.logs >= 1);
  return welcome;
}

Answer read_answer(Reader& in) {
  Answer answer;
  answer.number = in.number<std::uint64_t>();
  answer.log = in.id<LogId>();
  answer.first = in.index();
  answer.end = in.index(answer.first);
  answer.index = in.index(answer.first);
  answer.term_before = in.term(0);
  answer.entries = read_entries(in, answer.term_before, BrokerTime());
  in.require((answer.index == 0) == (answer.term_before == 0) &&
             answer.index + std::ssize(answer.entries) <= answer.end);
  return answer;
}

Entries read_committed(Reader& in) {
  const Index index = in.index();
  return {index, read_entries(in, 0, BrokerTime())};
}

ToClient read_to_client(Reader& in) {
  switch (in.number<std::uint8_t>()) {
    case 0:
      return read_welcome(in);
    case 1:
      return Refused{in.words()};
    case 2:
      return Resigned{};
    case 3:
      return read_answer(in);
    case 4:
      return read_committed(in);
    case 5:
      return Appended{in.number<std::uint64_t>(), in.index(kNothing)};
    default:
      in.require(false);
      return Resigned{};
  }
}

std::size_t about(const ToClient& message) {
  if (const auto* answer = std::get_if<Answer>(&message)) return bytes_about(answer->entries);
  if (const auto* entries = std::get_if<Entries>(&message)) return bytes_about(entries->entries);
  return 64;
}

}  // namespace

std::string encode(const ToVoter& message) {
  Writer out(64);
  write_kind(out, message);
  std::visit([&](const auto& said) { write(out, said); }, message);
  return out.take();
}

std::string encode(const ToClient& message) {
  Writer out(about(message));
  write_kind(out, message);
  std::visit([&](const auto& said) { write(out, said); }, message);
  std::string bytes = out.take();
  NELIROUTE_ASSERT(bytes.size() <= kSaidBytesMax, "a message is not larger than it may be");
  return bytes;
}

std::optional<ToVoter> decode_to_voter(std::string_view bytes) {
  Reader in(bytes);
  in.require(bytes.size() <= kSaidBytesMax);
  ToVoter message = read_to_voter(in);
  return whole(in, std::move(message));
}

std::optional<ToClient> decode_to_client(std::string_view bytes) {
  Reader in(bytes);
  in.require(bytes.size() <= kSaidBytesMax);
  ToClient message = read_to_client(in);
  return whole(in, std::move(message));
}

}  // namespace neliroute::quorum
