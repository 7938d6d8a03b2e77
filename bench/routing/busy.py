"""How busy the machine was, and who it was busy with."""
import os
import resource
from pathlib import Path

from harness import children


def _machine():
    """(ticks in all, idle ones, stolen ones) of all cores since the machine booted."""
    first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    ticks = [int(one) for one in first[:8]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


def _ours():
    """Processor seconds of this process and its children so far, of those that have ended too."""
    seconds = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        seconds += used.ru_utime + used.ru_stime
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                seconds += children.cpu_seconds(process.name)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return seconds


class Busy:
    """From now on. `roles`: name -> pids; those that end meanwhile are left out."""

    def __init__(self, roles):
        self.roles = roles
        self.began = children.boot_now()
        self.machine = _machine()
        self.ours = _ours()
        self.used = {pid: children.cpu_seconds(pid) for pids in roles.values() for pid in pids}

    def after(self):
        """Percent of the whole machine, in all and by processes of others; percent of a core by
        role.
        """
        seconds = children.boot_now() - self.began
        all_ticks, idle, stolen = (now - then for now, then in
                                   zip(_machine(), self.machine, strict=True))
        found = {}
        for role, pids in self.roles.items():
            found[role] = 0.0
            for pid in pids:
                try:
                    spent = children.cpu_seconds(pid) - self.used[pid]
                except (FileNotFoundError, ProcessLookupError):
                    continue
                found[role] += spent / seconds * 100
        busy = (all_ticks - idle - stolen) / all_ticks * 100
        ours = (_ours() - self.ours) / seconds / os.cpu_count() * 100
        return {"machine_percent": busy, "others_percent": max(0.0, busy - ours),
                "stolen_percent": stolen / all_ticks * 100, "core_percent": found}
