#!/usr/bin/env python3
"""The admin port says what openapi.json describes, whatever it is asked.   contract_test.py

Schemathesis makes the questions, fit and unfit ones, and holds the answers against the file that
the port itself serves.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, deps, process  # noqa: E402

EXAMPLES = os.environ.get("NELIROUTE_TEST_EXAMPLES") or "30"
# Not positive_data_acceptance: that /v1/route takes one of two parameters cannot be described.
# A question that asks for more than HTTP's rules allow is refused by those, not by ours: what a
# client sends beside the description (fields, bodies, methods) is tests/unit/admin's to try.
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
          "unsupported_method")
CONFIG = ("[checks]\nenabled = false\n" + "".join(f"{name}.enabled = true\n" for name in CHECKS) +
          # Envoy asks with the method of the request that it asks about.
          """[[operations]]
include-path = "/v1/authorize/{path}"
[operations.checks]
unsupported_method.enabled = false
""")
# How long a request waits for an owner: what Schemathesis draws may be a minute each time.
SHORT_WAITS = """[[operations]]
include-path = "/v1/route"
[operations.parameters]
"query.wait" = "5ms"
"""
TOKEN = "a-token-of-this-test"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
# No bodies of /v1/drain, which takes {} or nothing.
UNFIT = (b"[]", b"null", b"1", b'"x"', b"true", b"{", b"}", b"{}{}", b" ", b'{"drain":true}',
         b'{"":0}', b"{\xff}", b"\xff", b"\0", b"<drain/>", b"[" * 1000, b"{}" + b" " * 17_000)


class Contract(unittest.TestCase):
    def setUp(self):
        self.schemathesis = deps.schemathesis()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        row = process.embedded_broker(self.folder, self.addCleanup, "--partitions", 16,
                                      "--topic", "t")
        # With fast's lease of 1.5 s nobody would own a key where the machine is that slow for once,
        # and /v1/authorize would rightly say 503.
        self.options = {"brokers": row["brokers"], "topic": "t", "slots": 1000, "partitions": 16,
                        "allow_uneven": True, "profile": "balanced", "http": "0", "json": True}

    def start(self, command, **options):
        """A process with an admin port, and where that is."""
        out, err = self.folder / f"{command}.out", self.folder / f"{command}.err"
        with open(out, "wb") as file, open(err, "wb") as errors:
            child = children.spawn(
                [process.tool_path(), command, *process.option_list({**self.options, **options})],
                stdout=file, stderr=errors, env=process.environment())
        self.addCleanup(children.end, child, 0)
        return child, children.wait_until(
            lambda: next((line.split("admin port: ")[1].strip()
                          for line in err.read_text().splitlines() if "admin port: " in line),
                         None), 30, "it listens")

    def wait_ready(self, url):
        """Until every slot is known."""
        def ready():
            try:
                with urllib.request.urlopen(f"{url}readyz", timeout=10) as answer:
                    return json.load(answer)["ready"]
            except OSError:
                return False
        children.wait_until(ready, 30, "its view covers every slot")

    def question(self, child, url, config="", but=(), fields=None):
        """All that there is but the endless stream; the process is none the worse for it."""
        file = self.folder / "questions.toml"
        file.write_text(CONFIG + config, encoding="ascii")
        options = [part for path in ("/v1/events", "/v1/steps", *but)
                   for part in ("--exclude-path", path)]
        options += [part for name, value in (fields or {}).items()
                    for part in ("--header", f"{name}: {value}")]
        done = subprocess.run(
            [*self.schemathesis, "--config-file", file, "run", f"{url}openapi.json", *options,
             "--max-examples", EXAMPLES, "--no-color", "--request-timeout", "10"],
            cwd=self.folder, capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertIsNone(child.poll(), "it lives")
        self.wait_ready(url)

    def test_an_owner(self):
        """run --http"""
        child, url = self.start("run", name="alpha", endpoint="127.0.0.1:7001")
        self.wait_ready(url)
        self.question(child, url)

    def test_an_owner_of_a_group(self):
        """run --http --assignment group"""
        child, url = self.start("run", name="alpha", endpoint="127.0.0.1:7001",
                                assignment="group")
        self.wait_ready(url)
        self.question(child, url)

    def test_a_watcher(self):
        """watch --http, beside an owner"""
        _, owners = self.start("run", name="alpha", endpoint="127.0.0.1:7001")
        self.wait_ready(owners)
        child, url = self.start("watch")
        self.wait_ready(url)
        self.question(child, url)

    def test_a_watcher_as_a_sidecar(self):
        """watch --http --control, beside an owner"""
        _, owners = self.start("run", name="alpha", endpoint="127.0.0.1:7001")
        self.wait_ready(owners)
        child, url = self.start("watch", control=True)
        self.wait_ready(url)
        self.question(child, url, SHORT_WAITS)

    def test_an_owner_as_a_sidecar(self):
        """run --http --control, for those who have the token; to drain it would end it, and is
        asked for last"""
        token = self.folder / "token"
        token.touch(0o600)
        token.write_text(TOKEN, encoding="ascii")
        child, url = self.start("run", name="alpha", endpoint="127.0.0.1:7001", control=True,
                                control_token=token)
        self.wait_ready(url)
        self.question(child, url, SHORT_WAITS, but=["/v1/drain"], fields=AUTHORIZED)
        for target, body in (("v1/admit", b'{"slot":1}'), ("v1/done", b'{"work":"0"}'),
                             ("v1/drain", b"{}"), ("v1/route?slot=1&wait=5ms", None)):
            for given in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}):
                status, fields, _ = self.call(url + target, body, **given)
                self.assertEqual((status, fields["WWW-Authenticate"]), (401, "Bearer"), target)
        for body in UNFIT:
            status, _, told = self.call(f"{url}v1/drain", body, **AUTHORIZED)
            self.assertEqual(status, 413 if len(body) > 16 * 1024 else 400, (body[:40], told))
        plain = {"Content-Type": "text/plain"}
        self.assertEqual(self.call(f"{url}v1/drain", b"{}", **AUTHORIZED, **plain)[0], 415)
        self.assertIsNone(child.poll(), "it does not leave for any of these")
        self.assertEqual(self.call(f"{url}v1/drain", b"{}", **AUTHORIZED)[::2],
                         (202, {"draining": True}))
        self.assertEqual(child.wait(40), 0)

    @staticmethod
    def call(url, body, **fields):
        """One request, by POST if there is a body: status, fields, and what was said."""
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **fields})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.headers, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, json.load(refused)


if __name__ == "__main__":
    unittest.main(verbosity=2)
