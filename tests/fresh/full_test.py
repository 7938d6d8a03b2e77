#!/usr/bin/python3
"""What takes longer in a fresh Debian 12: the quick tests of scripts/test; the pages, whole; and a
program built where only the installed library is, with the packages that README names for that.
"""
import shutil
import unittest

import fresh_test  # first: it says where the others are
import pages
import root

INSTALLED = "opt/neliroute"


class Full(fresh_test.NewUser):
    """In two roots."""

    def test_the_quick_tests_the_pages_and_a_program_elsewhere(self):
        self.run_well("scripts/test", "neliroute/scripts/test --label fast", 5400)
        self.run_pages(3600)
        with root.FreshRoot() as user:
            shutil.copytree(self.root.path / INSTALLED, user.path / INSTALLED, symlinks=True)
            shutil.copytree(fresh_test.SOURCE / "tests/install/consumer",
                            user.path / "root/consumer")
            packages = pages.block(fresh_test.README, "", "apt-get install")
            done = user.run(f"apt-get update -qq && {packages}", 900)
            self.assertEqual(done.code, 0, done)
            done = user.run(f"cmake -S consumer -B build -D CMAKE_PREFIX_PATH=/{INSTALLED} && "
                            "cmake --build build && build/consumer", 900, online=False)
            self.assertEqual(done.code, 0, done)


if __name__ == "__main__":
    root.enter()
    unittest.main()
