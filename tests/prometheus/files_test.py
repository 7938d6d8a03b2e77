#!/usr/bin/python3
"""Rules, dashboard, runbook and docs/metrics.md agree; promtool's unit tests of the rules pass."""
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import deps  # noqa: E402
from harness.process import REPOSITORY  # noqa: E402
from prometheus import board, documented  # noqa: E402

DASHBOARDS = REPOSITORY / "dashboards"
RULES = DASHBOARDS / "rules.yml"
RULES_TEST = DASHBOARDS / "rules_test.yml"
RUNBOOK = REPOSITORY / "docs" / "runbook.md"

# What Grafana itself fills in.
BUILT_IN = {"__interval", "__rate_interval"}
ROWS = 10


def promtool(*arguments):
    """Its output; an error if it complains."""
    done = subprocess.run([deps.need("promtool"), *map(str, arguments)], capture_output=True,
                          text=True, timeout=100, check=False)
    if done.returncode:
        raise AssertionError(f"promtool {arguments}\n{done.stdout}{done.stderr}")
    return done.stdout


class Rules(unittest.TestCase):
    """dashboards/rules.yml and its unit tests."""

    def setUp(self):
        self.text = RULES.read_text(encoding="utf-8")
        # One may stand twice, with two severities.
        self.alerts = list(dict.fromkeys(re.findall(r"(?m)^ +- alert: (\w+)$", self.text)))
        self.recorded = re.findall(r"(?m)^ +- record: (\S+)$", self.text)

    def test_unit_tests(self):
        promtool("test", "rules", RULES_TEST)

    def test_every_alert_is_tested_both_ways(self):
        tested = RULES_TEST.read_text(encoding="utf-8")
        self.assertGreater(len(self.alerts), 10)
        for alert in self.alerts:
            cases = re.findall(rf"alertname: {alert}\n +exp_alerts:(.*)", tested)
            self.assertIn(" []", cases, f"{alert} is never seen not to fire")
            self.assertIn("", cases, f"{alert} is never seen to fire")

    def test_names_are_documented(self):
        known = documented.metrics()
        for path in (RULES, RULES_TEST):
            self.assertEqual(documented.mistakes(path.read_text(encoding="utf-8"), known), [], path)

    def test_alert_on_what_the_table_says(self):
        """The last column of docs/metrics.md, through what is recorded."""
        known = documented.metrics()
        of_rule = {}
        for name, text in re.findall(
                r"(?ms)^ +- (?:alert|record): (\S+)$(.+?)(?=^ +- (?:alert|record|name):|\Z)",
                self.text):
            of_rule[name] = of_rule.get(name, "") + text

        def metrics_of(rule):
            names = {documented.base_name(name, known)
                     for name, _ in documented.uses(of_rule[rule])}
            for other in self.recorded:
                if re.search(rf"(?<![\w:]){other}\b", of_rule[rule]):
                    names |= metrics_of(other)
            return names

        used = {name: set() for name in known}
        for alert in self.alerts:
            for name in metrics_of(alert):
                used[name].add(alert)
        self.assertEqual(used, {name: metric.alerts for name, metric in known.items()})

    def test_recorded_names_are_recorded(self):
        used = set(re.findall(r"\b(?:lane|process):[\w:]+", self.text))
        self.assertEqual(used, set(self.recorded))

    def test_runbook_has_a_paragraph_for_each_alert_and_no_other(self):
        paragraphs = dict(re.findall(r"(?ms)^## (\w+)\n(.+?)(?=^## |\Z)",
                                     RUNBOOK.read_text(encoding="utf-8")))
        self.assertEqual(list(paragraphs), self.alerts, "in the rules' order")
        for alert, text in paragraphs.items():
            self.assertGreater(len(text), 200, alert)
        links = re.findall(r"- alert: (\w+)\n(?:(?!- alert).*\n)*? +runbook_url: (\S+)", self.text)
        self.assertEqual(list(dict.fromkeys(links)),
                         [(alert, f"docs/runbook.md#{alert.lower()}") for alert in self.alerts])


