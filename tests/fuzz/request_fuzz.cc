// What a client sends to the admin port: any bytes. What is read stays within the bytes that came,
// and however they come in pieces, they mean the same.
#include "admin/request.h"

#include <algorithm>
#include <iterator>

#include "admin/control/control_text.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

using admin::NeedMore;
using admin::Refusal;
using admin::Request;

constexpr std::uint32_t kSlots = 1024;
constexpr unsigned kRefusals[] = {400, 405, 411, 413, 414, 431};
constexpr std::size_t kBodyMost = 64;

/// What is POSTed is read at one path.
std::variant<std::size_t, Refusal> may_post(const Request& header) {
  if (header.path == "/v1/admit") return kBodyMost;
  return Refusal{405, "only GET and HEAD are answered here"};
}

void check(const Refusal& refusal) {
  const auto known = std::find(std::begin(kRefusals), std::end(kRefusals), refusal.status);
  FUZZ_CHECK(known != std::end(kRefusals), "it is the client's fault");
  FUZZ_CHECK(!refusal.error.empty(), "which it hears");
}

void check(const Request& request, std::string_view bytes) {
  FUZZ_CHECK(request.path.size() + request.query.size() <= admin::kTargetBytesMax, "is bounded");
  FUZZ_CHECK(bytes.find(request.query) != std::string_view::npos, "as it was sent");
  FUZZ_CHECK(request.body.size() <= kBodyMost && bytes.ends_with(request.body), "at its end");
  FUZZ_CHECK(request.post || request.body.empty(), "only what is POSTed has one");
  static_cast<void>(admin::is_own_page(request.origin, request.host));
  static_cast<void>(admin::bears(request.authorization, "token"));
  const auto question = admin::read_route_question(request.query, kSlots);
  if (const auto* refusal = std::get_if<Refusal>(&question)) return check(*refusal);
  const auto& asked = std::get<admin::RouteQuestion>(question);
  FUZZ_CHECK(asked.slot < kSlots, "a slot that there is");
  FUZZ_CHECK(!asked.key || asked.key->size() <= request.query.size(), "decoding makes it shorter");
}

/// Where the answer is known, all bytes were needed that it took, and none behind them.
void check_pieces(std::string_view bytes, std::size_t used, std::size_t answer) {
  std::size_t used_of_piece = 0;
  admin::Searched none;
  const auto alone = admin::read_request(bytes.substr(0, used), used_of_piece, none, may_post);
  FUZZ_CHECK(alone.index() == answer && used_of_piece == used, "what comes later does not count");
  admin::Searched searched;
  for (const std::size_t length : {used / 2, used - 1}) {
    const auto less =
        admin::read_request(bytes.substr(0, length), used_of_piece, searched, may_post);
    FUZZ_CHECK(!std::holds_alternative<Request>(less), "it is not told before it came");
    if (!std::holds_alternative<NeedMore>(less)) return;  // nearly too long
  }
  const auto rest = admin::read_request(bytes, used_of_piece, searched, may_post);
  FUZZ_CHECK(rest.index() == answer && used_of_piece == used, "as if it had come at once");
}

}  // namespace

void one_input(std::string_view bytes) {
  static_cast<void>(admin::read_query(bytes));
  const SlotSpace space{SlotCount{kSlots}};
  const auto admit = admin::read_admit(bytes, space);
  if (const auto* asked = std::get_if<admin::AdmitQuestion>(&admit)) {
    FUZZ_CHECK(asked->slot.value() < kSlots, "a slot that there is");
  }
  static_cast<void>(admin::read_done(bytes));
  std::size_t used = 0;
  admin::Searched searched;
  const auto read = admin::read_request(bytes, used, searched, may_post);
  FUZZ_CHECK(used <= bytes.size(), "nothing that did not come");
  if (std::holds_alternative<NeedMore>(read)) {
    FUZZ_CHECK(bytes.size() < admin::kHeaderBytesMax + kBodyMost, "it does not wait for ever");
  } else if (const auto* refusal = std::get_if<Refusal>(&read)) {
    check(*refusal);
  } else {
    FUZZ_CHECK(used > 0, "a request takes bytes");
    check(std::get<Request>(read), bytes.substr(0, used));
    check_pieces(bytes, used, read.index());
  }
}

}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
