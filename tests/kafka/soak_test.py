#!/usr/bin/python3
"""An hour of restarts: what lives on takes no more memory, descriptors or threads for it.

An owner of each mode and a watcher live all the time, and are sampled at rest after each round.
In a round another owner of each mode is killed, one leaves as planned, new ones join, and the
broker is restarted, in order and crashed in turn; meanwhile clients come to each admin port and go.
Where a member assigns, the owner that lives on is the one that assigns at first: after a restart of
the broker, whoever reads first may assign.
NELIROUTE_SOAK_MINUTES=20 is a shorter one, which can tell less of slow leaks.
"""
import json
import os
import re
import socket
import time

import case
from case import boot_now
from harness import children, growth, process
from harness.children import wait_until
from harness.metrics import metric

MINUTES = float(os.environ.get("NELIROUTE_SOAK_MINUTES") or 60)
PARTITIONS = 32
ROUND = 60 * MINUTES / 80  # seconds at least: its neighbours need the cores
SAY_EVERY = 10  # rounds
GUESTS = 8  # at a time
MODES = ("non_exclusive", "exclusive")
# What Kafka 4.1.1 writes when it loads a coordinator's log twice, as after a crash on a busy
# machine, and ends with a coordinator that answers nobody until the broker starts again: its log
# went on while it was loaded ("out of sync with the underlying log"), or it keeps the first load,
# and with it a leader's epoch that is over.
COORDINATOR_LOST = ("context is in FAILED state", "Ignored load completion from __consumer_offsets")
# What an owner says of the others where a member assigns: a broker's restart should kill nobody.
TOLD = ("assigner", "members", "member_deaths_total", "member_false_deaths_total")
PATHS = ("/metrics", "/healthz", "/v1/slots", "/v1/processes", "/v1/route?key=soak", "/", "/no")


class Client:
    """Somebody who asks an admin port, and leaves a stream of events open meanwhile."""

    def __init__(self, port):
        self.port = port
        self._stream = None

    def _connect(self, target, lasting):
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: "
                           f"{'keep-alive' if lasting else 'close'}\r\n\r\n".encode())
        return connection

    def ask(self, target):
        """The whole answer."""
        with self._connect(target, False) as connection:
            answer = b""
            while piece := connection.recv(1 << 16):
                answer += piece
        return answer

    def listen(self):
        """Opens the stream, and waits for the view, which comes first."""
        self._stream = self._connect("/v1/events", True)
        self._hear(b"event: ")

    def _hear(self, wanted):
        heard = b""
        while wanted not in heard:
            piece = self._stream.recv(1 << 16)
            assert piece, f"the stream of port {self.port} ended: {heard[-500:]!r}"
            heard = heard[-100:] + piece

    def hang_up(self):
        """Reads one thing more, and closes the stream."""
        self._hear(b"event: ")
        self._stream.close()


class Measured:
    """A process that lives as long as the test."""

    def __init__(self, name, pid, errors):
        self.name, self.pid = name, pid
        found = wait_until(
            lambda: re.search(r"admin port: http://127\.0\.0\.1:(\d+)/", errors.read_text()),
            60, f"{name} says where its admin port is")
        self.client = Client(int(found.group(1)))
        self.samples = []

    def told(self, name):
        """What it says of this now, as a metric."""
        return metric(self.client.ask("/metrics").decode(), f"neliroute_{name}")

    def sample(self):
        """One more."""
        self.samples.append(growth.take_settled(self.pid))


