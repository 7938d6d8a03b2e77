"""What neliroute_placements says the same walk moves, by the algorithm of whoever assigns."""
from harness.process import option_list, placements_path, run_to_end

# Who assigns -> the simulator's placement.
PLACEMENTS = {"uniform": "uniform-4.1", "cooperative-sticky": "sticky", "range": "range",
              "roundrobin": "roundrobin", "assigner": "assigner"}
STEP_S = 10
EVENTS = {"join": "join", "leave": "leave", "kill": "crash"}


def trace_text(walk, ids):
    """The walk as a --trace-file; `ids` maps a process's name to what the group sorts it by."""
    lines = [f"0 join {ids[name]}" for name in walk.first]
    lines += [f"{number * STEP_S} {EVENTS[event.kind]} {ids[event.name]}"
              for number, event in enumerate(walk.events, 1)]
    return "\n".join(lines) + "\n"


def predict(assignor, partitions, walk, ids, folder):
    """A row for each event of the walk. One slot a partition, so that slots are partitions."""
    trace = folder / f"{assignor}-{partitions}.trace"
    trace.write_text(trace_text(walk, ids), encoding="utf-8")
    options = {"placement": PLACEMENTS[assignor], "trace_file": trace, "seeds": 1,
               "slots": partitions, "partitions": partitions, "steps": True, "json": True}
    done = run_to_end([placements_path(), *option_list(options)])
    if done.code != 0:
        raise RuntimeError(str(done))
    by_time = {row["at_seconds"]: row for row in done.rows()}
    return [by_time[number * STEP_S] for number in range(1, len(walk.events) + 1)]