class Dashboard(unittest.TestCase):
    """dashboards/neliroute.json, as Grafana reads it."""

    def setUp(self):
        self.board = board.Board()

    def test_names_are_documented(self):
        known = documented.metrics()
        texts = self.board.expressions() + [one["definition"]
                                            for one in self.board.variables.values()
                                            if one["type"] == "query"]
        for text in texts:
            self.assertEqual(documented.mistakes(text, known), [], text)
            self.assertTrue(documented.uses(text), f"{text} asks for nothing of ours")

    def test_shows_what_the_table_says_it_shows(self):
        """The column `row` of docs/metrics.md."""
        known = documented.metrics()
        shown = {name: set() for name in known}
        for panel in self.board.panels:
            for query in panel.queries:
                for name, _ in documented.uses(query["expr"]):
                    row = int(panel.row.partition(" ")[0])
                    shown[documented.base_name(name, known)].add(row)
        self.assertEqual(shown, {name: metric.rows for name, metric in known.items()})

    def test_has_its_rows(self):
        self.assertEqual([row.partition(" ")[0] for row in self.board.rows],
                         [str(number) for number in range(1, ROWS + 1)])
        self.assertEqual({panel.row for panel in self.board.panels}, set(self.board.rows))

    def test_variables_are_defined_and_used(self):
        used = set()
        for text in [*self.board.expressions(), *(str(one.get("definition", ""))
                                                  for one in self.board.variables.values())]:
            used |= board.names_in(text)
        self.assertEqual(used - BUILT_IN, set(self.board.variables) - {"datasource"})
        for panel in self.board.panels:
            for one in (panel.data, *panel.queries):
                self.assertEqual(one["datasource"]["uid"], "${datasource}", panel)

    def test_every_series_is_of_the_chosen_environment(self):
        """Two environments that have the same group, topic and lane are not added up."""
        chosen = (documented.CHOSEN_LABEL, "=~", "$environment")
        for text in self.board.expressions():
            for name, matchers in documented.uses(text):
                self.assertIn(chosen, matchers, f"{name} in {text}")

    def test_no_query_is_padded(self):
        for text in self.board.expressions():
            self.assertNotRegex(text, r"\bor\b|\bvector\b|\babsent", text)

    def test_panels_are_told_apart_and_explained(self):
        everything = self.board.data["panels"]
        self.assertEqual(len({one["id"] for one in everything}), len(everything))
        self.assertEqual(len({str(one) for one in self.board.panels}), len(self.board.panels))
        for panel in self.board.panels:
            self.assertGreater(len(panel.data["description"]), 15, panel)
            letters = [query["refId"] for query in panel.queries]
            self.assertEqual(letters, sorted(set(letters)), panel)

    def test_panels_do_not_overlap(self):
        taken = {}
        for one in self.board.data["panels"]:
            place = one["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, one["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{one['title']} lies on {taken.get((x, y))}")
                    taken[x, y] = one["title"]


class Reading(unittest.TestCase):
    """That the tests above would see a mistake."""

    def test_mistakes_are_found(self):
        known = documented.metrics()
        for text, words in (("neliroute_slotz", "is not in"),
                            ('rate(neliroute_slots_total[5m])', "is not in"),
                            ('neliroute_slots{state="ownd"}', "is never"),
                            ('neliroute_slots{state=~"owned|gone"}', "is never"),
                            ('neliroute_slots{verdict="local"}', "has no label"),
                            ("rate(neliroute_handover_gap_seconds[5m])", "is a histogram")):
            self.assertRegex("; ".join(documented.mistakes(text, known)), words)

    def test_substitution(self):
        values = {"group": "g", "process": ["a.b", "c"], "__rate_interval": "4s"}
        self.assertEqual(
            board.substitute('rate(x{group="$group",p=~"${process:regex}"}[$__rate_interval])',
                             values),
            'rate(x{group="g",p=~"(a\\\\.b|c)"}[4s])')


if __name__ == "__main__":
    unittest.main()
