#!/usr/bin/env python3
"""Draws what is in a folder's bench.json, as SVG and PNG into its plots/.

Needs matplotlib, which scripts/setup --tests installs beside Kafka's jars: scripts/bench calls it.
"""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import draw_leaders  # noqa: E402
import draw_lookup  # noqa: E402
import draw_placements  # noqa: E402
import draw_runs  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402

LARGEST_SVG = 300_000

# file name -> the part that it draws, and the function, which is given that part's results by the
# name of their run, and the footer; it returns a figure, or None if the results have nothing of it.
PLOTS = {
    "01-moved": ("placements", draw_placements.moved),
    "02-amplification": ("placements", draw_placements.amplification),
    "03-moves-and-balance": ("placements", draw_placements.pareto),
    "04-traces": ("placements", draw_placements.traces),
    "05-balance": ("placements", draw_placements.balance),
    "06-lookup": ("lookup", draw_lookup.by_processes),
    "06b-schemes": ("schemes", draw_lookup.schemes),
    "07-cost-of-tables": ("placements", draw_placements.costs),
    "08-owned": ("churn", draw_runs.owned),
    "09-owners": ("churn", draw_runs.owners),
    "10-failover": ("failover", draw_runs.kills),
    "11-peers": ("peers", draw_runs.peers),
    "15-leaders": ("leaders", draw_leaders.spread),
}


def footer(whole):
    """Version, commit, machine and day."""
    machine = whole["machine"]
    quick = " · QUICK RUN: too short for figures" if whole["quick"] else ""
    return (f"{whole['versions']['neliroute']}, commit {whole['commit']} · {machine['cores']} x "
            f"{machine['processor']}, {machine['memory_gib']:g} GiB · "
            f"{whole['began'][:10]}{quick}")


def draw(folder):
    """All pictures for which there are figures; the names of those that are too large."""
    whole = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    out = folder / "plots"
    out.mkdir(exist_ok=True)
    large = []
    for name, (part, function) in PLOTS.items():
        for suffix in ("svg", "png"):
            (out / f"{name}.{suffix}").unlink(missing_ok=True)
        if part not in whole["parts"]:
            print(f"plot {name}: no results of {part}")
            continue
        results = {run: made["result"] for run, made in whole["parts"][part]["runs"].items()}
        figure = function(results, footer(whole))
        if figure is None:
            print(f"plot {name}: {part} has nothing of it")
            continue
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
        figure.savefig(out / f"{name}.png", dpi=100)
        plt.close(figure)
        size = (out / f"{name}.svg").stat().st_size
        print(f"plot {name}: {out / name}.svg, {size / 1000:.0f} kB")
        if size > LARGEST_SVG:
            large.append(name)
    return large


if __name__ == "__main__":
    too_large = draw(Path(sys.argv[1]).resolve())
    for found in too_large:
        print(f"plot {found}: error: more than {LARGEST_SVG / 1000:.0f} kB as SVG")
    sys.exit(1 if too_large else 0)
