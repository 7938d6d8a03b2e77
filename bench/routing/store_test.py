#!/usr/bin/python3
"""The fence of the store, and the application behind it: what is refused, repeated and noted."""
import http.client
import socket
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]
import verify  # noqa: E402
from cast import Process, Store, address, program  # noqa: E402
from harness import process  # noqa: E402
from harness.kafka_broker import free_ports  # noqa: E402

REQUEST = struct.Struct("<Q2q2IQ")  # StoreRequest of programs/frames.h
ANSWER = struct.Struct("<Q2I")  # StoreAnswer
KEYS = 4


class Writer:
    """An application's connection to the store."""

    def __init__(self, store, name):
        host, _, port = store.address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.socket.sendall(name.encode().ljust(32, b"\0"))

    def write(self, call, epoch, key, slot, keyless=0):
        """(status, value) of one increment."""
        self.socket.sendall(REQUEST.pack(call, *epoch, key, slot, keyless))
        got = b""
        while len(got) < ANSWER.size:
            part = self.socket.recv(ANSWER.size - len(got))
            if not part:
                raise ConnectionError("the store closed")
            got += part
        number, value, status = ANSWER.unpack(got)
        assert number == call
        return status, value


class Fence(unittest.TestCase):
    """A store of its own for each test."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = Store(self.folder, KEYS)
        self.addCleanup(self.store.end)
        rows = process.run_tool("slot", *(f"k{key}" for key in range(KEYS)), slots=4096,
                                partitions=16, json=True).rows()
        self.slots = [row["slot"] for row in rows]
        self.alpha, self.beta = Writer(self.store, "alpha"), Writer(self.store, "beta")
        self.addCleanup(self.alpha.socket.close)
        self.addCleanup(self.beta.socket.close)

    def counted(self):
        """What it says at the end."""
        self.store.end()
        self.assertEqual(self.store.child.returncode, 0, self.store.tail())
        return verify.read_store(self.store.saved)

    def test_epochs_fence_and_calls_count_once(self):
        slot = self.slots[1]
        self.assertEqual(self.alpha.write(0, (5, 1), 1, slot), (200, 1))
        self.assertEqual(self.beta.write(1, (5, 2), 1, slot), (200, 2))
        self.assertEqual(self.alpha.write(2, (5, 1), 1, slot)[0], 409)
        self.assertEqual(self.alpha.write(2, (6, 0), 1, slot), (200, 3))
        self.assertEqual(self.alpha.write(1, (6, 0), 1, slot), (200, 2), "repeated")
        counts, applied = self.counted()
        self.assertEqual((counts["values"], counts["applied"], counts["stale"],
                          counts["repeats"]), ([0, 3, 0, 0], 3, 1, 1))
        self.assertEqual(applied, [(1, 1, 1), (1, 2, 1), (1, 3, 1)])

    def test_a_call_without_a_key_counts_as_often_as_it_comes(self):
        slot = self.slots[1]
        self.assertEqual(self.alpha.write(0, (5, 1), 1, slot, keyless=1), (200, 1))
        self.assertEqual(self.alpha.write(0, (5, 1), 1, slot, keyless=1), (200, 2))
        counts, applied = self.counted()
        self.assertEqual((counts["values"][1], counts["repeats"], applied),
                         (2, 0, [(1, 2, 2)]))

    def test_what_must_never_happen_is_noted(self):
        slot = self.slots[0]
        self.assertEqual(self.alpha.write(0, (5, 1), 0, slot), (200, 1))
        self.assertEqual(self.beta.write(1, (5, 1), 0, slot)[0], 412)
        self.assertEqual(self.beta.write(2, (9, 1), 0, slot + 1)[0], 400)
        counts, applied = self.counted()
        self.assertEqual((counts["two_writers"], counts["wrong_slot"], applied),
                         (1, 1, [(0, 1, 1)]))
        self.assertEqual(len(verify.check([], counts, applied)["wrong"]), 3)

    def test_the_application_takes_the_epoch_from_the_request(self):
        port = free_ports(1)[0]
        application = Process(self.folder, "application", [
            program("application"), "--listen", address(port), "--store", self.store.address,
            "--name", "gamma"]).wait_said("ready")
        self.addCleanup(application.end)

        def post(call, name="Idempotency-Key", **fields):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            self.addCleanup(connection.close)
            connection.request("POST", "/add", body="1", headers={
                "X-Neli-Key": "k2", name: str(call),
                **{field.replace("_", "-"): value for field, value in fields.items()}})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        slot = str(self.slots[2])
        self.assertEqual(post(7)[0], 428)
        status, _, text = post(7, Neliroute_Epoch="5:1", Neliroute_Slot=slot)
        self.assertEqual((status, text), (200, "7 1\n"))
        for value in (2, 3):
            self.assertEqual(post(6, "X-Bench-Call", Neliroute_Epoch="5:1", Neliroute_Slot=slot)[2],
                             f"6 {value}\n", "without an idempotency key")
        self.assertEqual(self.alpha.write(8, (6, 0), 2, self.slots[2]), (200, 4))
        status, headers, _ = post(9, Neliroute_Epoch="5:1", Neliroute_Slot=slot)
        self.assertEqual((status, headers["Neliroute-Slot"]), (421, slot))


if __name__ == "__main__":
    unittest.main()
