// Compiled into every test of the coverage build: a death test's child ends by abort(), and gcov
// writes its counts only when a process exits.
#include <csignal>

extern "C" void __gcov_dump();

namespace {

extern "C" void write_counts(int) { __gcov_dump(); }

// abort() ends the process when the handler returns.
[[maybe_unused]] const auto installed = std::signal(SIGABRT, write_counts);

}  // namespace
