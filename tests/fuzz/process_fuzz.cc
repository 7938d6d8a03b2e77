// A process, and a group that assigns to it.
#include "tests/fuzz/process_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  neliroute::fuzz::Subject({data, size}, neliroute::fuzz::Assigning::group).run();
  return 0;
}
