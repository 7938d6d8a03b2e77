"""How the pictures look: one colour a thing in all of them, from a palette for the colour-blind."""
from typing import NamedTuple

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Okabe and Ito's palette.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, BLACK)
GREY = "#6f6f6f"
FAINT = "#d9d9d9"
OLIVE = "#8a7d00"  # the palette's yellow, dark enough for a line and its label

matplotlib.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 10, "axes.titlesize": 10, "axes.labelsize": 10,
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#e8e8e8", "grid.linewidth": 0.7, "axes.axisbelow": True,
    "lines.linewidth": 1.6, "lines.markersize": 4, "legend.frameon": False, "legend.fontsize": 9,
    # The same figures give the same file.
    "svg.hashsalt": "neliroute", "svg.fonttype": "path", "path.simplify": True,
})


class Look(NamedTuple):
    """Of one placement."""
    colour: str
    marker: str
    dashes: str
    label: str


LOOKS = {
    "range": Look(VERMILLION, "o", "-", "range (Kafka)"),
    "roundrobin": Look(ORANGE, "s", "-", "roundrobin (Kafka)"),
    "sticky": Look(BLACK, "D", "-", "sticky (Kafka)"),
    "uniform-4.0": Look(PURPLE, "v", "--", "uniform 4.0"),
    "uniform-4.1": Look(BLACK, "^", "-", "uniform 4.1, sticky"),
    "assigner": Look(BLACK, "s", "-.", "assigner"),
    "least": Look(GREY, "x", ":", "least possible"),
    "rendezvous": Look(BLUE, "P", "-", "rendezvous"),
    "ring": Look(SKY, "h", "-", "ring 160"),
    "ketama": Look(SKY, "p", "--", "ketama"),
    "bounded": Look(PURPLE, "d", "-", "bounded 1.25"),
    "multiprobe": Look(OLIVE, "*", "-", "multi-probe 21"),
    "maglev": Look(GREEN, "X", "-", "Maglev"),
    "jump": Look(BLUE, "<", "--", "jump"),
    "anchor": Look(BLUE, ">", "-", "anchor"),
    "dx": Look(BLUE, "1", "-", "dx"),
    "memento": Look(BLUE, "2", "-", "memento"),
}


def look(placement):
    """How a placement is drawn, with its parameter's value in the label."""
    name, _, parameter = placement.partition(":")
    found = LOOKS[name]
    return found._replace(label=f"{name} {parameter}") if parameter else found


def sheet(rows=1, columns=1, height=5.2, **more):
    """A figure 800 pixels wide and its axes."""
    figure, axes = plt.subplots(rows, columns, figsize=(8, height), squeeze=False, **more)
    return figure, axes


def finish(figure, title, footer, bottom=0.05):
    """What one learns above, where it was measured below."""
    lines = title.count("\n") + 1
    height = figure.get_size_inches()[1]
    top = 1 - (0.14 + 0.2 * lines) / height
    figure.tight_layout(rect=(0, bottom, 1, top))
    figure.text(0.012, 1 - 0.08 / height, title, fontsize=11.5, fontweight="bold", va="top")
    figure.text(0.012, 0.06 / height, footer, fontsize=7, color=GREY, va="bottom")
    return figure


def plain(axis, ticks):
    """A logarithmic axis with these ticks, as plain numbers."""
    axis.set_major_locator(matplotlib.ticker.FixedLocator(ticks))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:,g}"))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def pushed_apart(wanted, gap):
    """Ascending places, each as near to the wanted one as `gap` between neighbours allows."""
    placed = list(wanted)
    moved = True
    while moved:
        moved = False
        for i, (below, above) in enumerate(zip(placed, placed[1:])):
            short = gap - (above - below)
            if short > 1e-4:
                placed[i] -= short / 2
                placed[i + 1] += short / 2
                moved = True
    return placed


def labels_apart(axes, texts, gap, x=None):
    """Labels in a column, (point in data, text, colour) each, no two nearer than `gap`.

    Both x, the column's place, and `gap` are in parts of the axes; without x it is at the right
    edge. A fine line leads from each label to its point.
    """
    def inside(point):
        return axes.transAxes.inverted().transform(axes.transData.transform(point))
    found = sorted(((*inside(point), text, colour) for point, text, colour in texts),
                   key=lambda one: (one[1], -one[0]))
    places = pushed_apart([one[1] for one in found], gap)
    # The column as a whole stays within the axes.
    down = max(0.0, places[-1] - 1.02) - max(0.0, -0.02 - places[0])
    for (at_x, at_y, text, colour), place in zip(found, places):
        axes.annotate(text, (at_x, at_y), (1.05 if x is None else x, place - down),
                      xycoords="axes fraction", textcoords="axes fraction", fontsize=8.5,
                      color=colour, va="center", annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5,
                                  "relpos": (0, 0.5), "shrinkA": 1, "shrinkB": 1})
