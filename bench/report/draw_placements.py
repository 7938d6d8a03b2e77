"""Pictures of neliroute_placements: moves, amplification, balance, traces, what tables cost."""
import math

import style
from style import BLACK, FAINT, GREY

LINES = ("range", "roundrobin", "uniform-4.0", "uniform-4.1", "maglev", "ring", "rendezvous")
MEMBER_TICKS = (2, 5, 10, 20, 50, 100, 200)


def by_placement(rows):
    """{placement: [rows]}."""
    made = {}
    for row in rows:
        made.setdefault(row["placement"], []).append(row)
    return made


def line(axes, x, rows, metric, placement, scale=lambda row: 1.0):
    """A curve of means with its band from the 5th to the 95th percentile; the last y."""
    found = style.look(placement)
    means = [row[metric]["mean"] / scale(row) for row in rows]
    axes.plot(x, means, color=found.colour, linestyle=found.dashes, marker=found.marker,
              markersize=3.5, label=found.label)
    axes.fill_between(x, [max(row[metric].get("p5", row[metric]["mean"]) / scale(row), 1e-9)
                          for row in rows],
                      [row[metric].get("p95", row[metric]["mean"]) / scale(row) for row in rows],
                      color=found.colour, alpha=0.13, linewidth=0)
    return means[-1]


