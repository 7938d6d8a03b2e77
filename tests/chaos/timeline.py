#!/usr/bin/env python3
"""Draws a chaos run's folder: slots by time, coloured by owner, with the faults above; and who
assigns, where a member does.

Needs matplotlib, which scripts/setup --tests installs beside Kafka's jars.

    ~/.cache/neliroute/python/bin/python tests/chaos/timeline.py FOLDER
"""
import sys
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
import matplotlib  # noqa: E402
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402

import judge  # noqa: E402
import lane  # noqa: E402

LANES = 3  # in which neighbouring faults' names stand, so that they can be read
SECONDS_AN_INCH = 6.0
WIDEST = 200.0
GAP = "#d62728"
ASSIGNER = -1.5  # where among the slots its row stands


def seat_of(key):
    """The seat of an owner: those who sat on the same one have the same colour."""
    return key.split("-")[0]


def draw_slots(axes, run, since):
    """A row a slot: who led it, by the logs."""
    seats = sorted({seat_of(key) for key in run.lives})
    colours = {seat: plt.get_cmap("Set2")(i) for i, seat in enumerate(seats)}
    led = judge.awake(run.report.intervals, run.lives)
    # One artist a row and colour: thousands of them take matplotlib minutes.
    bars = defaultdict(list)
    for one in led:
        end = min(one.end, run.until)
        bars[one.partition, seat_of(one.process)].append((one.start - since, end - one.start))
    for (slot, seat), spans in bars.items():
        axes.broken_barh(spans, (slot - 0.4, 0.8), facecolors=[colours[seat]],
                         edgecolor="white", linewidth=0.2)
    partitions = range(run.about["facts"]["partitions"])
    gaps = defaultdict(list)
    for gap in judge.checker.gaps(led, partitions, run.since, run.until):
        gaps[gap.partition].append((gap.start - since, gap.seconds))
    for slot, spans in gaps.items():
        axes.broken_barh(spans, (slot - 0.15, 0.3), facecolors=[GAP])
    top = draw_assigner(axes, run, since, colours)
    axes.set_ylim(len(partitions) - 0.5, top)
    axes.set_ylabel("slot")
    axes.set_xlabel("seconds")
    handles = [Patch(color=colour, label=seat) for seat, colour in colours.items()]
    handles.append(Patch(color=GAP, label="nobody"))
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08),
                ncol=len(handles), frameon=False)


def draw_assigner(axes, run, since, colours):
    """A row above the slots: who holds the seat, by log 0. Where the row ends."""
    claims = [(at, key) for at, key in lane.read(run.folder, run.about).claims if key]
    ends = [begin for begin, _ in claims[1:]] + [run.until]
    for (begin, key), end in zip(claims, ends):
        end = max(begin, min(end, run.lives[key].ended, run.until))
        axes.broken_barh([(begin - since, end - begin)], (ASSIGNER - 0.4, 0.8),
                         facecolors=[colours[seat_of(key)]], edgecolor="black", linewidth=0.4)
    if not claims:
        return -0.5
    axes.text(0, ASSIGNER, "assigner", fontsize=6, va="center")
    return ASSIGNER - 0.7


def draw_faults(axes, run, since):
    """What was done, when, to whom."""
    for index, fault in enumerate(run.faults):
        lane = index % LANES
        begin, end = fault.begin, min(fault.end, run.until)
        axes.broken_barh([(begin - since, max(end - begin, 0.05))], (lane, 0.35),
                         facecolors=["#444444"])
        whom = " " + ",".join(sorted(map(seat_of, fault.owners))) if fault.owners else ""
        axes.text(begin - since, lane + 0.42, fault.kind + whom, fontsize=6, va="bottom")
    axes.set_ylim(0, LANES)
    axes.set_yticks([])
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)


def draw(folder):
    """timeline.png and timeline.svg in the folder."""
    run = judge.Run(folder)
    if run.since is None:
        print("no timeline: the owners never came to rest")
        return
    width = min(max(8.0, (run.until - run.since) / SECONDS_AN_INCH), WIDEST)
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(width, 6.5),
                                          height_ratios=[1, 4])
    draw_faults(above, run, run.since)
    draw_slots(below, run, run.since)
    below.set_xlim(0, run.until - run.since)
    about = run.about
    above.set_title(f"{about['mode']}, {judge.who_assigns(about)}, Kafka {about['kafka']}, "
                    f"seed {about['seed']}", loc="left", fontsize=9)
    figure.tight_layout()
    for suffix in ("png", "svg"):
        figure.savefig(Path(folder) / f"timeline.{suffix}", dpi=90)
    plt.close(figure)


if __name__ == "__main__":
    draw(sys.argv[1])
