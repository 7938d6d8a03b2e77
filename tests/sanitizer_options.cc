// Options of the sanitizers, compiled into every test; the variables ASAN_OPTIONS, UBSAN_OPTIONS
// and TSAN_OPTIONS add to them. The sanitizers call these functions by name.
extern "C" {

const char* __asan_default_options();
const char* __tsan_default_options();
const char* __tsan_default_suppressions();
const char* __ubsan_default_options();

const char* __asan_default_options() { return "detect_stack_use_after_return=1"; }

const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

// One a line, each under a comment with its reason. There is none.
const char* __tsan_default_suppressions() { return ""; }

const char* __ubsan_default_options() { return "print_stacktrace=1"; }
}
