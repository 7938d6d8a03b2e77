#!/usr/bin/env python3
"""Draws each run of a folder's routing.json into its plots/: calls, failures and latency over time.

    draw.py DIR           all of them
    draw.py DIR PLOTS     and those of docs/benchmarks.md, smaller, into PLOTS under their names

Needs matplotlib, which scripts/setup --tests installs beside Kafka's jars: routing.py calls it.
"""
import io
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
import style  # noqa: E402

LARGEST_SVG = 300_000
LARGEST_KEPT = 60_000
KEPT_MODE = "exclusive"
# (way, move) -> the name in docs/plots.
KEPT = {("gateway", "rolling"): "12-rolling-gateway", ("library", "rolling"): "12b-rolling-library",
        ("gateway", "kill"): "13-kill-gateway", ("library", "kill"): "13b-kill-library",
        ("gateway", "scale"): "14-scale-gateway", ("library", "scale"): "14b-scale-library"}
_LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")
_PATH = re.compile(r'(?<= d=")[^"]*')
_ONLY_LINES = re.compile(r"(?:[ML] [-\d.]+ [-\d.]+\s*|z\s*)*")
_LINE = re.compile(r"([MLz])(?: ([-\d.]+) ([-\d.]+))?")
LINES = (("p50", style.BLUE, "-"), ("p99", style.ORANGE, "-"), ("worst", style.GREY, ":"))


def footer(whole, row):
    """What was run, where."""
    machine, busy = whole["machine"], row["busy"]
    quick = " · QUICK RUN: too short for figures" if whole["quick"] else ""
    return (f"{whole['versions']['neliroute']} · {machine['cores']} x {machine['processor']}, "
            f"{busy['machine_percent']:.0f} % busy, of it {busy['others_percent']:.0f} % by "
            f"others{quick}\nsession {row['session_ms']} ms, T {row['lease_ms']} ms, "
            f"{row['partitions']} partitions, {row['assignment']}, {row['rate_asked']:,.0f} calls "
            "a second; all processes on this machine; latency from when a call was due, by when it "
            "was due")


def title(row):
    """What one learns."""
    latency = row["latency_ms"]
    said = f", p99.9 {latency['p999']:.1f} ms, worst {latency['worst']:.0f} ms" if latency else ""
    return (f"{row['way']}, ({row['letter']}) {row['move']}, {row['mode'].replace('_', '-')}: "
            f"{row['failed']:,} of {row['calls']:,} calls failed{said}")


def with_gaps(values):
    """None as what is not drawn."""
    return [float("nan") if value is None else value for value in values]


def marked(axes, marks):
    """A line for each mark; names where they fit, in turn at two heights."""
    for index, mark in enumerate(marks):
        axes.axvline(mark["at"], color=style.PURPLE, linewidth=0.8, linestyle="--")
        axes.annotate(mark["what"], (mark["at"], 1), (2, -8 - 9 * (index % 4)),
                      xycoords=("data", "axes fraction"), textcoords="offset points",
                      fontsize=6.5, color=style.PURPLE, va="top", annotation_clip=True)


def run_of(row, below):
    """One run: a figure."""
    # The last step ends with the last call.
    series = {name: values if name == "step_s" else values[:-1]
              for name, values in row["series"].items()}
    at, step = series["at"], series["step_s"]
    served = [(calls - lost) / step for calls, lost in zip(series["calls"], series["failed"])]
    failed = [lost / step for lost in series["failed"]]
    figure, [[above], [under]] = style.sheet(2, 1, height=5.6, sharex=True)
    above.step(at, served, where="post", color=style.BLUE, label="served")
    above.stairs(failed, [*at, at[-1] + step], fill=True, color=style.VERMILLION, linewidth=0,
                 label="failed")
    above.set(ylabel="calls a second, by when due", ylim=(0, 1.45 * max(*served, *failed, 1)))
    above.legend(loc="lower right", ncol=2)
    for name, colour, dashes in LINES:
        under.step(at, with_gaps(series[name]), where="post", color=colour, linestyle=dashes,
                   label=name, linewidth=1.2)
    under.set(yscale="log", ylabel="latency, ms", xlabel="seconds")
    under.legend(loc="upper right", ncol=3)
    marked(above, row["marks"])
    for mark in row["marks"]:
        under.axvline(mark["at"], color=style.PURPLE, linewidth=0.8, linestyle="--")
    return style.finish(figure, title(row), below, bottom=0.06)


def _steps(path):
    """Lines along an axis by the one coordinate that changes: steps have no others."""
    made, x, y = [], None, None
    for command, to_x, to_y in _LINE.findall(path):
        if command == "L" and to_y == y:
            made.append(f"H{to_x}")
        elif command == "L" and to_x == x:
            made.append(f"V{to_y}")
        else:
            made.append(f"{command}{to_x} {to_y}" if command != "z" else command)
        x, y = to_x, to_y
    return "".join(made)


def shortened(svg):
    """The same picture with paths to a tenth of a point, of which there are 72 in an inch."""
    def short(found):
        text = _LONG_NUMBER.sub(r"\1", found[0])
        return _steps(text) if _ONLY_LINES.fullmatch(text) else text
    return _PATH.sub(short, svg)


def keep(whole, plots):
    """The pictures of docs/benchmarks.md; the names of those that are too large."""
    large = []
    rows = {(row["way"], row["move"]): row for row in whole["cells"] if "problem" not in row
            and row["mode"] == KEPT_MODE and row["round"] == 1}
    for run, name in KEPT.items():
        if run not in rows:
            print(f"kept: {name} stays as it is: no run of {' '.join(run)}, {KEPT_MODE}")
            continue
        figure = run_of(rows[run], footer(whole, rows[run]))
        text = io.StringIO()
        with style.plt.rc_context({"svg.fonttype": "none"}):  # a glyph is as long as a word
            figure.savefig(text, format="svg", metadata={"Date": None})
        style.plt.close(figure)
        made = shortened(text.getvalue())
        (plots / f"{name}.svg").write_text(made, encoding="utf-8")
        print(f"kept: {plots / name}.svg, {len(made) / 1000:.0f} kB")
        if len(made) > LARGEST_KEPT:
            large.append(name)
    return large


def draw(folder):
    """All pictures; the names of those that are too large."""
    whole = json.loads((folder / "routing.json").read_text(encoding="utf-8"))
    out = folder / "plots"
    out.mkdir(exist_ok=True)
    large = []
    drawn = [row for row in whole["cells"] if "problem" not in row]
    for row in drawn:
        name = f"routing-{row['way']}-{row['move']}-{row['mode'].replace('_', '-')}"
        name += f"-{row['round']}" if row["round"] > 1 else ""
        figure = run_of(row, footer(whole, row))
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
        figure.savefig(out / f"{name}.png", dpi=100)
        style.plt.close(figure)
        if (out / f"{name}.svg").stat().st_size > LARGEST_SVG:
            large.append(name)
    print(f"drawn: {len(drawn)} runs into {out}")
    return large


if __name__ == "__main__":
    source = Path(sys.argv[1]).resolve()
    too_large = draw(source)
    if len(sys.argv) > 2:
        too_large += keep(json.loads((source / "routing.json").read_text(encoding="utf-8")),
                          Path(sys.argv[2]).resolve())
    for found in too_large:
        print(f"{found}: error: too large as SVG")
    sys.exit(1 if too_large else 0)
