"""The failover bench's figures: where they were taken, and a table of them."""
import statistics

import machine
import spread


def context(options, bench):
    """Everything needed to take the figures again."""
    return {**machine.context(kafka=options.version),
            "protocol": bench.protocol, "session_ms": bench.session_ms,
            "heartbeat_ms": bench.session_ms // 10, "settings": bench.settings,
            "processes": options.processes, "partitions": options.partitions,
            "slots": options.slots, "repetitions": options.repetitions}


def _row(what, values, form="{:.0f}", unit=""):
    """median, 90th percentile and worst of some values."""
    if not values:
        return f"  {what:<44} {'none':>8}"
    cells = [form.format(x) for x in spread.median_p90_worst(values)]
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


EVENTS = {"kill": "SIGKILL", "stop": "SIGSTOP", "cut": "link cut", "leave": "planned leave",
          "join": "join", "rolling": "rolling restart", "hang": "hung executor",
          "pair": "assigner and owner SIGKILL",
          "machine": "the same, and the leading voter"}


def _planned_rows(cell):
    """Of leaves, joins and rolling restarts: gaps, hand-overs beside claims, and lengths."""
    rows = [(f"{EVENTS[event]}, gap", values, None)
            for event, values in cell.get("gap_ms", {}).items()]
    claims = cell.get("readback_ms", {})
    for event, values in cell.get("handover_by_ms", {}).items():
        took = claims.get(event)
        rows.append((f"{EVENTS[event]}, one partition", values,
                     statistics.median(took) if took else None))
    rows += [(f"{EVENTS[event]}, claim read back", took, None) for event, took in claims.items()]
    rows.append(("rolling restart, whole", [1000 * s for s in cell.get("rolling_s", [])], None))
    return rows


def _cell_rows(cell):
    """(event, milliseconds, what they are compared with) of one cell, as far as it went."""
    session = cell["session_ms"]
    rows = [(EVENTS[event], values, session) for event, values in cell.get("taken_ms", {}).items()]
    rows += _planned_rows(cell)
    for way in dict.fromkeys(row["way"] for row in cell.get("idle", [])):
        found = [row for row in cell["idle"] if row["way"] == way]
        rows += [(f"idle assigner {way}, {what}", [row[name] for row in found], beside)
                 for what, name, beside in (("gap", "gap_ms", None),
                                            ("seat", "replaced_ms", session),
                                            ("next", "next_death_ms", session))]
        if any(row["moved"] for row in found):
            rows.append((f"idle assigner {way}, MOVED", [row["moved"] for row in found], None))
    return [row for row in rows if row[1]]


def matrix(result):
    """The matrix for people: milliseconds, and what part of the session that is."""
    where = result["machine"]
    lines = ["", f"{where['cores']} x {where['processor']}, load {where['load_at_start']:.1f} at "
             f"the start; {result['versions']['neliroute']}",
             f"{'protocol':<12}{'session':>8} {'mode':<14}{'P':>3}{'M':>6}  {'event':<31}"
             f"{'median':>8}{'worst':>8}{'ratio':>9}{'<=1.3':>8}{'n':>6}"]
    notes = []
    for cell in result["cells"]:
        head = (f"{cell['protocol']:<12}{cell['session_ms']:>8} {cell['mode']:<14}"
                f"{cell['processes']:>3}{cell['partitions']:>6}  ")
        for event, values, beside in _cell_rows(cell):
            median = statistics.median(values)
            ratio = f"{median / beside:.2f}" if beside else ""
            within = ""
            if beside == cell["session_ms"]:
                within = sum(value <= 1.3 * cell["session_ms"] for value in values)
            lines.append(f"{head}{event:<31}{median:>8.1f}{max(values):>8.1f}{ratio:>9}"
                         f"{within:>8}{len(values):>6}")
            head = " " * len(head)
        moves = cell.get("moves", [])
        excess = [move for move in moves if move["moved"] != move["least"]]
        if moves:
            lines.append(f"{head}moved {sum(m['moved'] for m in moves)}, least "
                         f"{sum(m['least'] for m in moves)}; {len(excess)} of {len(moves)} moved "
                         f"more; max/mean at rest {max(cell['peaks']):.2f} at most")
        name = f"{cell['protocol']} {cell['session_ms']} ms {cell['mode']} P={cell['processes']}"
        notes += [f"VIOLATION {name}: {found}" for found in cell.get("violations", [])]
        notes += [f"FAILED {name}: {cell['problem']}"] if cell["problem"] else []
    return "\n".join(lines + notes + [
        "Milliseconds. SIGKILL, SIGSTOP, link cut: until others lead all that the victim led. Gap: "
        "the longest time\nfor which any partition had no leader during the event; one partition: "
        "the same of each that moved,\nits ratio is to a claim's read-back meanwhile (the mean of "
        "each event); other ratios are to the session.\nIdle assigner: of weight 0; the longest "
        "gap and what moved until another had the seat, how long that took,\nand until what the "
        "next owner killed led was led again."])
