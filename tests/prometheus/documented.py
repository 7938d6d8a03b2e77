"""What docs/metrics.md says there is, and what an expression uses of it."""
import re
from typing import NamedTuple

from harness.process import REPOSITORY

PATH = REPOSITORY / "docs" / "metrics.md"
# `voter` is one of all series of a voter.
COMMON_LABELS = {"process", "group", "topic", "lane", "voter"}
# What a scrape or a histogram adds; the last two do in rules_test.yml.
ADDED_LABELS = {"instance", "job", "le", "env", "pod"}
# The dashboard's: which label tells environments apart is for its users to say.
CHOSEN_LABEL = "$environment_label"


class Metric(NamedTuple):
    """A row of the table: its labels with their values, None where they are not bounded."""
    type: str
    labels: dict
    rows: set  # of the dashboard
    alerts: set


def metrics():
    """Name: Metric."""
    found = {}
    for line in PATH.read_text(encoding="utf-8").splitlines():
        if not line.startswith("| `neliroute_"):
            continue
        name, kind, labels, _, shown = (cell.strip() for cell in line.strip("|").split("|"))
        rows, _, alerts = shown.partition(";")
        found[name.strip("`")] = Metric(kind, _labels(labels), {int(row) for row in _list(rows)},
                                        {f"Neliroute{one}" for one in _list(alerts)})
    return found


def _labels(cell):
    if cell.startswith("("):  # a remark on a common label
        return {}
    label, colon, values = cell.partition(":")
    return {label: set(_list(values))} if colon else dict.fromkeys(_list(cell))


def _list(text):
    return [one.strip() for one in text.split(",") if one.strip()]


USE = re.compile(r"(?<![:\w])(neliroute_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\$?\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def uses(text):
    """The metrics that it names, each with its matchers (label, operator, value)."""
    return [(name, MATCHER.findall(matchers)) for name, matchers in USE.findall(text)]


def base_name(name, known):
    """Of a histogram's series: the histogram."""
    base = re.sub(r"_(bucket|count|sum)$", "", name)
    return base if base in known and known[base].type == "histogram" else name


def mistakes(text, known):
    """What it names that is not documented, a sentence each."""
    found = []
    for name, matchers in uses(text):
        metric = known.get(base_name(name, known))
        if not metric:
            found.append(f"{name} is not in docs/metrics.md")
            continue
        if metric.type == "histogram" and name in known:
            found.append(f"{name} is a histogram: use its _bucket, _count or _sum")
        for label, _, value in matchers:
            if label not in COMMON_LABELS | ADDED_LABELS | {CHOSEN_LABEL, *metric.labels}:
                found.append(f"{name} has no label {label}")
            bounded = metric.labels.get(label)
            if bounded and not set(value.split("|")) <= bounded:
                found.append(f'{name} is never {label}="{value}"')
    return found
