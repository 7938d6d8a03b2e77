#!/usr/bin/python3
"""How the shell blocks of a page are run is shown on small pages."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import pages  # noqa: E402


STAY = """#!/bin/bash
# stay NAME CODE: until SIGTERM
trap 'kill $!; echo $1 ended | tee -a said; exit $2' TERM
sleep 99 &
echo $1 is up | tee -a said
wait
"""


def run(text):
    """What comes of a page: exit code, what it printed, what it complained of."""
    with tempfile.TemporaryDirectory() as folder:
        stay = Path(folder) / "stay"
        stay.write_text(STAY)
        stay.chmod(0o755)
        done = subprocess.run(["bash", "-c", pages.script("page.md", text)], check=False,
                              cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60)
    return done.returncode, done.stdout, done.stderr


def fence(*lines, language=""):
    """A block."""
    return "\n".join([f"```{language}", *lines, "```", ""])


class Pages(unittest.TestCase):
    """Each with what must come of it."""

    def test_blocks_are_run_in_order_in_one_shell(self):
        code, out, _ = run(fence("A=1   # why", "# only words") + "text\n"
                           + fence("x", language="cpp") + fence('echo "$A-2"', language="sh")
                           + fence("no", language="text"))
        self.assertEqual((code, out), (0, '+ A=1\n+ echo "$A-2"\n1-2\n'))

    def test_each_command_must_succeed(self):
        code, out, err = run("#\n" + fence("true", "false && true", "echo never"))
        self.assertEqual((code, err), (1, "page.md:4: exit 1: false && true\n"))
        self.assertNotIn("never\n", out)
        code, out, err = run(fence("echo one \\", "  two", "false"))
        self.assertEqual((code, out.splitlines()[-2:], err),
                         (1, ["one two", "+ false"], "page.md:4: exit 1: false\n"))

    def test_what_is_tested_elsewhere_is_not_run(self):
        self.assertEqual(run(fence("scripts/test --full", "scripts/demo --kafka"))[:2], (0, ""))
        text = fence("no --preset a && false", "true")
        self.assertNotIn("false", pages.script("page.md", text, without="--preset a"))
        self.assertEqual(run("<!-- not run: a reason -->\n" + fence("false"))[:2], (0, ""))

    def test_what_stays_is_ended_in_order_where_its_section_ends(self):
        page = ("# A\n<!-- stays: ./stay one 0: one is up -->\n"
                "<!-- stays: ./stay two 0: two is up -->\n"
                + fence("./stay one 0   # first", "./stay two 0", "cat said") + "## B\n"
                + fence("cat said"))
        code, out, err = run(page)
        self.assertEqual(code, 0, err)
        up = "one is up\ntwo is up\n"
        self.assertEqual(out, f"+ cat said\n{up}+ cat said\n{up}two ended\none ended\n")

    def test_what_stays_must_say_so_and_end_well(self):
        code, _, err = run("<!-- stays: ./stay one 3: one is up -->\n" + fence("./stay one 3"))
        self.assertEqual((code, err), (1, "one is up\none ended\npage.md:3: exit 3, not 0\n"))
        code, _, err = run("<!-- stays: echo other: one is up -->\n" + fence("echo other"))
        self.assertEqual((code, err), (1, "other\npage.md:3: ended before it said one is up\n"))

    def test_a_marker_that_marks_nothing_is_refused(self):
        for wrong in ("<!-- stays: other: up -->\n" + fence("true"),
                      "<!-- not run: a reason -->\n" + fence("x", language="cpp")):
            with self.assertRaises(ValueError):
                pages.script("page.md", wrong)

    def test_one_block_of_a_language(self):
        text = fence("true") + fence("int main() {", "}", language="cpp")
        self.assertEqual(pages.block(text, "cpp", "main"), "int main() {\n}\n")


if __name__ == "__main__":
    unittest.main()
