"""How busy the machine was, and who it was busy with."""
from pathlib import Path

from harness import children


def _machine():
    """(ticks in all, idle ones, stolen ones) of all cores since the machine booted."""
    first = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    ticks = [int(one) for one in first[:8]]
    return sum(ticks), ticks[3] + ticks[4], ticks[7]


class Busy:
    """From now on. `roles`: name -> pids; those that end meanwhile are left out."""

    def __init__(self, roles):
        self.roles = roles
        self.began = children.boot_now()
        self.machine = _machine()
        self.used = {pid: children.cpu_seconds(pid) for pids in roles.values() for pid in pids}

    def after(self):
        """Percent of the whole machine, and percent of a core by role."""
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
        return {"machine_percent": (all_ticks - idle) / all_ticks * 100 if all_ticks else 0.0,
                "stolen_percent": stolen / all_ticks * 100 if all_ticks else 0.0,
                "core_percent": found}
