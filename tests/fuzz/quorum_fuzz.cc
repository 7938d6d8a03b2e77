// What a voter reads from its peers, clients and disk, and what clients read: any bytes. What is
// accepted has one encoding, and is within its limits.
#include "quorum/client_message.h"
#include "quorum/encoding.h"
#include "tests/fuzz/bytes.h"

namespace neliroute::fuzz {
namespace {

template <class T>
void check(const std::optional<T>& read, std::string_view bytes) {
  FUZZ_CHECK(!read || quorum::encode(*read) == bytes, "nothing is read that is not there");
}

void one_input(std::string_view bytes) {
  const auto message = quorum::decode_message(bytes);
  check(message, bytes);
  check(quorum::decode_vote(bytes), bytes);
  check(quorum::decode_segment(bytes), bytes);
  check(quorum::decode_batch(bytes), bytes);
  check(quorum::decode_to_voter(bytes), bytes);
  check(quorum::decode_to_client(bytes), bytes);
  if (!message) return;
  if (const auto* append = std::get_if<quorum::Append>(&message->body)) {
    quorum::Term term = append->term_before;
    for (const quorum::Entry& entry : append->entries) {
      FUZZ_CHECK(entry.term >= term && entry.term <= message->term, "terms do not fall");
      term = entry.term;
    }
  }
}

}  // namespace
}  // namespace neliroute::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::one_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
