"""Where figures were taken: the machine and the versions. Figures without them say nothing."""
import os
import platform
import re
import subprocess
from pathlib import Path

from harness import deps
from harness.process import tool_path


def first_line(*command):
    """The first line that a program says about itself, or why there is none."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              timeout=20, check=False)
    except OSError as error:
        return str(error)
    return ((done.stdout or done.stderr).splitlines() or [""])[0]


def described():
    """Processor, cores, memory, kernel, and how busy it was."""
    model = re.search(r"model name\s*:\s*(.*)",
                      Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"processor": model[1] if model else platform.processor(),
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory, 1),
            "kernel": platform.release(), "load_at_start": os.getloadavg()[0]}


def versions(kafka):
    """Of all that takes part."""
    return {"kafka": kafka, "java": first_line(deps.need("java"), "-version"),
            "neliroute": first_line(tool_path(), "--version")}
