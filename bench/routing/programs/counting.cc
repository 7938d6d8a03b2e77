#include "bench/routing/programs/counting.h"

#include <utility>

#include "bench/routing/programs/program.h"
#include "forward/rules/beast_text.h"
#include "forward/rules/peer_fields.h"

namespace neliroute::bench {

using forward::to_beast;
using forward::view_of;

std::optional<Increment> read_increment(const HttpRequest& request) {
  const std::string_view key = view_of(request["X-Neli-Key"]);
  if (!key.starts_with('k')) return std::nullopt;
  const auto number = number_of<std::uint32_t>(key.substr(1));
  const bool keyless = request.count("Idempotency-Key") == 0;
  const auto call = number_of<std::uint64_t>(
      view_of(request[keyless ? "X-Bench-Call" : "Idempotency-Key"]));
  if (!number || !call) return std::nullopt;
  return Increment{*call, *number, keyless};
}

HttpAnswer misdirected(Slot slot, const Epoch& redirect) {
  HttpAnswer answer;
  answer.status = 421;
  answer.fields = std::string(forward::kSlotField) + ": " + std::to_string(slot.value()) + "\r\n";
  if (redirect != kNoEpoch) {
    answer.fields += std::string(forward::kEpochField) + ": " + to_string(redirect) + "\r\n";
  }
  answer.body = "another process owns this key\n";
  return answer;
}

void increment(StoreLink& store, const ServedPtr& served, const Increment& what, Slot slot,
               const Epoch& epoch, std::shared_ptr<void> guard) {
  const StoreRequest request{what.call, epoch.incarnation, epoch.offset,
                             what.key,  slot.value(),      what.keyless ? 1U : 0U};
  store.increment(request, [served, slot, guard = std::move(guard)](const StoreAnswer& stored) {
    if (stored.status == 409) return served->answer(misdirected(slot));
    HttpAnswer answer;
    answer.status = stored.status;
    answer.body = std::to_string(stored.call) + " " + std::to_string(stored.value) + "\n";
    served->answer(answer);
  });
}

}  // namespace neliroute::bench
