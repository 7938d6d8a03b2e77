"""Where figures were taken: the machine and the versions, without which they mean nothing."""
import json
import os
import platform
import re
import subprocess
import sys
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


def context(**versions):
    """Where, by which command and with which programs figures were taken; Kafka's and what else
    takes part are given.
    """
    return {"command": " ".join(sys.argv), "machine": described(),
            "versions": {"java": first_line(deps.need("java"), "-version"),
                         "neliroute": first_line(tool_path(), "--version"), **versions}}


def save(file, result):
    """Writes all figures, also when more are to come: a long run that is ended keeps its own."""
    if file:
        fresh = Path(f"{file}.new")
        fresh.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        fresh.replace(file)
