"""Which numbers of each bench --compare looks at, and what of a difference is noise.

A figure has a name, a value, and which direction is worse. `ratio` says that it was measured
against something else in the same run (a hash, the session timeout, the least possible): it can
be compared between machines, others only on one. `noise` is the spread within the run, relative
to the value; a difference below `floor`, in the figure's unit, is never one.
"""
import statistics
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Figure:
    """One comparable number."""
    name: str
    value: float
    unit: str
    worse: str = "higher"
    ratio: bool = False
    noise: float = 0.0
    floor: float = 0.0

    def as_row(self):
        """For JSON."""
        return asdict(self)


def spread(values):
    """Half the distance of the quartiles, relative to the median."""
    middle = statistics.median(values)
    if len(values) < 2 or middle == 0:
        return 0.0
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    return abs((quarters[2] - quarters[0]) / 2 / middle)


def median_of(name, values, unit, **more):
    """The median of some measurements; none if there are none."""
    if not values:
        return []
    return [Figure(name, statistics.median(values), unit, noise=spread(values), **more)]


def worst_of(name, values, unit, **more):
    """The worst of them, whose noise nobody knows: it wants a floor."""
    return [Figure(name, max(values), unit, **more)] if values else []


def moves_of(name, rows):
    """Moved over the least possible, of all rows with both."""
    moved, least = (sum(row[key] for row in rows) for key in ("moved", "least"))
    return [Figure(name, moved / least, "x least", ratio=True)] if least else []


def placements(result):
    """Ten processes and one more or less: every scheme's moves and balance."""
    made = []
    for row in result["schemes"]:
        about = f"{row['trace']} {row['placement']}"
        moved = row["moved"]["mean"]
        if row["least"]:
            made.append(Figure(f"{about} moved", moved / row["least"], "x least", ratio=True))
        made.append(Figure(f"{about} peak", row["peak_after"]["mean"], "x mean", ratio=True))
    # Memory is counted, not measured; seconds are.
    most = max(row["members"] for row in result["costs"])
    for row in result["costs"]:
        if row["members"] == most:
            about = f"{most} members {row['placement']}"
            made.append(Figure(f"{about} memory", row["memory_bytes"], "B", floor=4096))
            made.append(Figure(f"{about} step", row["step_seconds"], "s", noise=0.25,
                               floor=0.005))
    return made


def nanoseconds(result):
    """Processor time of every repetition by benchmark: {name: [ns]}."""
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    times = {}
    for row in result["benchmarks"]:
        if row.get("run_type", "iteration") == "iteration" and not row.get("error_occurred"):
            times.setdefault(row["name"], []).append(row["cpu_time"] * scale[row["time_unit"]])
    return times


def taken_apart(name):
    """`route/key:16/cold/threads:1` as ("route", {"key": "16", "cold": "", "threads": "1"})."""
    head, *rest = name.split("/")
    return head, dict(word.partition(":")[::2] for word in rest)


def baseline_of(name, names, base):
    """The `base` whose parameters are all this one's too, the most of them; None without any."""
    _, about = taken_apart(name)
    found = {}
    for other in names:
        head, same = taken_apart(other)
        if head == base and all(about.get(key) == value for key, value in same.items()):
            found[len(same)] = other
    return found[max(found)] if found else None


def over_baseline(result, base, floor):
    """Each benchmark's least time of its repetitions, over its baseline's, which is in ns."""
    times = nanoseconds(result)
    made = []
    for name, own in times.items():
        beside = baseline_of(name, times, base)
        if beside == name:
            made.append(Figure(name, min(own), "ns", noise=spread(own)))
        elif beside:
            noise = (spread(own) ** 2 + spread(times[beside]) ** 2) ** 0.5
            made.append(Figure(name, min(own) / min(times[beside]), f"x {base}", ratio=True,
                               noise=noise, floor=floor))
    return made


def lookup(result):
    """Each lookup over hash only, of the same keys, threads and cache."""
    return over_baseline(result, "hash_only", 0.05)


def schemes(result):
    """Each way from hash to owner over neliroute's table, of as many members."""
    return over_baseline(result, "slot_table", 0.1)


def waiting(result):
    """Callers that wait for owners: time and memory of each, and the longest turns."""
    made = []
    for row in result["rows"]:
        if "ns_each" in row:
            made.append(Figure(row["what"], row["ns_each"], "ns", noise=0.1, floor=100.0))
        if row["bytes_each"] > 0:
            made.append(Figure(f"{row['what']}, memory", row["bytes_each"], "B", floor=16.0))
        if row.get("longest_turn_ms"):
            made.append(Figure(f"{row['what']}, longest turn", row["longest_turn_ms"], "ms",
                               noise=0.1, floor=10.0))
    return made


