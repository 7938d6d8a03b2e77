#!/usr/bin/env python3
"""The slot page of real processes on the embedded broker.   live_test.py [TEST...]"""
import http.server
import json
import tempfile
import threading
import types
import unittest
import urllib.request
from pathlib import Path

from page_case import PageCase
from harness import children, process
from harness.owners import free_port

SLOTS, PARTITIONS = 256, 16


class Live(PageCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

        def keep(end, child):
            self.broker = child
            self.addCleanup(end, child)

        self.row = process.embedded_broker(self.folder, keep, "--partitions", PARTITIONS,
                                           "--topic", "t")
        self.world = types.SimpleNamespace(slots=SLOTS, partitions=PARTITIONS)

    def owner(self, name, **more):
        """A process that owns what it is given, and the address of its page."""
        out = self.folder / f"{name}.out"
        options = {"brokers": self.row["brokers"], "topic": "t", "slots": SLOTS, "name": name,
                   "endpoint": f"{name}:7001", "profile": "fast", "assignment": "group",
                   "http": "0", "json": True, **more}
        with open(out, "wb") as file:
            child = children.spawn([process.tool_path(), "run", *process.option_list(options)],
                                   stdout=file, env=process.environment())
        self.addCleanup(children.end, child, 0)
        joined = children.wait_until(process.LineFile(out).read, 20, f"{name} has joined")[0]
        return child, f"http://{joined['http']}/"

    def view(self, url):
        """What the process itself tells; the page shows it once painted()."""
        with urllib.request.urlopen(f"{url}v1/slots", timeout=10) as answer:
            whole = json.load(answer)
        self.world.version = whole["version"]
        return whole

    def test_an_owner_is_killed_and_then_the_broker(self):
        _, url = self.owner("quotes-a")
        other, _ = self.owner("quotes-b")
        self.visit(url)
        self.condition("live")
        self.until_text("#count-local", str(SLOTS // 2))
        self.until_text("#count-remote", str(SLOTS // 2))
        self.until_text("#fact-state", "every slot has an owner")
        self.until("() => [...document.querySelectorAll('td.heard')].every("
                   "(cell) => /^\\d\\.\\d\\ss\\sago$/.test(cell.textContent))")
        whole = self.view(url)
        names = [one["name"] for one in whole["processes"]]
        theirs = next(partition for partition, row in enumerate(whole["view"])
                      if names[row[1]] == "quotes-b")
        self.painted()
        self.assert_looks(theirs, self.look("quotes-b"))

        self.page.fill("#lookup-value", "user:1000")
        self.page.click("#lookup button")
        self.until_text("#lookup-answer", "quotes-")
        with urllib.request.urlopen(f"{url}v1/route?key=user:1000", timeout=10) as answer:
            self.assertIn(json.load(answer)["endpoint"], self.text("#lookup-answer"))

        children.end(other, 0)
        self.until_text("#count-local", str(SLOTS))
        self.until_text("#moves", "quotes-b → quotes-a")
        self.view(url)
        self.painted()
        self.assert_looks(theirs, self.look("quotes-a"))

        children.end(self.broker, 0)
        self.condition("silent")
        self.until_text("#banner", "The ledger has not answered quotes-a for")
        self.until_text("#fact-state", f"{SLOTS} slots stale: Kafka is silent")
        self.view(url)
        self.painted()
        self.until_text("#banner", "by which the owners serve on")
        owners, _ = self.cell(theirs)  # its other half says that the group has taken it away
        self.assertLessEqual(set(owners), set(self.look("quotes-a")))

    def application(self):
        """An HTTP server that answers every GET; its address."""
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(204)
                self.end_headers()

            def log_message(self, format, *args):
                """Tests have no use for it."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        self.addCleanup(serving.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"127.0.0.1:{server.server_address[1]}"

    def test_an_owner_before_an_application_counts_requests(self):
        port = free_port()
        _, url = self.owner("quotes-a", endpoint=f"127.0.0.1:{port}", key="header:X-Key",
                            upstream=self.application())
        self.visit(url)
        self.condition("live")
        self.until_text("#count-local", str(SLOTS))
        self.assertFalse(self.page.locator("#requests").is_visible())

        def ask(number):
            request = urllib.request.Request(f"http://127.0.0.1:{port}/",
                                             headers={"X-Key": f"k{number}"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                self.assertEqual(answer.status, 204)
        for number in range(5):
            ask(number)
        self.until_text("#requests-served", "5 in all")
        self.assertTrue(self.page.locator("#requests").is_visible())
        self.assertEqual(self.text("#requests-by"), "per second, in this process")
        self.assertEqual(self.text("#requests-forwarded .hint"), "0 in all")
        ask(5)
        self.until("() => Number(document.querySelector('#requests-served .rate').textContent) > 0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
