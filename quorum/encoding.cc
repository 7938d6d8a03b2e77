#include "quorum/encoding.h"

#include <algorithm>
#include <concepts>
#include <neliroute/detail/assert.h>
#include <type_traits>
#include <utility>

namespace neliroute::quorum {
namespace {

class Writer {
 public:
  explicit Writer(std::size_t about) { bytes_.reserve(about); }

  template <std::integral T>
  void number(T value) {
    auto left = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(left & 0xff));
      left = static_cast<decltype(left)>(std::uint64_t{left} >> 8);
    }
  }
  template <class Tag, class T>
  void number(StrongId<Tag, T> id) {
    number(id.value());
  }
  void number(BrokerTime time) { number(std::int64_t{time.time_since_epoch().count()}); }
  void flag(bool value) { number<std::uint8_t>(value ? 1 : 0); }
  template <class Id>
  void maybe(const std::optional<Id>& id) {
    flag(id.has_value());
    if (id) {
      number(*id);
    }
  }
  void address(const std::string& text) {
    NELIROUTE_ASSERT(text.size() <= kAddressBytesMax, "an address is short");
    number(static_cast<std::uint8_t>(text.size()));
    bytes_ += text;
  }
  void record(const std::string& text) {
    NELIROUTE_ASSERT(text.size() <= kRecordBytesMax, "a record is not larger than it may be");
    number(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After the first thing that cannot be, it reads only zeros.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool all_read() const noexcept { return ok_ && left_.empty(); }
  void require(bool condition) {
    if (!condition) {
      ok_ = false;
      left_ = {};
    }
  }
  template <std::integral T>
  T number() {
    require(left_.size() >= sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; ok_ && i < sizeof(T); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(left_[i])} << (8 * i);
    }
    left_.remove_prefix(ok_ ? sizeof(T) : 0);
    return static_cast<T>(value);
  }
  bool flag() {
    const auto value = number<std::uint8_t>();
    require(value <= 1);
    return value == 1;
  }
  /// Of a voter or a log. None is 0.
  template <class Id>
  Id id() {
    const Id id(number<typename Id::integer_type>());
    require(id != Id());
    return id;
  }
  template <class Id>
  std::optional<Id> maybe() {
    return flag() ? std::optional(id<Id>()) : std::nullopt;
  }
  Term term(Term least) {
    const auto term = number<Term>();
    require(term >= least && term < static_cast<Term>(kNumberEnd));
    return term;
  }
  Index index(Index least = 0) {
    const auto index = number<Index>();
    require(index >= least && index < kNumberEnd);
    return index;
  }
  BrokerTime stamp() { return BrokerTime(milliseconds(index())); }
  std::string address() {
    std::string text = this->text(number<std::uint8_t>());
    require(!text.empty());
    return text;
  }
  std::string record() {
    const auto size = number<std::uint32_t>();
    require(size <= kRecordBytesMax);
    return text(size);
  }

 private:
  std::string text(std::size_t size) {
    require(left_.size() >= size);
    std::string text(left_.substr(0, ok_ ? size : 0));
    left_.remove_prefix(text.size());
    return text;
  }

  std::string_view left_;
  bool ok_ = true;
};

// --- Parts ---------------------------------------------------------------------------------------
// What is one of several kinds is numbered as its std::variant lists them.

template <class Variant>
void write_kind(Writer& out, const Variant& what) {
  out.number(static_cast<std::uint8_t>(what.index()));
}

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

/// Terms and stamps never fall.
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

// --- Messages ------------------------------------------------------------------------------------

void write(Writer& out, const Here& here) {
  NELIROUTE_ASSERT(here.addresses.size() <= kMembersMax, "there are few voters");
  out.flag(here.empty);
  out.number(static_cast<std::uint8_t>(here.addresses.size()));
  for (const std::string& address : here.addresses) {
    out.address(address);
  }
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

Here read_here(Reader& in) {
  Here here{in.flag(), {}, {}};
  const auto count = in.number<std::uint8_t>();
  in.require(count <= kMembersMax);
  for (int i = 0; in.ok() && i < count; ++i) {
    here.addresses.push_back(in.address());
  }
  const auto met = in.number<std::uint8_t>();
  in.require(met <= kMembersMax);
  for (int i = 0; in.ok() && i < met; ++i) {
    here.met.push_back(in.id<VoterId>());
  }
  return here;
}

/// A poll asks for the next term of its sender; a vote, for the one that it is in.
AskVote read_ask(Reader& in, Term of) {
  const AskVote ask{in.flag(), in.term(1), in.index(), in.term(0)};
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
    default:
      in.require(false);
      return {};
  }
}

template <class T>
std::optional<T> whole(const Reader& in, T read) {
  return in.all_read() ? std::optional<T>(std::move(read)) : std::nullopt;
}

/// At the end of what it reserves, with room for what is not a record.
std::size_t about(const std::vector<Entry>& entries) {
  std::size_t bytes = 512;
  for (const Entry& entry : entries) {
    const auto* record = std::get_if<std::string>(&entry.what);
    bytes += 32 + (record != nullptr ? record->size() : 0);
  }
  return bytes;
}

}  // namespace

std::string encode(const Message& message) {
  const auto* append = std::get_if<Append>(&message.body);
  Writer out(append != nullptr ? about(append->entries) : 512);
  out.number(kFormat);
  out.number(message.from);
  out.address(message.from_address);
  out.address(message.to_address);
  out.maybe(message.log);
  out.number(message.term);
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
  Writer out(about(segment.entries));
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
  Writer out(about(batch.entries));
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
