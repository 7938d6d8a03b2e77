#include "quorum/encoding.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

#include "quorum/bytes.h"

namespace neliroute::quorum {
namespace {

// --- Parts ---------------------------------------------------------------------------------------

void write(Writer& out, const Configuration& configuration) {
  NELIROUTE_ASSERT(configuration.members.size() <= kMembersMax, "there are few voters");
  out.number(static_cast<std::uint8_t>(configuration.members.size()));
  for (const Member& member : configuration.members) {
    out.number(member.id);
    out.address(member.address);
    out.number(static_cast<std::uint8_t>(member.priority));
  }
}

Configuration read_configuration(Reader& in) {
  Configuration configuration;
  const auto count = in.number<std::uint8_t>();
  in.require(count >= 1 && count <= kMembersMax);
  for (int i = 0; in.ok() && i < count; ++i) {
    Member member{in.id<VoterId>(), in.address(), in.number<std::uint8_t>()};
    in.require(member.priority >= 1 && std::size_t(member.priority) <= kMembersMax &&
               configuration.find(member.id) == nullptr &&
               configuration.at(member.address) == nullptr);
    configuration.members.push_back(std::move(member));
  }
  return configuration;
}

void write(Writer& out, const LogStart& start) {
  out.number(start.first);
  out.number(start.term_before);
  out.number(start.stamped_before);
  write(out, start.configuration);
}

LogStart read_start(Reader& in) {
  LogStart start{in.index(), in.term(0), in.stamp(), read_configuration(in)};
  in.require((start.first == 0) == (start.term_before == 0));
  return start;
}

}  // namespace

void write(Writer& out, const std::vector<Entry>& entries) {
  out.number(static_cast<std::uint32_t>(entries.size()));
  for (const Entry& entry : entries) {
    out.number(entry.term);
    out.number(entry.stamped);
    write_kind(out, entry.what);
    if (const auto* record = std::get_if<std::string>(&entry.what)) {
      out.record(*record);
    } else if (const auto* configuration = std::get_if<Configuration>(&entry.what)) {
      write(out, *configuration);
    }
  }
}

std::vector<Entry> read_entries(Reader& in, Term least, BrokerTime earliest) {
  std::vector<Entry> entries;
  const auto count = in.number<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < count; ++i) {
    Entry entry{in.term(std::max<Term>(least, 1)), in.stamp(), Begins{}};
    in.require(entry.stamped >= earliest);
    switch (in.number<std::uint8_t>()) {
      case 0:
        break;
      case 1:
        entry.what = in.record();
        break;
      case 2:
        entry.what = read_configuration(in);
        break;
      default:
        in.require(false);
    }
    least = entry.term;
    earliest = entry.stamped;
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// With room for what is not a record.
std::size_t bytes_about(const std::vector<Entry>& entries) {
  std::size_t bytes = 512;
  for (const Entry& entry : entries) {
    const auto* record = std::get_if<std::string>(&entry.what);
    bytes += 32 + (record != nullptr ? record->size() : 0);
  }
  return bytes;
}

namespace {

// --- Messages ------------------------------------------------------------------------------------

void write(Writer& out, const Here& here) {
  out.flag(here.empty);
  NELIROUTE_ASSERT(here.met.size() <= kMembersMax, "it has met voters alone");
  out.number(static_cast<std::uint8_t>(here.met.size()));
  for (const VoterId id : here.met) {
    out.number(id);
  }
}
void write(Writer& out, const Formed& formed) { write(out, formed.start); }
void write(Writer& out, const AskVote& ask) {
  out.flag(ask.poll);
  out.number(ask.asked);
  out.number(ask.end);
  out.number(ask.last_term);
  out.flag(ask.handed_over);
}
void write(Writer& out, const GiveVote& vote) {
  out.flag(vote.poll);
  out.number(vote.asked);
  out.flag(vote.yes);
}
void write(Writer& out, const Append& append) {
  out.number(append.index);
  out.number(append.term_before);
  out.number(append.committed);
  out.number(append.round);
  write(out, append.entries);
}
void write(Writer& out, const Restart& restart) {
  out.number(restart.round);
  write(out, restart.start);
}
void write(Writer& out, const Stored& stored) {
  out.number(stored.end);
  out.number(stored.round);
}
void write(Writer& out, const Behind& behind) {
  out.number(behind.end);
  out.number(behind.round);
}
void write(Writer& /*out*/, const Outdated& /*outdated*/) {}
void write(Writer& /*out*/, const TakeOver& /*take_over*/) {}

Here read_here(Reader& in) {
  Here here{in.flag(), {}};
  const auto met = in.number<std::uint8_t>();
  in.require(met <= kMembersMax);
  for (int i = 0; in.ok() && i < met; ++i) {
    here.met.push_back(in.id<VoterId>());
  }
  return here;
}

/// A poll asks for the next term of its sender; a vote, for the one that it is in.
AskVote read_ask(Reader& in, Term of) {
  const AskVote ask{in.flag(), in.term(1), in.index(), in.term(0), in.flag()};
  in.require(ask.asked == of + (ask.poll ? 1 : 0));
  return ask;
}

GiveVote read_vote(Reader& in) { return {in.flag(), in.term(1), in.flag()}; }

/// Of a leader in this term: none of its entries is of a later one.
Append read_append(Reader& in, Term of) {
  Append append;
  append.index = in.index();
  append.term_before = in.term(0);
  append.committed = in.index();
  append.round = in.number<std::uint64_t>();
  append.entries = read_entries(in, append.term_before, BrokerTime());
  in.require(of >= 1 && (append.index == 0) == (append.term_before == 0) &&
             append.term_before <= of &&
             (append.entries.empty() || append.entries.back().term <= of));
  return append;
}

Restart read_restart(Reader& in, Term of) {
  const auto round = in.number<std::uint64_t>();
  Restart restart{read_start(in), round};
  in.require(of >= 1 && restart.start.term_before <= of);
  return restart;
}

decltype(Message::body) read_body(Reader& in, Term of) {
  switch (in.number<std::uint8_t>()) {
    case 0:
      return read_here(in);
    case 1:
      return Formed{read_start(in)};
    case 2:
      return read_ask(in, of);
    case 3:
      return read_vote(in);
    case 4:
      return read_append(in, of);
    case 5:
      return read_restart(in, of);
    case 6:
      return Stored{in.index(), in.number<std::uint64_t>()};
    case 7:
      return Behind{in.index(kNothing), in.number<std::uint64_t>()};
    case 8:
      return Outdated{};
    case 9:
      in.require(of >= 1);
      return TakeOver{};
    default:
      in.require(false);
      return {};
  }
}

}  // namespace

std::string encode(const Message& message) {
  const auto* append = std::get_if<Append>(&message.body);
  Writer out(append != nullptr ? bytes_about(append->entries) : 512);
  out.number(kFormat);
  out.number(message.from);
  out.address(message.from_address);
  out.address(message.to_address);
  out.maybe(message.log);
  out.number(message.term);
  out.number(message.told);
  write_kind(out, message.body);
  std::visit([&](const auto& body) { write(out, body); }, message.body);
  std::string bytes = out.take();
  NELIROUTE_ASSERT(bytes.size() <= kMessageBytesMax, "a message is not larger than it may be");
  return bytes;
}

std::optional<Message> decode_message(std::string_view bytes) {
  Reader in(bytes);
  in.require(bytes.size() <= kMessageBytesMax && in.number<char>() == kFormat);
  Message message;
  message.from = in.id<VoterId>();
  message.from_address = in.address();
  message.to_address = in.address();
  message.log = in.maybe<LogId>();
  message.term = in.term(0);
  message.told = in.number<std::uint64_t>();
  message.body = read_body(in, message.term);
  // Only these two come from a voter without a log, or are for one.
  in.require(message.log.has_value() || std::holds_alternative<Here>(message.body) ||
             std::holds_alternative<Outdated>(message.body));
  return whole(in, std::move(message));
}

std::string encode(const Vote& vote) {
  Writer out(64);
  out.number(kFormat);
  out.number(vote.self);
  out.maybe(vote.log);
  out.number(vote.term);
  out.maybe(vote.voted_for);
  return out.take();
}

std::optional<Vote> decode_vote(std::string_view bytes) {
  Reader in(bytes);
  in.require(in.number<char>() == kFormat);
  const Vote vote{in.id<VoterId>(), in.maybe<LogId>(), in.term(0), in.maybe<VoterId>()};
  in.require(!vote.voted_for || (vote.log && vote.term >= 1));
  return whole(in, vote);
}

std::string encode(const Segment& segment) {
  Writer out(bytes_about(segment.entries));
  out.number(kFormat);
  out.number(segment.log);
  out.flag(segment.anew);
  write(out, segment.start);
  write(out, segment.entries);
  return out.take();
}

std::optional<Segment> decode_segment(std::string_view bytes) {
  Reader in(bytes);
  in.require(in.number<char>() == kFormat);
  Segment segment{in.id<LogId>(), in.flag(), read_start(in), {}};
  segment.entries = read_entries(in, segment.start.term_before, segment.start.stamped_before);
  return whole(in, std::move(segment));
}

std::string encode(const Batch& batch) {
  Writer out(bytes_about(batch.entries));
  out.number(batch.index);
  write(out, batch.entries);
  return out.take();
}

std::optional<Batch> decode_batch(std::string_view bytes) {
  Reader in(bytes);
  Batch batch{in.index(), {}};
  batch.entries = read_entries(in, 0, BrokerTime());
  return whole(in, std::move(batch));
}

}  // namespace neliroute::quorum