def moved(results, footer):
    """1: what share of all slots moves when one process joins P others."""
    result = results["simulate"]
    rows = by_placement(result["by_members"])
    slots = result["parameters"]["slots"]
    figure, [[axes]] = style.sheet()
    ends = []
    for name in LINES:
        own = rows[name]
        members = [row["members"] for row in own]
        last = line(axes, members, own, "moved", name, lambda row: slots)
        ends.append(((members[-1], last), style.look(name).label, style.look(name).colour))
    axes.plot(members, [(slots // (p + 1)) / slots for p in members], color=GREY, linestyle=":",
              linewidth=2.2)
    ends.append(((members[-1], slots // (members[-1] + 1) / slots),
                 "least possible: ⌊S/(P+1)⌋ / S", GREY))
    axes.set(xscale="log", yscale="log", xlabel="P, processes before one more joins",
             ylabel="moved slots, share of all", xlim=(2, members[-1]))
    analytic(axes, members, lambda p: (p + 2) / (3 * (p + 1)), lambda p: p / (p + 1))
    style.plain(axes.xaxis, [tick for tick in MEMBER_TICKS if tick <= members[-1]])
    style.plain(axes.yaxis, (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1))
    axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:g} %")
    style.finish(figure, "One process joins: range moves a third and roundrobin nearly all,\n"
                 "however many there are; sticky placements move what they must", footer + "\n"
                 f"S = M = {slots:,} slots, one a partition; {result['parameters']['seeds']} "
                 "seeds, band p5-p95; dashes: (P+2)/(3(P+1)), P/(P+1), which hold while P² < M")
    figure.subplots_adjust(right=0.71)
    style.labels_apart(axes, ends, 0.055)
    return figure


def analytic(axes, members, of_range, of_roundrobin):
    """What arithmetic says of range and roundrobin."""
    for formula in (of_range, of_roundrobin):
        axes.plot(members, [formula(p) for p in members], color=BLACK, linestyle=(0, (2, 2)),
                  linewidth=0.9)


def amplification(results, footer):
    """2: how many times the least possible moves."""
    result = results["simulate"]
    rows = by_placement(result["by_members"])
    figure, [[axes]] = style.sheet()
    ends = []
    for name in LINES:
        own = rows[name]
        members = [row["members"] for row in own]
        last = line(axes, members, own, "moved", name, lambda row: row["least"])
        ends.append(((members[-1], last), style.look(name).label, style.look(name).colour))
    axes.axhline(1, color=GREY, linestyle=":", linewidth=2.2)
    axes.set(xscale="log", yscale="log", xlabel="P, processes before one more joins",
             ylabel="moved / least possible", xlim=(2, members[-1]))
    analytic(axes, members, lambda p: (p + 2) / 3, lambda p: p)
    style.plain(axes.xaxis, [tick for tick in MEMBER_TICKS if tick <= members[-1]])
    style.plain(axes.yaxis, (0.5, 1, 2, 5, 10, 20, 50, 100, 200))
    style.finish(figure, "Roundrobin moves P times the least possible, range P/3 times;\n"
                 "uniform 4.1 and sticky move the least", footer + "\n"
                 f"S = M = {result['parameters']['slots']:,}; {result['parameters']['seeds']} "
                 "seeds, band p5-p95 over the newcomer's rank; dashes: P and (P+2)/3; "
                 "below 1: members are left uneven (plot 3)")
    figure.subplots_adjust(right=0.74)
    style.labels_apart(axes, ends, 0.055)
    return figure


FAMILIES = {  # a colour and a marker for what works alike
    (style.VERMILLION, "o"): ("range", "roundrobin"),
    (BLACK, "D"): ("sticky", "uniform-4.0", "uniform-4.1", "assigner", "least"),
    (style.SKY, "h"): ("ring", "ketama"),
    (style.PURPLE, "d"): ("bounded",),
    (style.OLIVE, "*"): ("multiprobe",),
    (style.GREEN, "X"): ("maglev",),
    (style.BLUE, "P"): ("rendezvous", "jump", "anchor", "dx", "memento"),
}
USUAL = {"ring": "ring 160", "bounded": "bounded 1.25", "multiprobe": "multiprobe 21",
         "maglev": "maglev S"}
ALONE = 2.5  # what moves more is named beside its point, others in a column


def pareto(results, footer):
    """3: moves against balance, a point for each scheme and parameter."""
    result = results["simulate"]
    figure, [panels] = style.sheet(1, 2, sharey=True, height=5.8)
    whats = {"join": "one joins, 10 → 11", "leave": "one picked at random leaves, 10 → 9"}
    points = []
    for axes, (trace, what) in zip(panels, whats.items()):
        points.append([(row["placement"], row["moved"]["mean"] / row["least"],
                        row["peak_after"]["mean"])
                       for row in result["schemes"] if row["trace"] == trace])
        for placement, x, y in points[-1]:
            colour, marker = family(placement)
            axes.scatter(x, y, color=colour, marker=marker, s=46, zorder=3, linewidth=0.6,
                         edgecolor="white")
            if x > ALONE:
                axes.annotate(placement, (x, y), (0, 6) if y > 1.05 else (16, -14), fontsize=8.5,
                              textcoords="offset points", color=colour, ha="center")
        axes.set(xscale="log", yscale="log", title=what, xlabel="moved / least possible",
                 xlim=(0.8, 20))
        style.plain(axes.xaxis, (1, 2, 5, 10))
        style.plain(axes.yaxis, (1, 1.05, 1.1, 1.2, 1.3, 1.5, 1.75, 2))
        axes.axvline(1, color=FAINT, zorder=1)
    panels[0].set_ylabel("largest load / mean, afterwards")
    panels[0].set_ylim(0.97, 1.06 * max(y for own in points for _, _, y in own))
    style.finish(figure, "Few moves or even loads? Sticky assignors have both, near (1, 1);\n"
                 "a hash scheme pays for stateless lookups with one or the other",
                 footer + f"\nS = M = {result['parameters']['slots']:,}; means of "
                 f"{result['parameters']['seeds']} seeds; numbers: points, largest load, probes, "
                 "table's entries")
    for axes, own in zip(panels, points):
        style.labels_apart(axes, named(own), 0.042, x=0.3)
    return figure


def family(placement):
    """Colour and marker of what a placement works like."""
    name = placement.partition(":")[0]
    return next(look for look, names in FAMILIES.items() if name in names)


def named(points):
    """Labels, one for points of a family that lie on top of each other."""
    groups = []
    for placement, x, y in sorted(points, key=lambda point: (point[2], point[1])):
        if x > ALONE:
            continue
        label = USUAL.get(placement, placement.replace(":", " "))
        colour, _ = family(placement)
        for group in groups:
            (near_x, near_y), _, same = group
            if same == colour and abs(x / near_x - 1) < 0.03 and abs(y / near_y - 1) < 0.012:
                group[1].append(label)
                break
        else:
            groups.append(((x, y), [label], colour))
    return [(at, ", ".join(labels).replace("uniform-4.0, uniform-4.1", "uniform"), colour)
            for at, labels, colour in ((at, sorted(labels), colour)
                                       for at, labels, colour in groups)]


def traces(results, footer):
    """4: what has moved by then, through a walk and through a rolling restart."""
    result = results["simulate"]["traces"]
    figure, panels = style.sheet(2, 2, height=6.0, height_ratios=[1, 4.5], sharex="col")
    titles = {"walk": "an autoscaler: up to 3 join or leave a step",
              "rolling": "rolling restart of 10: one leaves, one joins"}
    for column, (name, title) in enumerate(titles.items()):
        steps = result[name]["steps"]
        slots = result[name]["slots"]
        above, axes = panels[0][column], panels[1][column]
        members = [step["members"] for step in steps["range"]]
        x = range(1, len(members) + 1)
        above.step(x, members, color=GREY, where="mid")
        above.set(title=title, ylim=(0, max(members) + 2))
        shown = ("roundrobin", "range", "jump", "maglev", "uniform-4.0", "ring", "uniform-4.1")
        least = cumulative(steps["uniform-4.1"], "least", slots)
        axes.plot(x, least, color=GREY, linestyle=":", linewidth=2.4, zorder=5,
                  label="least possible, each step")
        ends = [((len(members), least[-1]), "least possible", GREY)]
        for placement in shown:
            found = style.look(placement)
            line_of = cumulative(steps[placement], "moved", slots)
            axes.plot(x, line_of, color=found.colour, linestyle=found.dashes)
            ends.append(((len(members), line_of[-1]),
                         f"{placement} {line_of[-1] / least[-1]:.2f}x", found.colour))
        axes.set(xlabel="membership change", yscale="log", xlim=(1, len(members)))
        style.plain(axes.yaxis, (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100))
        axes.ends = ends
    panels[0][0].set_ylabel("processes")
    panels[1][0].set_ylabel("moved since the start, in times all slots")
    style.finish(figure, "Change after change, roundrobin, jump and range move all slots many\n"
                 "times over; sticky assignors and rings stay at the least", footer + "\n"
                 f"S = M = {result['walk']['slots']:,}; traces {result['walk']['trace']} and "
                 "rolling, seed 1; x: times the sum of each step's least")
    figure.subplots_adjust(right=0.83, wspace=0.72)
    for column in (0, 1):
        style.labels_apart(panels[1][column], panels[1][column].ends, 0.06)
    return figure


def cumulative(steps, key, slots):
    """Running sums, in times all slots."""
    total, made = 0, []
    for step in steps:
        total += step[key]
        made.append(total / slots)
    return made


def balance(results, footer):
    """5: peak and deviation against slots a process, and what of it is chance."""
    result = results["simulate"]
    rows = by_placement(result["by_slots"])
    shown = ("multiprobe", "ring", "bounded", "rendezvous", "range", "maglev")
    figure, [panels] = style.sheet(1, 2, height=5.0)
    for axes, metric in zip(panels, ("peak_after", "cv_after")):
        ends = []
        for name in shown:
            own = rows[name]
            x = [row["slots"] / 11 for row in own]
            last = line(axes, x, own, metric, name)
            label = {"range": "Kafka's", "maglev": "Maglev"}.get(name, style.look(name).label)
            ends.append(((x[-1], last), label, style.look(name).colour))
        if metric == "cv_after":
            floor = [math.sqrt(10 / row["slots"]) for row in own]
            axes.plot(x, floor, color=GREY, linestyle=":", linewidth=2.2)
            ends.append(((x[-1], floor[-1]), "√((P-1)/S)", GREY))
        axes.ends = ends
        axes.set(xscale="log", yscale="log", xlabel="S/P, slots a process")
        axes.set_xlim(x[0], x[-1])
        style.plain(axes.xaxis, [tick for tick in (3, 10, 100, 1000, 5000) if tick <= x[-1]])
    panels[0].set_title("largest load / mean")
    panels[1].set_title("deviation / mean (CV)")
    style.plain(panels[0].yaxis, (1, 1.1, 1.2, 1.5, 2, 2.5))
    panels[1].yaxis.set_major_formatter(lambda y, _: f"{100 * y:g} %")
    panels[1].set_ylim(5e-5, 1)
    style.finish(figure, "With few slots, chance makes hash schemes uneven, whichever it is; more\n"
                 "slots help rendezvous all the way, rings and multi-probe only so far",
                 f"{footer}\n"
                 f"10 processes and one more; M = S; {result['parameters']['seeds']} seeds, band "
                 "p5-p95; jump, anchor, dx, memento lie on rendezvous")
    figure.subplots_adjust(right=0.83, wspace=0.62)
    for axes in panels:
        style.labels_apart(axes, axes.ends, 0.06)
    return figure


def costs(results, footer):
    """7: memory, and time of the first placement and of a step."""
    result = results["simulate"]
    rows = by_placement(result["costs"])
    figure, [panels] = style.sheet(1, 3, height=4.8)
    whats = {"memory_bytes": ("memory, MiB", 2**20), "first_seconds": ("first placement, s", 1),
             "step_seconds": ("one joins, s", 1)}
    for axes, (key, (title, unit)) in zip(panels, whats.items()):
        for name, own in rows.items():
            found = style.look(name)
            # Below a microsecond the clock shows nothing.
            points = [(row["members"], row[key] / unit) for row in own if row[key] > 0]
            if points:
                axes.plot(*zip(*points), color=found.colour, linestyle=found.dashes,
                          marker=found.marker, label=found.label)
        axes.set(xscale="log", yscale="log", title=title, xlabel="processes")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=4,
                  bbox_to_anchor=(0.5, 0.07), fontsize=8)
    most = max(row["members"] for row in result["costs"])
    step, memory = (max(row[key] for row in result["costs"] if row["members"] == most)
                    for key in ("step_seconds", "memory_bytes"))
    title = (f"With {most:,} processes a join costs at most {step * 1000:.0f} ms, "
             f"a table {memory / 2**20:.0f} MiB")
    return style.finish(figure, title, footer + f"\nS = M = {own[0]['slots']:,}, seed 1, one core",
                        bottom=0.25)
