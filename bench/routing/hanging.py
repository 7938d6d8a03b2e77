"""A process whose executor hangs: its main thread, on which the router runs, is stopped by ptrace;
its other threads, those of HTTP and of librdkafka, go on.

What this thread stops, it alone may let go on; when it ends, the kernel does.
"""
import ctypes
import os

from harness.children import boot_now

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_ANY_THREAD = 0x40000000  # __WALL
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


def _ptrace(request, thread):
    if _libc.ptrace(request, thread, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace of {thread}: {os.strerror(number)}")


class Hung:
    """From now on, until go_on()."""

    def __init__(self, pid):
        self.pid = pid  # of a process: also the id of its main thread
        _ptrace(_SEIZE, pid)
        self.since = boot_now()
        _ptrace(_INTERRUPT, pid)
        # Here, or Popen.poll() would take the stop for an end.
        os.waitpid(pid, _ANY_THREAD)

    def go_on(self):
        """The instant from which it may run."""
        at = boot_now()
        _ptrace(_DETACH, self.pid)
        return at
