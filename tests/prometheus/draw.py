#!/usr/bin/env python3
"""Draws what each panel of the dashboard shows:  draw.py PANELS_JSON FOLDER

As Grafana would, roughly: enough to see whether a panel tells what its title promises. A file for
each panel, and dashboard-panels.png with all of them, which docs/pictures has. Needs matplotlib,
which scripts/setup --tests installs.
"""
import json
import math
import re
import sys
from pathlib import Path

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import EngFormatter  # noqa: E402
from PIL import Image  # noqa: E402

plt.rcParams.update({"font.size": 8, "axes.titlesize": 9, "axes.titlelocation": "left",
                     "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
                     "axes.axisbelow": True, "grid.color": "#e8e8e8", "legend.frameon": False,
                     "legend.fontsize": 7, "legend.handlelength": 1.2})
UNITS = {"s": "s", "percentunit": "share", "reqps": "/ s", "cps": "/ s", "Bps": "bytes / s",
         "none": ""}
COLOURS = plt.get_cmap("tab10").colors
SHADES = {"green": "#37872d", "yellow": "#e0b400", "orange": "#e36414", "red": "#c4162a",
          "blue": "#1f60c4", "purple": "#8f3bb8", "dark-red": "#8b0000"}
SHEET_INCHES = 20
INCH_A_ROW = 0.28
SHEET_DPI = 100
SHEET_COLOURS = 128


def override(panel, series, of):
    """What the panel sets apart for a series, or None."""
    for one in panel["fieldConfig"]["overrides"]:
        if one["matcher"]["options"] in (series["legend"], series["ref"]):
            for each in one["properties"]:
                if each["id"] == of:
                    return each["value"]
    return None


def colour(panel, series, index):
    """The panel's own for a series, else the next."""
    fixed = override(panel, series, "color")
    return SHADES[fixed["fixedColor"]] if fixed else COLOURS[index % 10]


def gapped(series, times):
    """Its values at all the times, NaN where there is none."""
    values = dict(map(tuple, series["points"]))
    return [values.get(time, math.nan) for time in times]


def draw_lines(axes, panel, shown, times, seconds):
    """Lines, areas or bars; stacked where the panel is, below 0 what it turns over."""
    custom = panel["fieldConfig"]["defaults"]["custom"]
    bars, stacked = custom["drawStyle"] == "bars", custom["stacking"]["mode"] == "normal"
    floors = {sign: [0.0] * len(times) for sign in (1, -1)}
    for index, series in enumerate(shown):
        sign = -1 if override(panel, series, "custom.transform") == "negative-Y" else 1
        values = [sign * value for value in gapped(series, times)]
        look = {"color": colour(panel, series, index), "label": series["legend"]}
        apart = override(panel, series, "custom.stacking")
        if apart:
            dashed = override(panel, series, "custom.lineStyle")
            axes.plot(seconds, values, linestyle="--" if dashed else "-", linewidth=1.4, **look)
        elif bars or stacked:
            floor = floors[sign]
            tops = [low + (0 if math.isnan(value) else value) for low, value in zip(floor, values)]
            axes.fill_between(seconds, floor if stacked else 0.0, tops, alpha=0.7, linewidth=0,
                              step="mid" if bars else "post", **look)
            floors[sign] = tops if stacked else floor
        else:
            axes.plot(seconds, values, marker="." if custom["showPoints"] == "always" else None,
                      linewidth=1.2, **look)
    scale(axes, panel["fieldConfig"]["defaults"])
    axes.legend(loc="upper left", bbox_to_anchor=(-0.01, -0.08), ncols=6, columnspacing=1.0,
                labelspacing=0.2)


def scale(axes, defaults):
    """The panel's own bounds; where all is 0, the line lies at the bottom."""
    low, high = axes.get_ylim()
    if defaults.get("min") is not None:
        axes.set_ylim(bottom=defaults["min"], top=max(high, defaults["min"] + 0.1))
        if axes.dataLim.y1 <= 0:
            axes.set_ylim(0, 1)
    if defaults["unit"] == "Bps":
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    if defaults.get("min") is None and axes.dataLim.y0 == axes.dataLim.y1 == 0:
        axes.set_ylim(-1, 1)
    if defaults.get("max") is not None:
        axes.set_ylim(top=defaults["max"])


