// A member of a lane of which members assign.
#include "tests/fuzz/process_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::Subject({data, size}, neliroute::fuzz::Assigning::member).run();
  return 0;
}