class Soak(case.KafkaCase):
    """A group in each mode."""

    def setUp(self):
        self.fleets = [self.fleet(PARTITIONS, topic=f"soak-{mode}".replace("_", "-"), mode=mode,
                                  witness=False, http="0") for mode in MODES]
        self.ended = {fleet: [] for fleet in self.fleets}
        self.count = 0
        for fleet in self.fleets:
            for _ in range(3):
                self.join(fleet)
        for fleet in self.fleets:
            fleet.rest()
        self.measured = [self.who_stays(fleet) for fleet in self.fleets]
        self.measured.append(self.watcher(self.fleets[0]))

    @staticmethod
    def who_stays(fleet):
        """The first owner; where a member assigns, that one is made the first."""
        def measured(owner):
            return Measured(fleet.defaults["mode"], owner.pid, owner.errors)
        if not case.protocol().grouped:
            fleet.owners.sort(key=lambda owner: measured(owner).told("assigner"), reverse=True)
        return measured(fleet.owners[0])

    def watcher(self, fleet):
        """`neliroute watch`, without a screen."""
        wanted = {name: fleet.defaults[name] for name in
                  ("brokers", "topic", "group", "slots", "partitions", "profile", "mode")}
        errors = self.folder / "watcher.err"
        with open(self.folder / "watcher.out", "wb") as out, open(errors, "wb") as err:
            self.watching = children.spawn(
                [process.tool_path(), "watch",
                 *process.option_list({**wanted, "json": True, "http": "0"})],
                stdout=out, stderr=err, env=process.environment())
        self.addCleanup(children.end, self.watching, 0)
        return Measured("watcher", self.watching.pid, errors)

    def join(self, fleet):
        """One more, with a key of its own."""
        self.count += 1
        fleet.start(name=f"soak{self.count}", endpoint=f"127.0.0.1:{7000 + self.count}")

    def retire(self, fleet, owner):
        """What has ended is read to its end once, and not looked at in each round."""
        owner.refresh()
        owner.running()  # notes when it ended
        children.end(owner.child, grace=0)
        fleet.owners.remove(owner)
        self.ended[fleet].append(owner)

    def rest(self):
        """All groups."""
        for fleet in self.fleets:
            try:
                fleet.rest()
            except TimeoutError:
                behind = self.epochs_behind(fleet)
                if not behind:
                    raise
                self.catch_up(fleet, behind)

    def epochs_behind(self, fleet):
        """By how much the group's epoch is below the one of its assignment, for Kafka's fault.

        Kafka 4.1.1 that loads a coordinator's log twice, as after a crash on a busy machine, may
        end with an older epoch of the group (53, and then 30). It assigns nothing until the epoch
        has passed that of the last assignment; each join and each leave adds one.
        """
        log = "".join(node.log_path.read_text(encoding="utf-8", errors="replace")
                      for node in self.kafka.nodes)

        def epochs(what):
            return [int(epoch) for epoch in
                    re.findall(rf"GroupId {re.escape(fleet.group)}\] {what} (\d+)", log)]
        bumped = epochs("Bumped group epoch to")
        computed = epochs("Computed a new target assignment for epoch")
        return max(0, max(computed) - bumped[-1]) if bumped and computed else 0

    def catch_up(self, fleet, behind):
        """More than so many joins and leaves, by a few members at a time."""
        self.note(f"Kafka's epoch of {fleet.group} fell {behind} behind its assignment's")
        stay = len(fleet.owners)
        for _ in range(behind // (2 * GUESTS) + 1):
            for _ in range(GUESTS):
                self.join(fleet)
            guests = fleet.owners[stay:]
            wait_until(lambda: len(self.kafka.admin.group(fleet.group)["members"]) ==
                       stay + GUESTS, 60, lambda: f"the guests join\n{fleet.describe()}", poll=0.1)
            for guest in guests:
                guest.leave()
            for guest in guests:
                self.assertEqual(guest.wait_exit(), 0, guest.error_tail())
                self.retire(fleet, guest)
        fleet.rest()

    def kill_one(self):
        """In each group; the first owner is the one that is measured."""
        for fleet in self.fleets:
            victim = fleet.owners[1]
            victim.kill()
            self.retire(fleet, victim)
            self.join(fleet)
        self.rest()

    def leave_one(self):
        """As planned."""
        leavers = [(fleet, fleet.owners[1]) for fleet in self.fleets]
        for fleet, leaver in leavers:
            leaver.leave()
            self.join(fleet)
        for fleet, leaver in leavers:
            self.assertEqual(leaver.wait_exit(), 0, leaver.error_tail())
            self.retire(fleet, leaver)
        self.rest()

    def restart_broker(self, grace):
        """Shut down in order, or with 0 crashed."""
        self.kafka.stop(grace)
        self.kafka.start()
        try:
            self.rest()
        except TimeoutError:
            log = self.kafka.log_tail(400)
            lost = next((text for text in COORDINATOR_LOST if text in log), None)
            if lost is None or not case.protocol().grouped:
                raise
            self.note(f"Kafka has lost its group coordinator ({lost}); its broker starts again")
            self.kafka.stop(10.0)
            self.kafka.start()
            self.rest()

    def ask(self):
        """What a scraper and a person with the page do."""
        for one in self.measured:
            for path in PATHS:
                answer = one.client.ask(path)
                self.assertIn(b"404" if path == "/no" else b"200", answer.split(b"\r\n", 1)[0])

    def one_round(self, number):
        """Everything once; then all are sampled."""
        for one in self.measured:
            one.client.listen()
        self.kill_one()
        self.ask()
        self.leave_one()
        self.restart_broker(10.0 if number % 2 else 0.0)
        self.ask()
        for one in self.measured:
            one.client.hang_up()
        for one in self.measured:
            one.sample()

    def say(self):
        """Where they stand."""
        for one in self.measured:
            self.note(growth.describe(one.name, one.samples))
        for one in [] if case.protocol().grouped else self.measured[:len(MODES)]:
            self.note(f"{one.name}: {({name: one.told(name) for name in TOLD})}")

    def keep(self):
        """All samples, beside the logs that are kept if this fails."""
        rows = {one.name: [vars(sample) for sample in one.samples] for one in self.measured}
        (self.folder / "samples.json").write_text(json.dumps(rows), encoding="utf-8")

    def test_nothing_grows(self):
        until, number = boot_now() + 60 * MINUTES, 0
        while boot_now() < until:
            number += 1
            next_round = boot_now() + ROUND
            self.one_round(number)
            time.sleep(max(0, next_round - boot_now()))
            if number % SAY_EVERY == 0:
                self.say()
                self.keep()
        self.keep()
        self.note(f"{number} rounds in {MINUTES:g} minutes")
        self.say()
        self.assertIsNone(self.watching.poll(), "the watcher ended")
        for fleet in self.fleets:
            fleet.owners = self.ended[fleet] + fleet.owners
            self.assert_clean(fleet)
        found = [text for one in self.measured for text in growth.judge(one.name, one.samples)]
        self.assertEqual(found, [])


if __name__ == "__main__":
    case.main()
