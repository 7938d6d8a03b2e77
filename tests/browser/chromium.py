"""Debian's Chromium, driven by Playwright."""
import contextlib
import os
import sys
from pathlib import Path

from harness import deps

PYTHON = deps.cache_folder() / "python" / "bin" / "python"

try:
    from playwright.sync_api import sync_playwright
except ImportError as error:
    if Path(sys.prefix).resolve() == PYTHON.parents[1].resolve() or not PYTHON.is_file():
        raise SystemExit(f"{error} by {sys.executable}: run `scripts/setup --tests`") from error
    os.execv(PYTHON, [str(PYTHON), "-B", *sys.argv])


@contextlib.contextmanager
def launched():
    """A browser that asks nobody but the pages it is given."""
    arguments = ["--js-flags=--expose-gc"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=deps.need("chromium"), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
