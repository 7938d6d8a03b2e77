"""The churn bench's figures for people."""
import steps

HEAD = ("step", "P", "moved", "least", "unavoid.", "excess", "gain", "simulated", "back", "twice",
        "gap ms", "worst", "killed", "overlap", "still led", "converged")


def _cells(row):
    """One step; a `!` where the simulator says otherwise, a `+` where it moved above the least."""
    def times(field, value):
        return f"{row[field][value]:.1f}" if row[field] else "-"
    simulated = row["simulated"]["moved"]
    return (row["event"], str(row["members"]),
            f"{row['moved']}{'+' if row['moved'] > row['least'] else ''}", str(row["least"]),
            str(row["unavoidable"]), str(row["excess"]), str(row["gain"]),
            f"{simulated}{'!' if row['differs'] else ''}", str(row["came_back"]),
            str(row["moved_twice"]), times("gap_ms", "median"), times("gap_ms", "worst"),
            times("killed_gap_ms", "worst"), times("overlap_ms", "worst"),
            "all" if not row["interrupted"] else f"-{row['interrupted']}",
            f"{row['converged_s']:.2f} s")


def _aligned(rows):
    """The first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  " + "  ".join([row[0].ljust(widths[0]),
                              *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
            for row in rows]


def _title(cell):
    """Who assigns."""
    if cell["protocol"] == cell["assignor"]:
        return "an assigner"
    return f"{cell['assignor']} ({cell['protocol']} protocol)"


def cell_text(cell):
    """All steps of a cell, and what must not be overlooked."""
    rows = cell["steps"]
    lines = ["", f"{_title(cell)}, {cell['partitions']} partitions",
             *_aligned([HEAD, *map(_cells, rows)])]
    for row in rows:
        if "before" not in row:
            continue
        if cell["sticky"] and row["moved"] != row["least"]:
            lines.append(f"  EXCEPTION {row['event']}: moved {row['moved']}, least "
                         f"{row['least']}")
        for name in row["differs"]:
            lines.append(f"  MISMATCH {row['event']}: {name} {row[name]}, simulated "
                         f"{row['simulated'][name]}")
        lines.append(f"  why: {row['why']}")
        if row["moved"] != row["least"]:  # else they stand in the JSON only
            lines += ["  before", row["before"], "  after", row["after"]]
    return "\n".join(lines + [f"  VIOLATION {found}" for found in cell["violations"]])


SUM_HEAD = ("assignor", "M", "steps", "moved", "least", "of it", "simulated", "excess", "double",
            "above least", "mismatch", "worst gap ms", "killed", "overlap",
            "converged: planned", "kill", "rolling")


def _summed(cell):
    rows = cell["steps"]
    moved, least = (sum(row[name] for row in rows) for name in ("moved", "least"))
    kills = [row for row in rows if row["kind"] == "kill"]
    rolling = [row for row in rows if row["event"].startswith("rolling")]
    planned = [row for row in rows if row["kind"] != "kill" and row not in rolling]

    def median(some):
        found = steps.spread([row["converged_s"] for row in some], 1)
        return f"{found['median']:.2f} s" if found else "-"
    return (cell["assignor"], str(cell["partitions"]), str(len(rows)), str(moved), str(least),
            f"{moved / least:.2f}x", str(sum(row["simulated"]["moved"] for row in rows)),
            str(sum(row["excess"] for row in rows)),
            str(sum(row["came_back"] + row["moved_twice"] for row in rows)),
            str(sum(row["moved"] > row["least"] for row in rows)),
            str(sum(bool(row["differs"]) for row in rows)),
            f"{steps.worst(rows, 'gap_ms'):.1f}", f"{steps.worst(rows, 'killed_gap_ms'):.0f}",
            f"{steps.worst(rows, 'overlap_ms'):.1f}", median(planned), median(kills),
            median(rolling))


def summary(result):
    """All cells, a line each."""
    where = result["machine"]
    return "\n".join([
        "", f"Kafka {result['versions']['kafka']}, session {result['session_ms']} ms, heartbeat "
            f"{result['heartbeat_ms']} ms, {result['mode']}, seed {result['seed']}; "
            f"{where['cores']} x {where['processor']}",
        *_aligned([SUM_HEAD, *(_summed(cell) for cell in result["cells"] if cell["steps"])]),
        "  double: partitions that moved twice, or away and back, between two rests; converged: "
        "median, event to last acquired; rolling: the same of each step of the rolling restart"])
