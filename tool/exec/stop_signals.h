// What SIGTERM and Ctrl-C mean to an owner: the first asks it to leave, and another one, 1 s later
// or more, to stop at once. GNU timeout sends its signal to the child and to the child's group,
// within a millisecond, and a supervisor may do the same: that is one request, not two.
//
// While the owner runs it takes the signals itself. Before and afterwards handlers do, as the
// thread that would take them waits for something else.
//
// Threads: note_stop_signal() and stop_at_once() any, and signal handlers; the others one.
// Units: none.   Errors: none.
#pragma once

namespace neliroute::tool {

enum class StopSignal { first, same, again };

/// A signal has come.
[[nodiscard]] StopSignal note_stop_signal() noexcept;

/// While an owner starts and owns nothing: the first signal ends this process, as a planned stop.
void end_on_stop_signals();
/// While one finishes, and has handed over: only the second signal counts.
void finish_until_stop_signal();

/// Kills the program, if one runs, and exits with 130.
[[noreturn]] void stop_at_once() noexcept;

}  // namespace neliroute::tool
