#!/usr/bin/python3
"""The real Envoy before owners of other kinds: such as say 421 and forward nothing, such as speak
HTTP/2, and such as share very many partitions.

  owners_test.py COUNTER_SERVICE [TEST...]
"""
import re
import signal
import sys
import unittest
from pathlib import Path

# First, as it says where the harness is.
from envoy_case import Caller, Callers, EnvoyCase, children, free_port, json, process
import http2

COUNTER_SERVICE = Path(sys.argv.pop(1)).resolve()
COUNTERS = [f"counter{number}" for number in range(40)]


class CounterCallers(Callers):
    """Callers of examples/04_counter_service.cc, whose keys are in the path."""

    def request(self, number, turn):
        """All ask for the same counters. What adds may not be sent twice, and does not say so."""
        name = COUNTERS[turn % len(COUNTERS)]
        asked = {"headers": [("x-neli-key", name)], "path": f"/{name}"}
        return asked if self.method == "GET" else {**asked, "method": self.method, "body": b""}


class OwnersThatForwardNothing(EnvoyCase):
    """examples/04_counter_service.cc, which answers 421 to what it does not own."""
    more_topics = ("neliroute",)  # the example's own

    def counter_service(self, name):
        """One of its processes: that, and its port."""
        port, store = free_port(), self.folder / "store"
        store.mkdir(exist_ok=True)
        with open(self.folder / f"{name}.err", "wb") as err:
            child = children.spawn([COUNTER_SERVICE, f"127.0.0.1:{port}", self.brokers, store],
                                   stderr=err, env=process.environment())
        self.addCleanup(children.end, child, 0)
        return child, port

    def answers(self, port):
        """How often it answers with each status, over all counters."""
        found = {}
        for name in COUNTERS:
            caller = Caller(port)
            try:
                status = caller.ask([], path=f"/{name}")[0]
            except OSError:
                status = 0
            finally:
                caller.close()
            found[status] = found.get(status, 0) + 1
        return found

    def wait_shared(self, *ports):
        """Until each of these owns some counters, and between them they own all."""
        def shared():
            found = [self.answers(port) for port in ports]
            served = [one.get(200, 0) for one in found]
            return all(served) and sum(served) == len(COUNTERS)
        children.wait_until(shared, 40, lambda: [self.answers(port) for port in ports], poll=0.1)

    def test_moves_fail_no_request(self):
        """One joins while nobody tells Envoy, one leaves; each increment is counted once."""
        self.use("neliroute")
        self.lane = {"brokers": self.brokers, "profile": "fast"}
        (alpha, first), (_, second) = self.counter_service("alpha"), self.counter_service("beta")
        self.wait_shared(first, second)
        watch, _ = self.watch()
        port = self.envoy_by_files()
        readers, writers = CounterCallers(port, 2), CounterCallers(port, 2, "POST")
        readers.wait_served(50)
        before = self.counted("retry.upstream_rq_421")

        children.stop(watch.pid)  # so what moves is sent to its former owner, surely
        _, third = self.counter_service("gamma")
        children.wait_until(lambda: self.counted("retry.upstream_rq_421") > before + 3, 40,
                            lambda: f"421 from a former owner; gamma: {self.answers(third)}")
        watch.send_signal(signal.SIGCONT)
        self.wait_shared(first, second, third)
        readers.wait_served(50)
        writers.wait_served(50)
        print(f"{self.counted('retry.upstream_rq_421')} answers 421, "
              f"{self.counted('upstream_rq_retry')} further tries", flush=True)
        # Of a leaver that closes the connection on which it was sent, such a POST would fail.
        self.assertEqual(writers.stop(), [])
        caller = Caller(port)
        self.addCleanup(caller.close)
        counted = sum(int(caller.ask([("x-neli-key", name)], path=f"/{name}")[2])
                      for name in COUNTERS)
        self.assertEqual(counted, writers.served)

        alpha.terminate()
        self.assertEqual(alpha.wait(30), 0, (self.folder / "alpha.err").read_text())
        self.wait_shared(second, third)
        readers.wait_served(50)
        self.assertEqual(readers.stop(), [])


class OwnersByHttp2(EnvoyCase):
    """Callers and owners that speak HTTP/2."""

    def test_callers(self):
        """As the sample stands, by HTTP/2 to owners that speak HTTP/1.1."""
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        self.watch()
        port = self.envoy_by_files()
        owner, keys = self.owners(), [f"key{number}" for number in range(40)]
        for key, partition in zip(keys, self.partitions_of([key.encode() for key in keys])):
            answer = json.loads(http2.ask(port, [("x-neli-key", key)]))
            self.assertEqual(answer["served_by"], owner[partition], key)
        fields = [("x-neli-key", "k"), ("content-length", "100")]
        answer = json.loads(http2.ask(port, fields, "POST", body=b"x" * 100))
        self.assertEqual(answer["bytes"], 100)

    @staticmethod
    def for_grpc(sample):
        """What its comment says."""
        text, count = re.subn(r"    #(typed_extension_protocol_options:\n)"
                              r"    #(  .*\n)    #(  .*\n)    #(  .*\n)",
                              r"    \1    \2    \3    \4", sample)
        text, more = re.subn('retriable-status-codes"', 'retriable-status-codes,unavailable"', text)
        assert (count, more) == (1, 2), sample
        return text

    def test_owners_of_grpc(self):
        """By the lines that the sample has for them; UNAVAILABLE says what 421 says."""
        for name in ("alpha", "beta"):
            self.applications[name] = http2.GrpcOwner(name)
            self.addCleanup(self.applications[name].close)
        alpha, beta = self.owner("alpha"), self.owner("beta")
        self.wait_led(alpha, beta)
        self.watch()
        port = self.envoy_by_files(change=self.for_grpc)
        fields = [("content-type", "application/grpc"), ("te", "trailers")]

        def served_by(key):
            return http2.ask(port, [*fields, ("x-neli-key", key)], "POST", "/a.B/C", b"\0" * 5)
        owner, keys = self.owners(), [f"key{number}" for number in range(40)]
        partitions = self.partitions_of([key.encode() for key in keys])
        for key, partition in zip(keys, partitions):
            self.assertEqual(served_by(key), owner[partition], key)
        application, key = self.applications[owner[partitions[0]]], keys[0]
        application.asked, application.refuses = 0, 5
        self.assertEqual(served_by(key), application.name)
        self.assertEqual((application.asked, application.refuses), (6, 0))


class ManyPartitions(EnvoyCase):
    """As many as a deployment may have."""
    partitions = 256

    def test_each_key_reaches_its_owner(self):
        """By the partition, and by keys of nearly all of them."""
        self.use(self.topic, slots=4096)
        owners = self.owner("alpha"), self.owner("beta")
        self.wait_led(*owners)
        self.check_keys(count=1500, least=250)


if __name__ == "__main__":
    unittest.main(verbosity=2)
