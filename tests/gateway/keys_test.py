#!/usr/bin/python3
"""Whatever an owner takes for a request's key, Django, Flask, aiohttp and Node's `cookie` read as
well: the same, or they refuse it. The others get 400."""
import json
import os
import socket
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, deps, process  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402
from keyed_requests import SOURCES, requests  # noqa: E402
from messages import Reader  # noqa: E402
from scripted import Scripted  # noqa: E402

PARSERS = Path(__file__).with_name("parsers")
SLOTS = 65536
LEAST = 40  # requests of each kind that are passed on, and as many that are refused


class Keys(LaneOwners):
    """An owner for each kind of key."""
    partitions = 1
    more_topics = tuple(SOURCES)

    def setUp(self):
        self.application = Scripted(lambda *_: [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"])
        self.addCleanup(self.application.close)
        python = deps.package_python()
        self.parsers = {name: self.parser([python, PARSERS / "frameworks.py", name])
                        for name in ("django", "flask", "aiohttp")}
        self.parsers["node"] = self.parser([deps.need("node"), PARSERS / "node.js",
                                            deps.cookie_package()])

    def parser(self, command):
        """Its port."""
        child = children.spawn(command, stdout=subprocess.PIPE,
                               env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(children.end, child, 0)
        self.addCleanup(child.stdout.close)
        return int(child.stdout.readline())

    def passed_on(self, kind):
        """(request as it was sent, as it came to the application, its slot) of those that were."""
        self.use(kind, slots=SLOTS)
        owner = self.start("alpha", key=SOURCES[kind], upstream=self.application.address)
        self.wait_led(owner)
        reader, found, refused = None, [], 0
        for raw in requests(kind):
            if reader is None:
                reader = Reader(socket.create_connection(("127.0.0.1", owner.port), timeout=20))
            reader.connection.sendall(raw)
            status = reader.answer(b"GET").start[1]
            if status == b"200":
                came = self.application.requests[-1]
                found.append((raw, came.head, int(came.value(b"Neliroute-Slot"))))
                continue
            self.assertIn(status, (b"400", b"505"), raw)  # a space in a target ends it
            refused += 1
            reader.connection.close()
            reader = None
        if reader:
            reader.connection.close()
        print(f"{kind}: {len(found)} passed on, {refused} refused")
        self.assertGreater(min(len(found), refused), LEAST)
        return found

    def read_by(self, parser, head, kind):
        """What it takes for the key; () if it refuses the request, as one without a route or with a
        host that is none to it."""
        with socket.create_connection(("127.0.0.1", self.parsers[parser]), timeout=20) as one:
            one.sendall(head.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1))
            answer = Reader(one).answer(b"GET")
        if answer.start[1] != b"200":
            self.assertIn(answer.start[1], (b"308", b"400"), head)  # Flask joins slashes
            return ()
        value = json.loads(answer.body).get(kind)
        if kind in ("path", "host") and not value:
            return ()
        if kind == "host":
            value = value.lower()
            value = value if value.endswith("]") else value.rpartition(":")[0] or value
        return value

    def slots_of(self, values):
        """{value: its slot}"""
        file = self.folder / "values"
        kept = [one for one in values if one and not set(one) & {"\n", "\r", "\0"}]
        file.write_bytes(b"\n".join(one.encode("utf-8", "surrogatepass") for one in kept))
        done = process.run_tool("slot", keys=file, slots=SLOTS, json=True)
        rows = done.out.removesuffix("\n").split("\n")  # in a key there may be other line ends
        return dict(zip(kept, (json.loads(row)["slot"] for row in rows), strict=True))

    def test_every_parser_reads_the_proxys_key(self):
        """None finds another one, or none."""
        read = [(kind, raw, slot, parser, value)
                for kind in SOURCES for raw, head, slot in self.passed_on(kind)
                for parser in self.parsers
                if (value := self.read_by(parser, head, kind)) != ()]
        slots = self.slots_of({value for *_, value in read})
        wrong = [(kind, parser, raw.partition(b"\r\n")[0] if kind in ("path", "query") else raw,
                  value) for kind, raw, slot, parser, value in read if slots.get(value) != slot]
        ways = Counter((kind, parser) for kind, _, _, parser, _ in read)
        self.assertEqual(len(ways), len(SOURCES) * len(self.parsers), ways)
        self.assertGreater(min(ways.values()), LEAST - 10, ways)
        self.assertEqual(wrong, [], "\n".join(map(repr, wrong)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