def large_m(result):
    """One join of a topic with many partitions: longest turns of both strands, bytes."""
    return [figure for row in result["rows"] for figure in (
        Figure(f"join at {row['partitions']}, owner's longest turn",
               row["join_longest_owner_ms"], "ms", floor=5.0),
        Figure(f"join at {row['partitions']}, newcomer's longest turn",
               row["join_longest_newcomer_ms"], "ms", floor=5.0),
        Figure(f"join at {row['partitions']}, written", row["join_bytes"] / 1024, "KiB",
               floor=1.0))]


def leaders(result):
    """Elections among replicas: the share of runs with even leaders, and logs without one."""
    made = []
    for row in result["rows"]:
        name = (f"{row['nodes']} nodes, {row['logs']} logs, {row['course']}, {row['timeouts']}")
        made.append(Figure(f"{name}: uneven", 100 * (1 - row["balanced"]), "%", floor=5.0))
        made.append(Figure(f"{name}: without a leader, worst", row["unled_ms_worst"], "ms",
                           floor=100.0))
    return made


def failover(result):
    """Kills over the session, gaps of planned moves, moves, use at rest."""
    violations = result["violations"] + result["exclusive_violations"]
    return [
        *median_of("kill to all led", result["kill_over_session"], "x session", ratio=True),
        *worst_of("kill to all led, worst", result["kill_over_session"], "x session", ratio=True,
                  floor=0.25),
        *worst_of("planned leave, longest gap", result["planned_leave_gap_ms"], "ms", floor=1.0),
        *median_of("exclusive hand-over", result["exclusive_handover_gap_ms"], "ms", floor=0.5),
        *median_of("processor at rest", result["cpu_percent_of_a_core"], "%", floor=0.2),
        *median_of("resident", result["resident_mib"], "MiB", floor=0.5),
        *moves_of("moved", result["moves"]),
        Figure("violations", len(violations), "", ratio=True),
    ]


def churn(result):
    """By assignor and partitions: moves over the least, double moves, gaps, time to converge."""
    made = []
    for cell in result["cells"]:
        about = f"{cell['assignor']} {cell['partitions']}"
        rows = cell["steps"]
        double = sum(row["came_back"] + row["moved_twice"] for row in rows)
        planned = [row for row in rows if row["kind"] != "kill"]
        made += [
            *moves_of(f"{about} moved", rows),
            Figure(f"{about} double moves", double, "", ratio=True, floor=1),
            Figure(f"{about} not as simulated", sum(bool(row["differs"]) for row in rows), "",
                   ratio=True),
            Figure(f"{about} violations", len(cell["violations"]), "", ratio=True),
            *median_of(f"{about} planned gap", [row["gap_ms"]["median"] for row in planned
                                                if row["gap_ms"]], "ms", floor=1.0),
            *median_of(f"{about} planned converged", [row["converged_s"] for row in planned], "s",
                       floor=0.2),
        ]
    return made


def over_claims(name, gaps, claims):
    """Hand-overs over what a claim took to be read back meanwhile."""
    if not gaps or not claims:
        return []
    noise = (spread(gaps) ** 2 + spread(claims) ** 2) ** 0.5
    return [Figure(name, statistics.median(gaps) / statistics.median(claims), "x claim",
                   ratio=True, noise=noise, floor=0.1)]


def weighted(result):
    """By partitions: moves over the least where weights differ, double moves, gaps."""
    made = []
    for cell in result["cells"]:
        about, rows = f"{cell['partitions']}", cell["steps"]
        double = sum(row["came_back"] + row["moved_twice"] for row in rows)
        made += [
            *moves_of(f"{about} moved", rows),
            Figure(f"{about} double moves", double, "", ratio=True, floor=1),
            Figure(f"{about} failures", len(cell["violations"]) + bool(cell["problem"]), "",
                   ratio=True),
            *median_of(f"{about} planned gap", [row["gap_ms"]["median"] for row in rows
                                                if row["gap_ms"]], "ms", floor=1.0)]
    return made


