// Members to which Kafka's group assigns.
#include "tests/fuzz/ledger_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::World({data, size}, neliroute::fuzz::Assigning::group).run();
  return 0;
}
