#!/usr/bin/env python3
"""Takes the pictures of the slot page that the docs show.

  pictures.py OUT [NAME...]   OUT: docs/pictures
"""
import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import chromium, scenarios  # noqa: E402
from browser.server import Server  # noqa: E402

DESK = {"width": 1360, "height": 900}
PHONE = {"width": 390, "height": 844}
TIMEOUT_MS = 120_000  # on a busy machine


def until_painted(page, world):
    """Waits until the map shows the newest version."""
    page.wait_for_function(
        "version => Number(document.querySelector('#map').dataset.version) >= version",
        arg=world.version)


def go_by(page, seconds):
    """What a picture shows is time going by, too."""
    page.wait_for_timeout(1000 * seconds)


def killed(world, page):
    """An owner is killed; its slots are unowned for a moment, then the others take over."""
    until_painted(page, world)
    go_by(page, 4)
    world.kill(2)
    go_by(page, 4)
    world.share_out([0, 1])
    go_by(page, 12)
    until_painted(page, world)


def desk(page, world):
    killed(world, page)
    world.drain(world.owned_by(1)[:8], 0)
    page.fill("#lookup-value", "{EURUSD}:quotes")
    page.click("#lookup button")
    page.wait_for_selector("#lookup-answer dl")
    go_by(page, 1)


def phone(page, world):
    killed(world, page)


def hundred_thousand(page, world):
    until_painted(page, world)
    world.kill(7)
    go_by(page, 3)
    world.share_out([owner for owner in range(12) if owner != 7])
    go_by(page, 12)
    until_painted(page, world)


def many_owners(page, world):
    until_painted(page, world)
    page.fill("#filter", "shard-12")
    page.wait_for_function("() => document.querySelector('#processes-count')"
                           ".textContent.startsWith('100 of 2,000')")
    go_by(page, 1)


def ledger_away(page, world):
    killed(world, page)
    world.fall_silent()
    page.wait_for_selector("[data-condition=silent]")
    go_by(page, 6)  # leases last 9 s


def unowned(page, world):
    until_painted(page, world)
    world.kill(1)
    until_painted(page, world)
    go_by(page, 2)


PICTURES = {
    "light": (scenarios.three, DESK, "light", desk),
    "dark": (scenarios.three, DESK, "dark", desk),
    "phone": (scenarios.three, PHONE, "light", phone),
    "100000-slots": (scenarios.hundred_thousand, DESK, "dark", hundred_thousand),
    "2000-owners": (scenarios.many_owners, DESK, "light", many_owners),
    "ledger-away": (scenarios.three, DESK, "light", ledger_away),
    "unowned": (scenarios.three, DESK, "light", unowned),
    "empty": (scenarios.empty, DESK, "light", until_painted),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    with chromium.launched() as browser:
        for name in arguments.names or PICTURES:
            scenario, size, colours, act = PICTURES[name]
            world = scenario()
            server = Server(world)
            try:
                page = browser.new_page(viewport=size, color_scheme=colours)
                page.set_default_timeout(TIMEOUT_MS)
                page.goto(server.url)
                act(page, world)
                file = arguments.out / f"slot-page-{name}.png"
                page.screenshot(path=file, full_page=True)
                print(file, flush=True)
                page.close()
            finally:
                server.stop()


if __name__ == "__main__":
    main()
