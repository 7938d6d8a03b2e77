#include "base/process_id.h"

#include <cstdint>
#include <random>

namespace neliroute {

ProcessId draw_process_id() {
  std::random_device device;
  std::uint64_t id = 0;
  while (id == 0) id = std::uint64_t{device()} << 32 | device();
  return ProcessId{id};
}

}  // namespace neliroute
