#!/usr/bin/env python3
"""How long after a change of owner does the slot page show it?

  delay.py [--changes N]       of a group of its own: three owners of 1,024 slots on 64 partitions
                               of the embedded broker; all but the one whose page it is are killed
                               and started in turn, N times together
  delay.py URL [--seconds S]   of a group that runs, while something kills and starts its owners

Measured for each partition that changes hands, up to the frame after the one that painted it:
  seen     from the instant at which the process that serves the page saw the change (the event's
           `at` less its `since_ms`)
  acquired from the new owner's own event `acquired`: the ledger's part is in it, too; only of a
           group of its own
All clocks must be the same machine's. The last line is a JSON object: ms, percentiles.
"""
import argparse
import json
import statistics
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import chromium  # noqa: E402
from harness import children, process  # noqa: E402

SLOTS, PARTITIONS = 1024, 64
NAMES = ("alpha", "bravo", "charlie")
OWNED = (2, 3)  # the verdicts local and remote

# Runs before the page's own script. A row also comes when its partition begins to drain: only those
# with another owner, or none, are changes.
WATCH = """
  window.shown = [];
  let owners = [];
  let waiting = [];
  const ownerOf = (verdict, owner) => (verdict < 2 ? -verdict : owner + 1);
  const take = {
    view: ({view}) => { owners = view.map(([verdict, owner]) => ownerOf(verdict, owner)); },
    changed: ({version, at, view}) => {
      for (const [partition, verdict, owner, , , inc, offset, since] of view) {
        if (owners[partition] !== ownerOf(verdict, owner) && since !== null) {
          waiting.push({version, partition, inc, offset, seen: 1000 * at - since});
        }
        owners[partition] = ownerOf(verdict, owner);
      }
    },
  };
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function(name, handler) {
    listen.call(this, name, (event) => {
      take[name]?.(JSON.parse(event.data));
      handler(event);
    });
  };
  new MutationObserver(() => {
    const painted = Number(document.querySelector('#map')?.dataset.version);
    const now = waiting.filter(({version}) => version <= painted);
    waiting = waiting.filter(({version}) => version > painted);
    requestAnimationFrame(() => {
      const at = performance.timeOrigin + performance.now();
      shown.push(...now.map((change) => ({...change, at})));
    });
  }).observe(document, {subtree: true, attributeFilter: ['data-version']});
"""


def watched(url, act):
    """What the page showed, and when, while `act` went on."""
    with chromium.launched() as browser:
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        page.add_init_script(WATCH)
        page.goto(url)
        page.wait_for_selector("#map[data-version]")
        act(page)
        page.wait_for_timeout(1000)
        return page.evaluate("() => shown")


class Group:
    """Three owners on an embedded broker, the first of which serves the page."""

    def __init__(self, folder):
        self.folder, self.owners, self.logs = folder, {}, []
        self.brokers = process.embedded_broker(folder, lambda *_: None, "--partitions", PARTITIONS,
                                               "--topic", "t")["brokers"]
        for name in NAMES:
            self.start(name)
        self.rest()

    def start(self, name):
        file = self.folder / f"{len(self.logs)}.{name}"
        options = {"brokers": self.brokers, "topic": "t", "slots": SLOTS, "name": name,
                   "endpoint": f"{name}:7001", "assignment": "group", "http": "0",
                   "events": f"{file}.events", "json": True}
        with open(f"{file}.out", "wb") as out, open(f"{file}.err", "wb") as err:
            child = children.spawn([process.tool_path(), "run", *process.option_list(options)],
                                   stdout=out, stderr=err, env=process.environment())
        joined = children.wait_until(process.LineFile(f"{file}.out").read, 30,
                                     f"{name} has joined")[0]
        self.owners[name] = (child, f"http://{joined['http']}/")
        self.logs.append(process.LineFile(f"{file}.events"))

    @property
    def url(self):
        return self.owners[NAMES[0]][1]

    def rest(self):
        """Until every partition has an owner that runs, each that runs some, and none moves."""
        def at_rest():
            with urllib.request.urlopen(f"{self.url}v1/slots", timeout=10) as answer:
                whole = json.load(answer)
            names = {whole["processes"][owner]["name"] for verdict, owner, *_ in whole["view"]
                     if verdict in OWNED}
            return names == {*self.owners} and all(
                verdict in OWNED and next_owner < 0 and not draining
                for verdict, _, next_owner, draining, *_ in whole["view"])
        children.wait_until(at_rest, 60, "the group is at rest", poll=0.2)

    def kill_and_start(self, changes):
        for number in range(changes):
            name = NAMES[1 + number // 2 % 2]
            if name in self.owners:
                children.end(self.owners.pop(name)[0], 0)
            else:
                self.start(name)
            self.rest()

    def acquired(self):
        """(partition, inc, offset) -> when its owner knew, in Unix ms."""
        return {(row["partition"], row["epoch"]["inc"], row["epoch"]["offset"]): 1000 * row["at"]
                for log in self.logs for row in log.read() if row["event"] == "acquired"}


def summary(delays):
    if len(delays) < 2:
        raise SystemExit(f"{len(delays)} changes came: let owners come and go meanwhile")
    cuts = statistics.quantiles(delays, n=100, method="inclusive")
    return {"changes": len(delays), "p50_ms": round(cuts[49]), "p90_ms": round(cuts[89]),
            "p99_ms": round(cuts[98]), "max_ms": round(max(delays))}


def since_seen(shown):
    return summary([change["at"] - change["seen"] for change in shown])


def of_a_group_of_its_own(changes):
    with tempfile.TemporaryDirectory() as folder:
        try:
            group = Group(Path(folder))
            shown = watched(group.url, lambda page: group.kill_and_start(changes))
            acquired = group.acquired()
        finally:
            children.end_all()
    known = [change["at"] - acquired[key] for change in shown
             if (key := (change["partition"], change["inc"], change["offset"])) in acquired]
    return {"seen": since_seen(shown), "acquired": summary(known)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", metavar="URL", nargs="?")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--changes", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.url:
        shown = watched(arguments.url,
                        lambda page: page.wait_for_timeout(1000 * arguments.seconds))
        print(json.dumps({"seen": since_seen(shown)}))
    else:
        print(json.dumps(of_a_group_of_its_own(arguments.changes)))


if __name__ == "__main__":
    main()
