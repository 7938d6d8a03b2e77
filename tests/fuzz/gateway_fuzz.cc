// What a client sends to a gateway, and an owner to it: any bytes. What is passed on means to the
// next server what it meant here: it has one length, one Host, and nothing that concerned the
// connection it came on.
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <iterator>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "forward/rules/forwarded.h"
#include "forward/rules/key_source.h"
#include "forward/rules/peer_fields.h"
#include "forward/rules/proxy_rules.h"
#include "router/text/json_text.h"
#include "router/text/percent.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

namespace http = boost::beast::http;
using namespace forward;

constexpr const char* kSources[] = {"header:X-Key", "path:2", "query:key", "cookie:sid", "host"};

std::size_t count(const http::fields& fields, const char* name) {
  const auto [first, last] = fields.equal_range(name);
  return static_cast<std::size_t>(std::distance(first, last));
}

/// As the serializer of Beast writes a header.
template <class Message>
std::string written(const Message& message) {
  std::string text;
  http::serializer<Message::is_request::value, http::empty_body> writer(message);
  writer.split(true);
  boost::system::error_code error;
  while (!writer.is_header_done() && !error) {
    writer.next(error, [&](boost::system::error_code&, const auto& buffers) {
      std::size_t size = 0;
      for (const boost::asio::const_buffer part : boost::beast::buffers_range_ref(buffers)) {
        text.append(static_cast<const char*>(part.data()), part.size());
        size += part.size();
      }
      writer.consume(size);
    });
  }
  return text;
}

void check_passed_on(RequestHeader header) {
  strip_hop_by_hop(header);
  strip_peer_fields(header);
  PeerFields said;
  said.epoch = Epoch{1, 2};
  said.hops = 1;
  write_peer_fields(header, said);
  strip_forwarded(header, false);
  note_passed(header, {"gw", "10.0.0.1", "http"});
  for (const char* name : {"Connection", "Transfer-Encoding", "TE", "Upgrade", "Trailer",
                           "Keep-Alive", "Proxy-Authorization"}) {
    FUZZ_CHECK(count(header, name) == 0, "stays on its connection");
  }
  for (const auto& one : header) {
    const std::string name(one.name_string().data(), one.name_string().size());
    FUZZ_CHECK(!is_peer_field(name) || name.find('_') == name.npos, "no application confuses it");
  }
  FUZZ_CHECK(count(header, "Host") <= 1 && count(header, "Content-Length") <= 1, "means one thing");
  const auto read = read_peer_fields(header);
  FUZZ_CHECK(std::holds_alternative<PeerFields>(read), "ours can be read");
  FUZZ_CHECK(std::get<PeerFields>(read) == said, "as they were written");
  const http::request<http::empty_body> message(header);
  const std::string text = written(message);
  http::request_parser<http::empty_body> again;
  again.header_limit(std::numeric_limits<std::uint32_t>::max());
  again.skip(true);
  boost::system::error_code error;
  again.put(boost::asio::buffer(text), error);
  FUZZ_CHECK(!error, "the next server understands it");
  FUZZ_CHECK(again.get().target() == header.target(), "and the same of it");
}

void check_request(const RequestHeader& header) {
  if (const auto refusal = refusal_of(header)) {
    FUZZ_CHECK(refusal->status == 400 || refusal->status == 405 || refusal->status == 505,
               "it is the client's fault");
    return;
  }
  const auto target = split_target({header.target().data(), header.target().size()});
  if (!target) return;
  FUZZ_CHECK(target->path.size() + target->query.size() <= header.target().size(), "within it");
  for (const char* source : kSources) {
    const auto key = KeySource::parse(source).value().key_of(header, *target);
    const auto* bytes = std::get_if<std::string>(&key);
    FUZZ_CHECK(bytes == nullptr || !bytes->empty(), "an empty key is none");
    FUZZ_CHECK(bytes == nullptr || is_utf8(*bytes), "all servers can read it");
  }
  static_cast<void>(read_peer_fields(header));
  static_cast<void>(upgrade_of(header));
  static_cast<void>(is_idempotent(header));
  check_passed_on(header);
}

}  // namespace

void one_input(std::string_view bytes) {
  static_cast<void>(KeySource::parse(bytes));
  static_cast<void>(split_target(bytes));
  static_cast<void>(percent_decoded(bytes, true));
  boost::system::error_code error;
  http::request_parser<http::empty_body> request;
  request.skip(true);
  request.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (!error && request.is_header_done()) check_request(request.get().base());
  error = {};
  http::response_parser<http::empty_body> answer;
  answer.skip(true);
  answer.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error || !answer.is_header_done()) return;
  ResponseHeader header = answer.get().base();
  if (fault_of(header)) return;
  const std::size_t lengths = count(header, "Content-Length");
  FUZZ_CHECK(lengths <= 1, "has one length");
  strip_hop_by_hop(header);
  note_passed(header, "gw");
  FUZZ_CHECK(count(header, "Content-Length") == lengths, "keeps its length");
}

}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
