// stderr: what a process says of itself. Nobody waits for whoever reads it: a log that stalled (a
// pipe whose reader has stopped, a terminal after Ctrl-S) would stop an owner, and an error must
// reach the exit code where the disk of the log is full.
//
// Threads: any.   Units: bytes.
// Errors: none. Lines are kept for a stalled reader, up to a bound; how many were lost is said once
// it reads again.
#pragma once

#include <string>
#include <string_view>

namespace neliroute::tool {

/// Whole lines, with their ends.
void write_stderr(std::string lines);
/// What does not fit now is left out. For a signal handler, too.
void draw_stderr(std::string_view text) noexcept;
/// Before the process ends: gives a slow reader a second to take the rest.
void finish_stderr();

}  // namespace neliroute::tool