def draw_history(axes, panel, shown, times, seconds):
    """A line a series, coloured by its value."""
    texts = {}
    for mapping in panel["fieldConfig"]["defaults"].get("mappings", []):
        texts = {float(value): one for value, one in mapping["options"].items()}
    most = max(max(point[1] for point in series["points"]) for series in shown)
    for index, series in enumerate(shown):
        said = None
        for second, value in zip(seconds, gapped(series, times)):
            if math.isnan(value):
                continue
            fill = SHADES[texts[value]["color"]] if texts else plt.get_cmap("Blues")(value / most)
            axes.broken_barh([(second, 1.05)], (index - 0.4, 0.8), color=fill, linewidth=0)
            if value != said:
                axes.text(second + 0.3, index, texts[value]["text"] if texts else f"{value:g}",
                          fontsize=6, va="center", color="white" if texts or value > most / 2
                          else "black")
            said = value
    axes.set_yticks(range(len(shown)), [series["legend"] for series in shown])
    axes.grid(False)


def draw_stat(axes, panel, shown, times, seconds):
    """The value at the end, and how it came to it."""
    values = gapped(shown[0], times)
    axes.plot(seconds, values, color="grey", drawstyle="steps-post", linewidth=0.9)
    defaults = panel["fieldConfig"]["defaults"]
    scale(axes, {**defaults, "min": 0})
    steps = defaults["thresholds"]["steps"]
    fits = [one for one in steps if one["value"] is None or values[-1] >= one["value"]]
    text = {"percentunit": f"{values[-1]:.0%}", "s": f"{values[-1]:.3g} s"}
    axes.text(0.5, 0.5, text.get(defaults["unit"], f"{values[-1]:.4g}"), fontsize=16,
              color="white", transform=axes.transAxes, ha="center", va="center",
              bbox={"facecolor": SHADES[fits[-1]["color"]], "edgecolor": "none", "alpha": 0.9})


def draw_table(axes, panel, shown, _times, _seconds):
    """The labels, a row a series."""
    order = panel["transformations"][0]["options"]["indexByName"]
    names = sorted(shown[0]["labels"], key=order.get)
    table = axes.table([[one["labels"].get(name, "") for name in names] for one in shown],
                       colLabels=names, loc="upper center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    axes.axis("off")


KINDS = {"timeseries": draw_lines, "stat": draw_stat, "table": draw_table,
         "status-history": draw_history, "state-timeline": draw_history}


def draw(axes, story, one):
    """One panel, with the story's stages as lines."""
    panel, shown = one["panel"], one["series"]
    times = sorted({point[0] for series in shown for point in series["points"]})
    seconds = [time - story["began"] for time in times]
    KINDS[panel["type"]](axes, panel, shown, times, seconds)
    unit = UNITS[panel["fieldConfig"]["defaults"].get("unit", "none")]
    axes.set_title(panel["title"] + (f"  [{unit}]" if unit else ""))
    if panel["type"] != "table":
        for stage, at in story["at"].items():
            axes.axvline(at - story["began"], color="#bbbbbb", linewidth=0.7, zorder=0)
            axes.text(at - story["began"], 1, stage, transform=axes.get_xaxis_transform(),
                      fontsize=6, color="#777777", ha="right")
        axes.set_xlim(0, max(story["at"].values()) - story["began"])


def sheet(story):
    """All panels where the dashboard has them, under the titles of their rows."""
    places = [one["panel"]["gridPos"] for one in story["panels"]]
    height = max(place["y"] + place["h"] for place in places)
    figure = plt.figure(figsize=(SHEET_INCHES, height * INCH_A_ROW))
    tops = {}
    for one, place in zip(story["panels"], places):
        tops.setdefault(one["row"], place["y"])
        axes = figure.add_axes((place["x"] / 24 + 0.022,
                                1 - (place["y"] + place["h"] - 2) / height,
                                place["w"] / 24 - 0.032, (place["h"] - 3) / height))
        draw(axes, story, one)
    for row, top in tops.items():
        figure.text(0.006, 1 - (top - 0.3) / height, row, fontsize=11, weight="bold")
    return figure


def main():
    """Each panel apart, and all on one sheet."""
    story, folder = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for old in folder.glob("*.png"):
        old.unlink()
    for number, one in enumerate(story["panels"], 1):
        figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
        draw(axes, story, one)
        title = re.sub(r"\W+", "-", one["panel"]["title"].lower()).strip("-")
        figure.savefig(folder / f"{number:02}-{title}.png", dpi=100)
        plt.close(figure)
    path = folder / "dashboard-panels.png"
    sheet(story).savefig(path, dpi=SHEET_DPI)
    with Image.open(path) as whole:
        few = whole.convert("RGB").quantize(SHEET_COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