def matrix(result):
    """By cell and event: time over the session, gaps, moves."""
    made = []
    for cell in result["cells"]:
        about = (f"{cell['protocol']} {cell['session_ms']} {cell['mode']} "
                 f"{cell['processes']}x{cell['partitions']}"
                 f"{' metered' if cell.get('metered') else ''}")
        for event, values in cell.get("taken_ms", {}).items():
            made += median_of(f"{about} {event}", [ms / cell["session_ms"] for ms in values],
                              "x session", ratio=True)
        for event, values in cell.get("gap_ms", {}).items():
            made += worst_of(f"{about} {event} gap", values, "ms", floor=5.0)
        made += median_of(f"{about} hand-over", cell.get("handover_gap_ms", []), "ms", floor=0.5)
        for event, values in cell.get("readback_ms", {}).items():
            made += over_claims(f"{about} {event} hand-over",
                                cell["handover_by_ms"][event], values)
        made += moves_of(f"{about} moved", cell.get("moves", []))
        for row in cell.get("idle", []):
            made.append(Figure(f"{about} idle assigner {row['way']} moved", row["moved"], "",
                               ratio=True))
            made += worst_of(f"{about} idle assigner {row['way']} gap", [row["gap_ms"]], "ms",
                             floor=5.0)
            made += median_of(f"{about} idle assigner {row['way']} next death",
                              [row["next_death_ms"] / cell["session_ms"]], "x session", ratio=True)
        failures = len(cell.get("violations", [])) + bool(cell["problem"])
        made.append(Figure(f"{about} failures", failures, "", ratio=True))
    return unique(made)


def planned(result):
    """Milliseconds until steady again after a planned leave, and after a join."""
    return [figure for what in ("leave", "join") for figure in (
        *median_of(f"{what} until steady", result[f"{what}_ms"], "ms", floor=20.0),
        *worst_of(f"{what} until steady, worst", result[f"{what}_ms"], "ms", floor=200.0))]


def stream(result):
    """The longest silence of an instrument, by what became of its owner."""
    return [figure for how in ("kill", "leave") for figure in
            median_of(f"silence at a {how}", result[how], "s", floor=0.05)]


def assigner(result):
    """By lane: what is written, kept and read, and the time until everything is led again."""
    made = []
    for row in result["cells"]:
        about = (f"{row['members']} ({row['whole']} whole) {row['partitions']} {row['logs']} "
                 f"{row['interval_ms']} ms{' assigner dies' if row['with_assigner'] else ''}")
        rest = row["at_rest"]
        member = rest["member"]
        made += [
            Figure(f"{about} bytes a second", sum(log["bytes_per_s"] for log in rest["logs"]),
                   "B/s", ratio=True),
            Figure(f"{about} member heap", (member["core_bytes"] + member["directory_bytes"])
                   / 2**20, "MiB", floor=0.2),
            Figure(f"{about} member cpu", member["core_percent"] + member["directory_percent"]
                   + rest["decoding_percent"], "% core", noise=0.1, floor=0.2)]
        made += [Figure(f"{about} {one['deaths']} deaths", one["sessions"], "x session",
                        ratio=True) for one in row["healed"]]
        made.append(Figure(f"{about} failures", int(bool(row["problem"])), "", ratio=True))
    return unique(made)


def peers(result):
    """By system and shape: the kill, and ours over theirs."""
    made = []
    for row in result["cells"]:
        about = f"{row['system']} {row['session_ms'] or '-'} {row['processes']}x{row['roles']}"
        made += median_of(f"{about} kill", row["times_ms"], "ms", floor=20.0)
        if "ours_over_it" in row:
            made.append(Figure(f"ours over {about}", row["ours_over_it"], "x", ratio=True,
                               noise=spread(row["times_ms"])))
        made.append(Figure(f"{about} failures", int(bool(row["problem"])), "", ratio=True))
    return made


def cost(result):
    """By cell: what an owner, a watcher and the broker use; records over what the formula says."""
    made = []
    for row in result["cells"]:
        about = row["name"]
        for who in ("owner", "watcher"):
            if row[who]:
                made += [Figure(f"{about} {who} cpu", row[who]["cpu_percent"], "% core", noise=0.1,
                                floor=0.2),
                         Figure(f"{about} {who} memory", row[who]["resident_mib"], "MiB",
                                floor=1.0)]
        made += [Figure(f"{about} broker cpu", row["broker_cpu_percent"], "% core", noise=0.1,
                        floor=1.0),
                 Figure(f"{about} records", row["records_s"] / row["most_records_s"], "x most",
                        ratio=True)]
    return made


def unique(figures):
    """Cells of one shape, with other events, are distinguished by a number."""
    seen = {}
    made = []
    for figure in figures:
        seen[figure.name] = seen.get(figure.name, 0) + 1
        again = f" ({seen[figure.name]})" if seen[figure.name] > 1 else ""
        made.append(replace(figure, name=figure.name + again))
    return made
