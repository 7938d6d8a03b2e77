#!/usr/bin/env python3
"""Takes the pictures of docs/getting-started.md: the live show's slot page around a kill.

  show_pictures.py OUT     OUT: docs/pictures; scripts/show must have been built
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import chromium  # noqa: E402
from harness import children, process  # noqa: E402

DESK = {"width": 1360, "height": 900}
TIMEOUT_MS = 120_000  # on a busy machine


def owners_of(text):
    """{name: (pid, page)} as the show tells them."""
    return {name: (int(pid), page) for name, pid, page in
            re.findall(r"(?m)^ +(\w+) +pid (\d+) +(http://\S+/)$", text)}


def take(owners, out):
    """Before bravo is killed, and when the others have taken over."""
    with chromium.launched() as browser:
        page = browser.new_page(viewport=DESK, color_scheme="light")
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(owners["alpha"][1])
        page.wait_for_function("() => ['alpha', 'bravo', 'charlie'].every(name => "
                               "document.querySelector('#processes').textContent.includes(name))")
        page.fill("#lookup-value", "EURUSD")
        page.click("#lookup button")
        page.wait_for_selector("#lookup-answer dl")
        page.wait_for_timeout(12_000)  # what a picture shows is time going by, too
        page.screenshot(path=out / "show-before-a-kill.png", full_page=True)
        os.kill(owners["bravo"][0], signal.SIGKILL)
        page.wait_for_function("() => document.querySelector('#moves').textContent"
                               ".includes('bravo →')")
        page.wait_for_timeout(8_000)
        page.screenshot(path=out / "show-after-a-kill.png", full_page=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "said")
        with open(said, "wb") as file:
            show = children.spawn([process.REPOSITORY / "scripts" / "show"], stdout=file,
                                  stderr=subprocess.STDOUT)
        owners = children.wait_until(
            lambda: owners_of(said.read_text()) or show.poll() is not None, 120, said.read_text)
        if show.poll() is not None:
            raise SystemExit(f"the show ended with {show.returncode}:\n{said.read_text()}")
        take(owners, out)
        show.send_signal(signal.SIGINT)
        show.wait(60)
        print(said.read_text())


if __name__ == "__main__":
    main()
