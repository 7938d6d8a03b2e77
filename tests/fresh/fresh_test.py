#!/usr/bin/python3
"""What a new user does works on a new machine: a fresh Debian 12, and a clone of this project.

scripts/demo first; then the shell blocks of README and getting-started, in the same root, where
what the demo built is not built again. Only full_test builds it by preset `install` as well.
"""
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in (".", "chaos")]
import pages  # noqa: E402
import root  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
README, STARTED = ((SOURCE / name).read_text(encoding="utf-8")
                   for name in ("README.md", "docs/getting-started.md"))


class NewUser(unittest.TestCase):
    """With a clone, and a project of their own, of which the pages show all there is."""

    @classmethod
    def setUpClass(cls):
        cls.root = cls.enterClassContext(root.FreshRoot())
        cls.root.clone(SOURCE)
        yours = cls.root.path / "root/neliroute/yours"
        yours.mkdir()
        (yours / "CMakeLists.txt").write_text(pages.block(STARTED, "cmake", "project(mine"))
        (yours / "main.cc").write_text(pages.block(README, "cpp", "int main"))

    def run_well(self, what, script, limit, online=True):
        """Runs a script to its good end, and says how long it took."""
        began = time.monotonic()
        done = self.root.run(script, limit, online)
        print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)
        self.assertEqual(done.code, 0, done)
        return done

    def run_pages(self, limit, without=None):
        """Both. Their ports are their own, and nothing is left to download."""
        for name, text in (("README.md", README), ("docs/getting-started.md", STARTED)):
            self.run_well(name, "cd neliroute\n" + pages.script(name, text, without), limit,
                          online=False)


class Fresh(NewUser):
    """What every run of CI shows."""

    def test_the_demo_and_the_pages(self):
        demo = self.run_well("scripts/demo", "neliroute/scripts/demo", 2400)
        self.assertIn("What it started is stopped.", demo.output.rstrip().splitlines()[-1], demo)
        self.run_well("the installation", "cmake --install neliroute/build --prefix /opt/neliroute",
                      60)
        self.run_pages(1500, without="--preset install")


if __name__ == "__main__":
    root.enter()
    unittest.main()
