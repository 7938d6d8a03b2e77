#!/usr/bin/python3
"""Groups that Debian's Prometheus scrapes: some join, some are killed, and then the broker is.

  live_test.py FOLDER [TEST...]   draws what every panel of the dashboard shows of it into FOLDER

`pricing` is non-exclusive: a, b and c, then d joins, then c is killed. `quotes` is exclusive, so
that a kill leaves slots without an owner: x and y, of which y is killed. In `rates` a member
assigns: m and n, of which n is killed. b serves requests for a program behind it, and for all keys:
those of a and c reach nobody. In the end the broker is killed, then who is left. The story runs
once; the tests ask Prometheus what it was like at its stages.
"""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, deps, process  # noqa: E402
from harness.owners import free_port  # noqa: E402
from prometheus import board, documented, server  # noqa: E402

FOLDER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
PYTHON = deps.cache_folder() / "python" / "bin" / "python"
RULES = process.REPOSITORY / "dashboards" / "rules.yml"

# Both divide by three and by four processes.
PARTITIONS, SLOTS = 24, 240
# How long no view may have changed where the story goes on: moves are counted within 10 s.
REST_SECONDS = 11
# A wait that is over in seconds, unless both cores are busy with something else.
PATIENCE = 60
TOPICS = {"pricing": "ledger", "quotes": "quotes", "rates": "rates"}
CLIENTS = {"producer", "tail", "group"}


def of_group(expression, group):
    """The expression with every selector narrowed to one group."""
    return documented.USE.sub(
        lambda found: f'{found[1]}{{group="{group}",{found[2] or ""}}}', expression)


