// The threads of this process by the names that librdkafka gives its own.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

[[nodiscard]] inline std::vector<pid_t> threads_named(std::string_view wanted) {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == wanted) found.push_back(std::stoi(task.path().filename().string()));
  }
  return found;
}

}  // namespace neliroute
