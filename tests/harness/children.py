"""Child processes that cannot outlive the test, whatever ends it.

Three nets, since each has a hole: `with` blocks and atexit (not run on SIGKILL), a SIGTERM
handler that turns ctest's or a person's signal into a normal exit, and PR_SET_PDEATHSIG, with
which the kernel kills the children of a test that died without a word. Only pids started here are
ever signalled.
"""
import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_children = []
_handlers_set = False


def boot_now():
    """CLOCK_BOOTTIME in seconds: the clock of every event log, the same for all processes here."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _before_exec(parent):
    """Runs in the child between fork and exec."""
    # `scripts/test &` ignores it, and a shell that inherits that could not trap it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before prctl could see it
        os._exit(1)


def _on_signal(number, _frame):
    # Once is enough: a second one (timeout(1) sends two) would cut the cleaning up short.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def _set_handlers():
    global _handlers_set
    if not _handlers_set and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _on_signal)
        signal.signal(signal.SIGHUP, _on_signal)
        atexit.register(end_all)
        _handlers_set = True


def spawn(command, **options):
    """Starts a child in a process group of its own, so that Ctrl-C reaches only the test.

    Call it from the main thread: the kernel sends PDEATHSIG when the *thread* that forked ends.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("spawn() from the main thread only: PDEATHSIG follows the thread")
    _set_handlers()
    parent = os.getpid()
    options.setdefault("stdin", subprocess.DEVNULL)
    child = subprocess.Popen([str(part) for part in command], start_new_session=True,
                             preexec_fn=lambda: _before_exec(parent), **options)
    _children.append(child)
    return child


def _send(child, number):
    if child.poll() is None:
        try:
            os.kill(child.pid, number)
        except ProcessLookupError:
            pass


def end(child, grace=5.0):
    """Ends one child: SIGTERM, then SIGKILL after `grace` seconds (at once when it is 0)."""
    if child.poll() is None:
        if grace > 0:
            _send(child, signal.SIGTERM)
            _send(child, signal.SIGCONT)  # a stopped process cannot act on SIGTERM
            try:
                child.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        _send(child, signal.SIGKILL)
        child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe:
            pipe.close()
    if child in _children:
        _children.remove(child)


def end_all(grace=2.0):
    """Ends every child that is still there; all get SIGTERM before any is waited for."""
    for child in _children:
        _send(child, signal.SIGTERM)
        _send(child, signal.SIGCONT)
    deadline = time.monotonic() + grace
    for child in list(reversed(_children)):
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        end(child, grace=0)


def stop(pid):
    """SIGSTOP, and waits until each thread has stopped, or ended: until then it goes on working."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: all(_state(task) in "TZ" for task in Path(f"/proc/{pid}/task").iterdir()),
               20, f"process {pid} has stopped", poll=0.001)


def _state(task):
    try:
        return _fields(task)[0]
    except (FileNotFoundError, ProcessLookupError):
        return "T"  # that thread has ended


def _fields(process):
    """Of its stat in /proc, from the state on."""
    stat = (process / "stat").read_text(encoding="ascii", errors="replace")
    return stat.rpartition(")")[2].split()


def cpu_seconds(pid):
    """User and system time that a process used so far."""
    fields = _fields(Path(f"/proc/{pid}"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    """The resident set of a process now."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def wait_until(condition, timeout, what, poll=0.02):
    """Calls `condition` until its answer is true, and returns that answer.

    `what` may be a function: it is asked only on failure, to say what was still missing then.
    """
    deadline = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            text = what() if callable(what) else what
            raise TimeoutError(f"not within {timeout:g} s: {text}")
        time.sleep(poll)
