"""The Grafana dashboard as a test reads it: its panels, and their queries as Grafana sends them."""
import json
import re
from typing import NamedTuple

from harness.process import REPOSITORY

PATH = REPOSITORY / "dashboards" / "neliroute.json"


class Panel(NamedTuple):
    """One panel, and the row it stands in."""
    row: str
    data: dict

    @property
    def title(self):
        """What stands above it."""
        return self.data["title"]

    @property
    def queries(self):
        """Its targets."""
        return self.data["targets"]

    def __str__(self):
        return f"{self.row} / {self.title}"


class Board:
    """dashboards/neliroute.json."""

    def __init__(self, path=PATH):
        self.data = json.loads(path.read_text(encoding="utf-8"))
        self.rows = []
        self.panels = []
        for one in self.data["panels"]:
            if one["type"] == "row":
                self.rows.append(one["title"])
            else:
                self.panels.append(Panel(self.rows[-1], one))

    @property
    def variables(self):
        """Name: variable, in order."""
        return {one["name"]: one for one in self.data["templating"]["list"]}

    def expressions(self):
        """Every query of every panel."""
        return [query["expr"] for panel in self.panels for query in panel.queries]


VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")


def names_in(expression):
    """The variables that it uses."""
    return {braced or bare for braced, bare in VARIABLE.findall(expression)}


def substitute(expression, values):
    """As Grafana does; a list is several choices, which it sends as one pattern."""
    def one(found):
        value = values[found.group(1) or found.group(2)]
        if isinstance(value, list):
            return "(" + "|".join(re.escape(each).replace("\\", "\\\\") for each in value) + ")"
        return value
    return VARIABLE.sub(one, expression)


def variable_values(query, values, ask):
    """What label_values(SERIES, LABEL) gives; `ask` asks Prometheus' API."""
    found = re.fullmatch(r"label_values\((.+), (\$?\w+)\)", query)
    if not found:
        raise ValueError(f"{query}: expected label_values(SERIES, LABEL)")
    return ask(f"label/{substitute(found.group(2), values)}/values",
               **{"match[]": substitute(found.group(1), values)})


def legend(pattern, labels):
    """What Grafana calls a series."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found.group(1), ""), pattern)
