#!/usr/bin/python3
"""What Schemathesis asks of an application reaches it through a gateway and an owner as it was
sent, and is answered as it was answered, with the key in each place where it may be.
"""
import json
import os
import subprocess
import sys
import unittest
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, deps  # noqa: E402
from harness.owners import LaneOwners  # noqa: E402
import described  # noqa: E402
from passed import KEPT_BODY  # noqa: E402
from strict_application import FRAMINGS, Application  # noqa: E402
from tap import Lane, Tap  # noqa: E402

# Of each operation, beside some 70 that cover its parameters' limits. By hand: as many as you like.
EXAMPLES = os.environ.get("NELIROUTE_TEST_EXAMPLES") or "8"
# Not negative_data_rejection: what data it refuses is the application's to say, and it takes all.
# That a request without a key is refused is judged by the tap.
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance", "unsupported_method")
CONFIG = "[checks]\nenabled = false\n" + "".join(f"{name}.enabled = true\n" for name in CHECKS)
MORE_MEMORY = 4 << 20  # a process may need: 2 MiB for a thousand requests, and for five thousand


class Contract(LaneOwners):
    """A lane for each place of the key; in each, an owner before the application and a gateway."""
    more_topics = tuple(described.SOURCES)
    led_within = 60

    def setUp(self):
        self.schemathesis = deps.schemathesis()
        self.application = Application(described.METHODS)
        self.addCleanup(self.application.close)
        self.processes = {}
        self.tap = Tap(self.start_lanes(), self.application)
        self.addCleanup(self.tap.close)

    def start_lanes(self):
        """{first segment of the path: Lane}, each ready to serve."""
        owners, lanes = {}, {}
        for name, source in described.SOURCES.items():
            self.use(name)
            owners[name] = self.start("alpha", key=source, upstream=self.application.address)
        for name, source in described.SOURCES.items():
            self.use(name)
            child, port = self.gateway(key=source)
            self.wait_led(owners[name])
            lanes[name] = Lane(source, {port: 2, owners[name].port: 1})
            self.processes[f"gateway {name}"] = child
            self.processes[f"owner {name}"] = owners[name].child
        return lanes

    def ask(self):
        """All that Schemathesis thinks of. No operation follows from another one's answer, so there
        is no stateful phase."""
        document, config = self.folder / "openapi.json", self.folder / "questions.toml"
        document.write_text(json.dumps(described.DOCUMENT), encoding="ascii")
        config.write_text(CONFIG, encoding="ascii")
        done = subprocess.run(
            [*self.schemathesis, "--config-file", config, "run", document, "--no-color",
             "--url", f"http://{self.tap.address}", "--request-timeout", "30",
             "--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES],
            cwd=self.folder, capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(self.tap.faults, [], done.stdout[-3000:])
        self.assertEqual(self.application.faults, [], done.stdout[-3000:])
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])

    def memory(self):
        """Resident bytes of each process, which lives."""
        for name, child in self.processes.items():
            self.assertIsNone(child.poll(), f"{name} lives")
        return {name: children.resident_bytes(child.pid) for name, child in self.processes.items()}

    def test_everything_passes_unchanged(self):
        """And whatever is refused has no key, or is malformed; nobody needs much memory for it."""
        before = self.memory()
        self.ask()
        grown = {name: size - before[name] for name, size in self.memory().items()}
        print(f"{len(self.tap.passed_on)} passed on, {len(self.tap.refused)} refused; grown by",
              {name: f"{size >> 10} KiB" for name, size in grown.items()})
        self.assertEqual([name for name, size in grown.items() if size > MORE_MEMORY], [])
        self.check_what_was_tried()

    def check_what_was_tried(self):
        """So much of everything that the test can fail."""
        exchanges = [exchange for _, _, exchange in self.tap.passed_on]
        self.assertEqual(len(self.application.exchanges), len(exchanges), "each was sent once")
        ways = Counter((segment, hops) for segment, hops, _ in self.tap.passed_on)
        refused = Counter(segment for segment, _, _ in self.tap.refused)
        for name in described.SOURCES:
            self.assertGreater(min(ways[name, 1], ways[name, 2]), 20, ways)
            self.assertGreater(refused[name], 0, refused)
        self.assertEqual({status for _, _, status in self.tap.refused}, {400, 405})
        self.assertEqual({exchange.framing for exchange in exchanges}, set(FRAMINGS))
        kinds = {(exchange.request.value(b"Content-Type") or b"").partition(b";")[0].decode()
                 for exchange in exchanges if exchange.request.body}
        self.assertLessEqual({kind for operations in described.PATHS.values()
                              for operation in operations.values() if "requestBody" in operation
                              for kind in operation["requestBody"]["content"]}, kinds)
        long = [exchange for exchange in exchanges if len(exchange.request.body) > KEPT_BODY]
        self.assertGreater(len(long), 0)
        self.assertGreater(max(len(exchange.made.body) for exchange in exchanges), 100_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
