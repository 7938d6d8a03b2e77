"""Debian's Prometheus, started by a test and asked over its HTTP API."""
import json
import math
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

from harness import children, deps

SCRAPE_SECONDS = 1


class Series(NamedTuple):
    """Its labels, and (Unix time, value) in order."""
    labels: dict
    points: list

    def finite(self):
        """The values that are numbers: a quantile of nothing is none."""
        return [value for _, value in self.points if math.isfinite(value)]


class QueryFailed(RuntimeError):
    """Prometheus refused a query, or warns of it."""


class Prometheus:
    """A server that scrapes what retarget() names, every second, until the test ends."""

    def __init__(self, folder, clean_up, rules):
        self._folder = Path(folder)
        self._targets = self._folder / "targets.json"
        self.retarget([])
        config = self._folder / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": f"{SCRAPE_SECONDS}s",
                       "evaluation_interval": f"{SCRAPE_SECONDS}s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "neliroute",
                                "file_sd_configs": [{"files": [str(self._targets)]}]}]}))
        self._log = self._folder / "prometheus.log"
        with open(self._log, "wb") as log:
            self._child = children.spawn(
                [deps.need("prometheus"), f"--config.file={config}",
                 f"--storage.tsdb.path={self._folder / 'data'}",
                 "--web.listen-address=127.0.0.1:0"], stdout=log, stderr=log)
        clean_up(children.end, self._child)
        self._url = f"http://{children.wait_until(self._address, 60, self._said)}/api/v1/"
        children.wait_until(self._answers, 60, self._said)

    def _said(self):
        return f"Prometheus answers\n{self._log.read_text()}"

    def _address(self):
        if self._child.poll() is not None:
            raise RuntimeError(f"Prometheus ended\n{self._log.read_text()}")
        found = re.search(r'"?Listening on"? address=(\S+)', self._log.read_text())
        return found and found.group(1)

    def _answers(self):
        try:
            return self.query("vector(1)")
        except (QueryFailed, OSError):
            return None

    def retarget(self, addresses):
        """Scrapes these from now on: Prometheus notices the new file."""
        fresh = self._targets.with_suffix(".new")
        fresh.write_text(json.dumps([{"targets": list(addresses)}]))
        os.replace(fresh, self._targets)

    def ask(self, path, **parameters):
        """The data of an answer of the API."""
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"{self._url}{path}?{query}", timeout=30) as answer:
                body = json.load(answer)
        except urllib.error.HTTPError as error:
            raise QueryFailed(f"{path} {parameters}: {error.read().decode()}") from error
        if body["status"] != "success" or body.get("warnings"):
            raise QueryFailed(f"{path} {parameters}: {body}")
        return body["data"]

    def query(self, expression, at=None):
        """The series of an instant, each with one point."""
        found = self.ask("query", query=expression, **({} if at is None else {"time": at}))
        if found["resultType"] == "scalar":
            return [Series({}, [_point(found["result"])])]
        return [Series(one["metric"], [_point(one["value"])]) for one in found["result"]]

    def query_range(self, expression, start, end, step=SCRAPE_SECONDS):
        """The series of a stretch of time."""
        found = self.ask("query_range", query=expression, start=start, end=end, step=step)
        return [Series(one["metric"], [_point(pair) for pair in one["values"]])
                for one in found["result"]]

    def value(self, expression):
        """Of a query whose answer is one series; None if it is none."""
        found = self.query(expression)
        if len(found) > 1:
            raise QueryFailed(f"{expression}: {len(found)} series instead of one: {found}")
        return found[0].points[0][1] if found else None

    def wait_value(self, expression, wanted, timeout=40):
        """Until the query's only value is this one."""
        children.wait_until(lambda: self.value(expression) == wanted, timeout,
                            lambda: f"{expression} is {wanted}; it is {self.query(expression)}",
                            poll=0.2)

    def rules(self):
        """Every rule of every group, once each has been evaluated."""
        def evaluated():
            rules = [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]
            return rules if all(rule["health"] != "unknown" for rule in rules) else None
        return children.wait_until(evaluated, 30, "every rule was evaluated", poll=0.2)


def _point(pair):
    return float(pair[0]), float(pair[1])


def now():
    """As Prometheus counts."""
    return time.time()
