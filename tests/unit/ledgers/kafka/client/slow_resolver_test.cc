// A broker's name that resolves as slowly as this test likes: ending a client waits for its
// threads, and a thread that is in a name lookup cannot be stopped.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>

#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

constexpr const char* kSlowName = "slow.invalid";

struct Resolver {
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  bool released = false;
};

Resolver& resolver() {
  static auto* one = new Resolver;  // librdkafka's threads may outlive main()
  return *one;
}

int resolve_slowly() {
  Resolver& r = resolver();
  std::unique_lock lock(r.mutex);
  ++r.waiting;
  r.changed.notify_all();
  r.changed.wait(lock, [&] { return r.released; });
  --r.waiting;
  r.changed.notify_all();
  return EAI_AGAIN;
}

TEST(SlowResolverTest, NobodyWaitsForANameLookupToClose) {
  Resolver& r = resolver();
  LedgerRig rig;
  rig.open_broker();
  auto parameters = rig.parameters();
  parameters.kafka.brokers = std::string(kSlowName) + ":9092," + rig.address();
  // Otherwise librdkafka asks for one broker's address only, and chooses it at random.
  parameters.kafka.properties["enable.sparse.connections"] = "false";
  rig.open(parameters);
  rig.start_and_read();
  rig.join_group(/*finish=*/true);
  {
    std::unique_lock lock(r.mutex);
    ASSERT_TRUE(r.changed.wait_for(lock, std::chrono::seconds{20}, [&] { return r.waiting > 0; }));
  }
  rig.close(milliseconds{1000});
  EXPECT_TRUE(rig.wait([](const Seen& seen) { return seen.closed; }));
  rig.destroy();
  std::unique_lock lock(r.mutex);
  EXPECT_GT(r.waiting, 0) << "the lookup goes on, with nobody waiting for it";
  r.released = true;
  r.changed.notify_all();
  r.changed.wait_for(lock, std::chrono::seconds{20}, [&] { return r.waiting == 0; });
}

}  // namespace
}  // namespace neliroute

extern "C" int getaddrinfo(const char* node, const char* service, const struct addrinfo* hints,
                           struct addrinfo** result) {
  if (node != nullptr && std::strcmp(node, neliroute::kSlowName) == 0) {
    return neliroute::resolve_slowly();
  }
  using Real = decltype(&getaddrinfo);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(node, service, hints, result);
}

#endif