class Program(http.server.BaseHTTPRequestHandler):
    """What stands behind b."""

    def do_GET(self):
        """Nothing to say."""
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        """Nothing."""


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.prometheus = server.Prometheus(cls.folder, cls.addClassCleanup, RULES)
        topics = [part for topic in TOPICS.values() for part in ("--topic", topic)]
        row = process.embedded_broker(cls.folder, cls.keep_broker, "--partitions", PARTITIONS,
                                      *topics)
        # The default profile: where both cores are busy, a lease of 375 ms ends every few seconds,
        # and no view rests for as long as the story waits.
        cls.settings = {"brokers": row["brokers"], "slots": SLOTS, "http": "0", "json": True,
                        "assignment": "group",
                        "X": "statistics.interval.ms=1000"}
        cls.addresses, cls.processes, cls.at = {}, {}, {}
        cls.began = server.now()
        cls.live_through()

    @classmethod
    def keep_broker(cls, end, broker):
        """To be ended by the story, or with it."""
        cls.broker = broker
        cls.addClassCleanup(end, broker)

    @classmethod
    def live_through(cls):
        """The story; `at` has when each stage was at rest."""
        cls.start("a", "pricing", calls=True)
        cls.start_proxy("b")
        cls.start("c", "pricing")
        for name in "xy":
            cls.start(name, "quotes", mode="exclusive")
        for name in "mn":
            cls.start(name, "rates", assignment="assigner", partitions=PARTITIONS,
                      serve_stale="0s")
        cls.at["three"] = cls.rest(pricing=3, quotes=2, rates=2)
        cls.start("d", "pricing")
        cls.at["four"] = cls.rest(pricing=4, quotes=2, rates=2)
        cls.killed = server.now()
        cls.kill("c", "y", "n")
        cls.at["killed"] = cls.rest(pricing=3, quotes=1, rates=1)
        cls.expositions = {name: cls.exposition(name) for name in "abdxm"}
        children.end(cls.broker, 0)
        cls.prometheus.wait_value(
            'count(ALERTS{alertname="NelirouteLedgerSilent",alertstate="firing"})', 5, PATIENCE)
        cls.at["silent"] = server.now()
        cls.kill("a", "b", "d", "x", "m")
        cls.prometheus.wait_value('count(ALERTS{alertname="NelirouteGroupGone"})', 3, PATIENCE)

    @classmethod
    def start(cls, name, group, calls=False, **more):
        """An owner; one that `calls` looks keys up, too."""
        program = [os.environ["CALLING_PROCESS"]] if calls else [process.tool_path(), "run"]
        options = {**cls.settings, "name": name, "endpoint": f"{name}:7001", "group": group,
                   "topic": TOPICS[group], **more}
        out = cls.folder / f"{name}.out"
        with open(out, "wb") as file, open(cls.folder / f"{name}.err", "wb") as errors:
            cls.processes[name] = children.spawn([*program, *process.option_list(options)],
                                                 stdout=file, stderr=errors,
                                                 env=process.environment())
        cls.addClassCleanup(children.end, cls.processes[name], 0)
        joined = children.wait_until(process.LineFile(out).read, PATIENCE, f"{name} has joined")[0]
        cls.addresses[name] = joined["http"]
        cls.prometheus.retarget(cls.addresses.values())

    @classmethod
    def start_proxy(cls, name):
        """An owner before a program; somebody sends it requests, for as long as the story runs."""
        program = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Program)
        cls.addClassCleanup(program.server_close)
        cls.addClassCleanup(program.shutdown)
        threading.Thread(target=program.serve_forever, daemon=True).start()
        port = free_port()
        cls.start(name, "pricing", endpoint=f"127.0.0.1:{port}", key="path:1", deadline="200ms",
                  upstream="127.0.0.1:%d" % program.server_address[1])
        ended = threading.Event()

        def call():
            number = 0
            while not ended.wait(0.02):
                number += 1
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{number % 100}",
                                           timeout=5).close()
                except OSError:
                    pass  # nobody, or b is not there yet, or any more
        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        cls.addClassCleanup(caller.join, 10)
        cls.addClassCleanup(ended.set)

    @classmethod
    def kill(cls, *names):
        """At once, and until Prometheus has missed them."""
        for name in names:
            children.end(cls.processes[name], 0)
        for name in names:
            cls.prometheus.wait_value(f'up{{instance="{cls.addresses[name]}"}}', 0, PATIENCE)

    @classmethod
    def exposition(cls, name):
        """What a process says at /metrics."""
        with urllib.request.urlopen(f"http://{cls.addresses[name]}/metrics", timeout=10) as answer:
            return answer.read()

    @classmethod
    def rest(cls, **groups):
        """An instant when so many of each group owned the same, and no view changed for a while."""
        def unlike(instant):
            return {of_group(text, group): cls.values(text, instant, group)
                    for group, owners in groups.items()
                    for text, value in cls.resting(owners).items()
                    if cls.values(text, instant, group) != [value]}

        def at_rest():
            instant = server.now()
            return None if unlike(instant) else instant
        return children.wait_until(
            at_rest, PATIENCE,
            lambda: f"{groups} are at rest: {unlike(server.now())}\n{cls.said()}", poll=0.3)

    @staticmethod
    def resting(owners):
        """What each query gives when a group of so many is at rest."""
        return {
            f'count(neliroute_slots{{state="owned"}} == {SLOTS // owners})': owners,
            "count(neliroute_ready == 1)": owners,
            f"count(neliroute_process_slots == {SLOTS // owners})": owners * owners,
            'sum(neliroute_view_slots{state=~"unowned|unknown"})': 0,
            'count(count_values("digest", neliroute_view_digest))': 1,
            f"max(changes(neliroute_view_changes_total[{REST_SECONDS}s]))": 0,
            f"count(count_over_time(neliroute_view_changes_total[{REST_SECONDS}s]) "
            f">= {REST_SECONDS - 2})": owners,
        }

    @classmethod
    def said(cls):
        """What the processes complained of, for a failure's message."""
        return "\n".join(f"{name}: {(cls.folder / f'{name}.err').read_text()[-1500:]}"
                         for name in cls.processes)

    @classmethod
    def values(cls, expression, at, group="pricing"):
        """The values of a query at an instant."""
        return [one.points[0][1] for one in cls.prometheus.query(of_group(expression, group), at)]

    def one(self, expression, stage, group="pricing"):
        """The only value of a query at a stage."""
        found = self.values(expression, self.at[stage], group)
        self.assertEqual(len(found), 1, (expression, stage, found))
        return found[0]

    def by(self, label, expression, stage, group="pricing"):
        """Values by one label."""
        found = self.prometheus.query(of_group(expression, group), self.at[stage])
        values = {one.labels[label]: one.points[0][1] for one in found}
        self.assertEqual(len(values), len(found), expression)
        return values

    def grown(self, expression, before, after, group="pricing"):
        """By how much a counter did, by process."""
        begin, end = (self.by("process", expression, stage, group) for stage in (before, after))
        return {name: value - begin[name] for name, value in end.items() if name in begin}

    def moved(self, before, after):
        """What each process's view counted between two stages: by cause, and in excess."""
        counted = {}
        for name in self.by("process", "neliroute_info", after):
            def grown(series):
                return (self.one(f'{series}process="{name}"}}', after)
                        - sum(self.values(f'{series}process="{name}"}}', self.at[before])))
            counted[name] = {cause: grown(f'neliroute_slots_moved_total{{cause="{cause}",')
                             for cause in ("join", "leave", "balance")}
            counted[name]["excess"] = grown("neliroute_excess_moves_total{")
        return counted

    def test_sums(self):
        """Own slots sum to S over the processes, views sum to S in each."""
        for stage, owners in (("three", "abc"), ("four", "abcd"), ("killed", "abd")):
            with self.subTest(stage):
                self.assertEqual(self.one('sum(neliroute_slots{state="owned"})', stage), SLOTS)
                self.assertEqual(self.one('sum(neliroute_slots{state!="owned"})', stage), 0)
                self.assertEqual(self.by("process", "sum by (process) (neliroute_view_slots)",
                                         stage), dict.fromkeys(owners, SLOTS))
                share = SLOTS // len(owners)
                self.assertEqual(self.by("process", "max by (process) (neliroute_process_slots)",
                                         stage), dict.fromkeys(owners, share))
                self.assertEqual(self.by("process", 'neliroute_view_slots{state="local"}', stage),
                                 dict.fromkeys(owners, share))
                self.assertEqual(self.one('neliroute_processes{state="owning",process="a"}',
                                          stage), len(owners))

    def test_a_join(self):
        """Everybody counts what the newcomer got, that it joined, and what was least."""
        for name, counted in self.moved("three", "four").items():
            if name == "d":
                continue  # it saw only the end of it
            # The rest is balance if it came more than half a lease later: then d had some before.
            self.assertGreater(counted["join"], 0, (name, counted))
            self.assertEqual(counted["leave"], 0, (name, counted))
            self.assertEqual(counted["join"] + counted["balance"] - counted["excess"], SLOTS // 4,
                             (name, counted))
        self.assertEqual(self.by("state", 'neliroute_slots{process="d"}', "four"),
                         {"owned": SLOTS // 4, "looking": 0, "draining": 0})

    def test_a_kill(self):
        """The killed process's slots came to the others, who measured how long they had none."""
        self.assertEqual(self.by("instance", "up == 0", "killed"),
                         {self.addresses[name]: 0 for name in "cyn"})
        self.assertEqual(self.values('neliroute_info{process="c"}', self.at["killed"]), [])
        for name, counted in self.moved("four", "killed").items():
            self.assertEqual(counted["join"], 0, (name, counted))
            # What went more than half a lease before the rest is balance: c still had some after.
            self.assertGreater(counted["leave"], 0, (name, counted))
            self.assertEqual(counted["leave"] + counted["balance"] - counted["excess"], SLOTS // 4,
                             (name, counted))

    def test_gaps(self):
        """Where it is exclusive, a kill leaves slots unowned for a while; else nothing need."""
        gaps, unowned = "neliroute_handover_gap_seconds", "neliroute_unowned_slot_seconds_total"
        for name, count in self.grown(f"{gaps}_count", "four", "killed").items():
            self.assertGreaterEqual(count, PARTITIONS // 4, name)
        for what in (f"{gaps}_sum", unowned):
            self.assertLess(max(self.grown(what, "three", "four").values()), 0.1, what)
        # One that nobody led, from the kill to rest at most; a scrape may be late.
        longest = self.at["killed"] - self.killed + server.SCRAPE_SECONDS
        self.assertLessEqual(max(self.grown(unowned, "four", "killed").values()),
                             SLOTS // 4 * longest)

        def by_x(expression):
            return self.grown(expression, "four", "killed", "quotes")["x"]
        self.assertGreaterEqual(by_x(f"{gaps}_count"), PARTITIONS // 2)
        self.assertGreater(by_x(unowned), 0)
        self.assertLessEqual(by_x(unowned), SLOTS // 2 * longest)
        # Two ways to measure the same, one of partitions and one of slots. A gap counts from the
        # lease's end, an unowned slot from when that is noticed: on a busy machine 0.2 s of 1.5 s.
        by_partitions = by_x(f"{gaps}_sum") * SLOTS / PARTITIONS
        self.assertAlmostEqual(by_partitions / by_x(unowned), 1, delta=0.25)
        self.assertEqual(self.one("neliroute_handover_overlap_seconds_count", "killed", "quotes"),
                         0)
        self.assertGreater(min(self.grown("neliroute_handover_overlap_seconds_count", "three",
                                          "four").values()), 0)

    def test_kafka(self):
        """The group's assignment, and what librdkafka tells of itself."""
        for stage, owners in (("three", "abc"), ("four", "abcd"), ("killed", "abd")):
            with self.subTest(stage):
                self.assertEqual(self.by("process", "neliroute_assigned_partitions", stage),
                                 dict.fromkeys(owners, PARTITIONS // len(owners)))
                self.assertEqual(self.by("process", "neliroute_kafka_group_joined", stage),
                                 dict.fromkeys(owners, 1))
                for metric in ("brokers_up", "round_trip_p99_seconds", "connects_total"):
                    least = self.by("client", f"min by (client) (neliroute_kafka_{metric})", stage)
                    self.assertEqual(set(least), CLIENTS)
                    self.assertGreater(min(least.values()), 0, (metric, least))
                self.assertEqual(self.one("max(neliroute_kafka_throttle_seconds)", stage), 0)
                # One request at a time, and none takes longer than a renewal's lease.
                self.assertLess(self.one("max(neliroute_kafka_round_trip_p99_seconds)", stage),
                                self.one("max(neliroute_lease_seconds)", stage))
        for metric in ("requests_total", "sent_bytes_total", "received_bytes_total"):
            grown = self.grown(f'neliroute_kafka_{metric}{{client="tail"}}', "three", "four")
            self.assertGreater(min(grown.values()), 0, (metric, grown))
        rebalances = self.grown("neliroute_rebalance_duration_seconds_count", "four", "killed")
        self.assertGreater(min(rebalances.values()), 0, rebalances)

    def test_the_ledger_is_gone(self):
        """Without a broker who may serves on; all others know nothing, and everybody says so."""
        for group, left, stale in (("pricing", "abd", SLOTS), ("quotes", "x", 0),
                                   ("rates", "m", 0)):
            def told(value, expression, group=group, left=left):
                self.assertEqual(self.by("process", expression, "silent", group),
                                 dict.fromkeys(left, value), expression)
            told(0, "neliroute_ledger_answering")
            told(stale, "neliroute_stale_slots")
            told(SLOTS - stale, 'neliroute_view_slots{state="unknown"}')
            told(1 if stale else 0, "neliroute_ready")
            told(0, "neliroute_gave_up")
            told(0, "max by (process) (neliroute_kafka_brokers_up)")

    def test_assigner(self):
        """One of m and n assigned, and m does since n was killed, which it took for dead."""
        for stage, members in (("four", "mn"), ("killed", "m")):
            with self.subTest(stage):
                self.assertEqual(self.one("sum(neliroute_assigner)", stage, "rates"), 1)
                self.assertEqual(self.by("process", "neliroute_members", stage, "rates"),
                                 dict.fromkeys(members, len(members)))
                self.assertEqual(self.by("process", "neliroute_fair_slots", stage, "rates"),
                                 dict.fromkeys(members, SLOTS / len(members)))
        dead, false, claimed, written = (
            self.one(f'neliroute_{name}_total{{process="m"}}', "killed", "rates")
            for name in ("member_deaths", "member_false_deaths", "seats_claimed",
                         "assignments_written"))
        self.assertGreaterEqual(dead - false, 1)
        self.assertGreaterEqual(claimed, 1)
        self.assertGreaterEqual(written, 1)
        self.assertEqual(self.values("neliroute_members", self.at["killed"]), [])

    def test_lookups(self):
        """Only a is called; where nothing moves, what is not local is remote."""
        self.assertEqual(set(self.by("process", "sum by (process) (neliroute_lookups_total) > 0",
                                     "killed")), {"a"})
        counts = [self.by("verdict", 'neliroute_lookups_total{process="a"}', stage)
                  for stage in ("three", "four", "killed")]
        for before, after in zip(counts, counts[1:]):
            self.assertGreater(after["local"], before["local"])
            self.assertGreater(after["remote"], before["remote"])

    def test_rules(self):
        """Each evaluates, each recorded one has values, and critical ones fire when they must."""
        rules = self.prometheus.rules()
        self.assertEqual([rule["lastError"] for rule in rules if rule["health"] != "ok"], [])
        self.assertEqual([rule["name"] for rule in rules if rule["type"] == "recording"
                          and not self.prometheus.query(rule["name"], self.at["killed"])], [])
        critical = 'ALERTS{alertstate="firing",severity="critical"}'
        for stage in ("three", "four", "killed"):
            self.assertEqual(self.prometheus.query(critical, self.at[stage]), [], stage)
        silent = [(one.labels["alertname"], one.labels["process"])
                  for one in self.prometheus.query(critical, self.at["silent"])]
        self.assertLessEqual({("NelirouteLedgerSilent", name) for name in "xm"}, set(silent))
        serving = 'ALERTS{alertname="NelirouteLedgerSilent",severity="warning"}'
        self.assertEqual({one.labels["process"] for one in
                          self.prometheus.query(serving, self.at["silent"])}, set("abd"))
        self.assertLessEqual({name for name, _ in silent},
                             {"NelirouteLedgerSilent", "NelirouteSlotsUnknown",
                              "NelirouteNoAssigner"})

    def test_exposition(self):
        """promtool has nothing to say about names, types and help texts."""
        for name, text in self.expositions.items():
            done = subprocess.run([deps.need("promtool"), "check", "metrics"], input=text,
                                  capture_output=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""), name)

    def variables(self, dashboard):
        """What a person finds in the lists, the first of each chosen, and all processes."""
        chosen = {"__interval": f"{server.SCRAPE_SECONDS}s",
                  "__rate_interval": f"{4 * server.SCRAPE_SECONDS}s"}
        for name, variable in dashboard.variables.items():
            if variable["type"] == "textbox":
                chosen[name] = variable["query"]
            if variable["type"] != "query":
                continue
            found = board.variable_values(variable["definition"], chosen, self.prometheus.ask)
            self.assertTrue(found, f"variable {name} has no values")
            chosen[name] = variable["allValue"] if variable["includeAll"] else found[0]
        self.assertEqual([chosen[name] for name in ("environment", "group", "topic", "lane")],
                         ["neliroute", "pricing", "ledger", "0"])
        return chosen

    def test_every_panel_shows_something(self):
        """Every query, for all processes and for two of them; then all is drawn."""
        dashboard = board.Board()
        everybody = self.variables(dashboard)
        # Only in `rates` does a member assign.
        assigned = {**everybody, "group": "rates", "topic": TOPICS["rates"]}
        drawn, empty = [], []

        def shows_nothing(text, found):
            """Also without its filter: what lasts shorter than a scrape is seen by luck."""
            found = found or self.prometheus.query_range(text.removesuffix(" > 0"), self.began,
                                                         self.at["silent"])
            return not any(one.finite() for one in found)
        for panel in dashboard.panels:
            if panel.row.startswith(("9 ", "10 ")):  # of other stores than this one
                continue
            shown = []
            group, some = (assigned, "mn") if panel.row == "8 Assigner" else (everybody, "ab")
            for query in panel.queries:
                for values in ({**group, "process": list(some)}, group):
                    text = board.substitute(query["expr"], values)
                    found = self.prometheus.query_range(text, self.began, self.at["silent"])
                    if query.get("instant"):
                        now = self.prometheus.query(text, self.at["silent"])
                        empty += [] if any(one.finite() for one in now) else [text]
                    empty += [text] if shows_nothing(text, found) else []
                shown += [{"legend": board.legend(query["legendFormat"], one.labels),
                           "ref": query["refId"], "labels": one.labels,
                           "points": one.points} for one in found]
            drawn.append({"row": panel.row, "panel": panel.data, "series": shown})
        self.assertEqual(empty, [])
        if FOLDER:
            self.draw(drawn)

    def draw(self, drawn):
        """By the Python that has matplotlib."""
        Path(FOLDER).mkdir(parents=True, exist_ok=True)
        data = Path(FOLDER) / "panels.json"
        data.write_text(json.dumps({"began": self.began, "at": self.at, "panels": drawn}))
        done = subprocess.run(
            [PYTHON, "-B", Path(__file__).with_name("draw.py"), data, FOLDER],
            capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(Path(FOLDER).glob("[0-9]*.png"))), len(drawn))


if __name__ == "__main__":
    unittest.main()
