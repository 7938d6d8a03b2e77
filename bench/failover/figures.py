"""The failover bench's figures: where they were taken, and a table of them."""
import os
import platform
import re
import statistics
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


def machine():
    """Processor, cores, memory, kernel: figures without them say nothing."""
    model = re.search(r"model name\s*:\s*(.*)",
                      Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"processor": model[1] if model else platform.processor(),
            "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory, 1),
            "kernel": platform.release(), "load_at_start": os.getloadavg()[0]}


def versions(kafka):
    """Of everything that takes part."""
    return {"kafka": kafka, "java": first_line(deps.need("java"), "-version"),
            "neliroute": first_line(tool_path(), "--version")}


def context(options, bench):
    """Everything needed to take the figures again."""
    return {"command": " ".join(sys.argv), "machine": machine(),
            "versions": versions(options.version),
            "protocol": bench.protocol, "session_ms": bench.session_ms,
            "heartbeat_ms": bench.session_ms // 10, "settings": bench.settings,
            "processes": options.processes, "partitions": options.partitions,
            "slots": options.slots, "repetitions": options.repetitions}


def _row(what, values, form="{:.0f}", unit=""):
    """median, 90th percentile and worst of some values."""
    if not values:
        return f"  {what:<44} {'none':>8}"
    ordered = sorted(values)
    ninety = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
    cells = [form.format(x) for x in (statistics.median(ordered), ninety, ordered[-1])]
    return f"  {what:<44} " + " ".join(f"{cell:>8}" for cell in cells) + f" {unit} ({len(values)})"


def table(result):
    """The figures for people."""
    moves = result["moves"]
    exceptions = [move for move in moves if move["moved"] != move["least"]]
    where = result["machine"]
    lines = [
        "",
        f"Kafka {result['versions']['kafka']}, {result['protocol']} protocol, session "
        f"{result['session_ms']} ms, heartbeat {result['heartbeat_ms']} ms",
        f"{result['processes']} processes, {result['partitions']} partitions, "
        f"{result['slots']} slots; {where['cores']} x {where['processor']}",
        f"  {'':<44} {'median':>8} {'p90':>8} {'worst':>8}",
        _row("SIGKILL until every slot is led again", result["kill_ms"], unit="ms"),
        _row("  the same over the session", result["kill_over_session"], "{:.2f}", "x"),
        _row("planned leave, gap", result["planned_leave_gap_ms"], "{:.1f}", "ms"),
        _row("exclusive hand-over, gap", result["exclusive_handover_gap_ms"], "{:.1f}", "ms"),
        _row("processor at rest, of a core", result["cpu_percent_of_a_core"], "{:.1f}", "%"),
        _row("resident", result["resident_mib"], "{:.1f}", "MiB"),
        f"  moved {sum(m['moved'] for m in moves)}, least {sum(m['least'] for m in moves)}, in "
        f"{len(moves)} joins, leaves and kills; {len(exceptions)} moved more than the least",
    ]
    for move in exceptions:
        lines += [f"  EXCEPTION {move['what']}: moved {move['moved']}, least {move['least']}",
                  "  before", move["before"], "  after", move["after"]]
    for finding in result["violations"] + result["exclusive_violations"]:
        lines.append(f"  VIOLATION {finding}")
    return "\n".join(lines)
