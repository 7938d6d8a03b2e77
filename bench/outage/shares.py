"""How many calls were served before, during and after a fault, and a table of that."""
import collections

import records

PHASES = ("before", "away", "after")


def of(calls, marks):
    """The share of each phase, by when calls were due; and what became of those not served."""
    made = {}
    for phase, since, until in zip(PHASES, marks, marks[1:]):
        counted = [one for one in calls if since <= one.due < until]
        failed = [one for one in counted if one.outcome != records.SERVED]
        made[phase] = {"calls": len(counted), "failed": len(failed),
                       "served": 1 - len(failed) / len(counted) if counted else None}
        if failed:
            made[phase]["failed_as"] = dict(collections.Counter(
                f"{records.OUTCOMES[one.outcome]} {one.status}" for one in failed))
            made[phase]["failed_s"] = [round(one.due - since, 2) for one in
                                       (failed[0], failed[-1])]
    return made


def percent(served):
    """Never 100 % unless it is all."""
    if served is None:
        return ""
    return "100" if served == 1 else f"{min(100 * served, 99.99):.2f}"


def table(rows, modes, ways):
    """For people: a row a cell, a column a mode and way; the share of what was due meanwhile."""
    heads = [f"{mode.replace('_', '-')}, {way}" for mode in modes for way in ways]
    lines = ["| fault | away | " + " | ".join(heads) + " |", "|---" * (len(heads) + 2) + "|"]
    cells = {}
    for row in rows:  # a later one replaces an earlier one
        cells.setdefault((row["fault"], row["seconds"]), {})[row["mode"], row["way"]] = row
    for (fault, _), cell in cells.items():
        lasted = next(iter(cell.values()))["lasted"]
        shown = [percent(cell[mode, way]["away"]["served"]) if (mode, way) in cell else ""
                 for mode in modes for way in ways]
        lines.append(f"| {fault} | {lasted:.0f} s | " + " | ".join(shown) + " |")
    return "\n".join(lines)
