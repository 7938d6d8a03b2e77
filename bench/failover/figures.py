"""The failover bench's figures: where they were taken, and a table of them."""
import statistics
import sys

import machine


def context(options, bench):
    """Everything needed to take the figures again."""
    return {"command": " ".join(sys.argv), "machine": machine.described(),
            "versions": machine.versions(options.version),
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
