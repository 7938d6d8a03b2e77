#!/usr/bin/env python3
"""The slot page of real processes on the embedded broker.   live_test.py [TEST...]"""
import json
import tempfile
import types
import unittest
import urllib.request
from pathlib import Path

from page_case import PageCase
from harness import children, process

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

    def owner(self, name):
        """A process that owns what it is given, and the address of its page."""
        out = self.folder / f"{name}.out"
        options = {"brokers": self.row["brokers"], "topic": "t", "slots": SLOTS, "name": name,
                   "endpoint": f"{name}:7001", "profile": "fast", "http": "0", "json": True}
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
        self.until_text("#fact-state", f"{SLOTS} slots unknown")
        self.view(url)
        self.painted()
        self.assert_looks(theirs, self.swatch("#swatch-unknown"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
