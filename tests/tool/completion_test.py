#!/usr/bin/python3
"""Completions and the manual page: as complete as --help, and shells can load them."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from case import run_raw

SHELLS = ("bash", "zsh", "fish")


def said(*arguments):
    """What the tool prints, which must be a success."""
    done = run_raw(*arguments)
    assert done.code == 0 and done.err == "", done
    return done.out


def headings():
    """What `neliroute --help` lists: {heading: names of commands}."""
    listed = re.findall(r"^(Commands.*):\n((?:  .*\n)+)", said("--help"), re.MULTILINE)
    return {heading: re.findall(r"^  ([\w-]+) ", rows, re.MULTILINE) for heading, rows in listed}


def commands():
    """The names of all of them."""
    return [name for names in headings().values() for name in names]


def options(command):
    """{"--hash": "NAME", "-h": "", ...}: what its help lists, all of it, and the types."""
    found = {}
    for line in said(command, "--help-all" if command == "run" else "--help").splitlines():
        names = re.match(r"  (?:(-\w), )?(--?[\w-]+)(?: ([A-Z][^ ]*))?(?:  |$)", line)
        if names:
            found.update({name: names[3] or "" for name in names.groups()[:2] if name})
    return found


def part(text, begin, end):
    """What stands between them."""
    assert begin in text, f"{begin!r} is missing"
    return re.split(end, text.partition(begin)[2], maxsplit=1, flags=re.MULTILINE)[0]


class Texts(unittest.TestCase):
    """Every option of every --help is in all four."""

    def test_help_has_options_to_look_for(self):
        self.assertEqual(headings(), {
            "Commands": ["demo", "broker", "run", "route", "watch", "gateway", "audit", "slot",
                         "simulate", "completion", "man"],
            "Commands for operators, with an assigner": [
                "cordon", "uncordon", "weight", "pin", "unpin", "pause-moves", "resume-moves",
                "overrides"]})
        for command in commands():
            self.assertLessEqual({"--help", "-h", "--config"}, set(options(command)), command)
        self.assertEqual(options("run")["--slots"], "N")
        self.assertIn("-X", options("run"))
        self.assertIn("--explain", options("route"))

    def test_a_settings_file_may_name_any_option_of_any_command(self):
        """One file serves a group's processes and tools."""
        named = set().union(*(options(command) for command in commands()))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "settings"
            for name in sorted(named - {"--help", "--help-all", "-h", "--config"}):
                file.write_text(f"{name.lstrip('-')}=1\n", encoding="ascii")
                self.assertNotIn("unknown setting",
                                 run_raw("slot", "k", "--config", file).err, name)

    def test_commands_of_operators_do_not_list_what_members_say(self):
        """How many slots there are, and how keys are hashed: accepted, as all settings are."""
        for command in ("cordon", "pin", "pause-moves", "overrides"):
            self.assertIn("--brokers", options(command))
            for name in ("--slots", "--hash", "--hash-tags", "--allow-uneven"):
                self.assertNotIn(name, options(command), command)
        self.assertEqual(run_raw("overrides", "--slots", "64", "--help").code, 0)

    def test_settings_in_the_environment_are_not_complained_of(self):
        for arguments in (("man",), *(("completion", shell) for shell in SHELLS)):
            done = run_raw(*arguments, env={"NELIROUTE_GROUP": "g", "NELIROUTE_SLOTS": "64"})
            self.assertEqual((done.code, done.err), (0, ""), arguments)

    def test_manual(self):
        page = said("man")
        self.assertRegex(page, r'^\.TH NELIROUTE 1 "" "neliroute \d')
        for line in page.splitlines():
            self.assertRegex(line, r"^(\.[A-Z]|\.nf$|\.fi$|[^.'])|^$", "a request to roff")
        page = page.replace("\\-", "-")
        for command in commands():
            section = part(page, f"\n.SS neliroute {command} [OPTIONS]", r"^\.S[SH] ")
            for name, kind in options(command).items():
                wanted = rf"\fB{name}\fR" + (rf" \fI{kind}\fR" if kind else "")
                self.assertIn(wanted, section, command)

    def test_zsh(self):
        text = said("completion", "zsh")
        self.assertTrue(text.startswith("#compdef neliroute\n"))
        for command in commands():
            self.assertIn(f"'{command}:", text)
            section = part(text, f"\n    {command})\n", r"^      ;;$")
            for name, kind in options(command).items():
                sign = "" if not kind else "+" if len(name) == 2 else "="
                self.assertRegex(section, rf"'\*?{name}{re.escape(sign)}\[", command)

    def test_fish(self):
        text = said("completion", "fish")
        for command in commands():
            self.assertIn(f"complete -c neliroute -n '__neliroute_is \"\"' -a {command} ", text)
            lines = re.findall(rf"^complete -c neliroute -n '__neliroute_is {command}'(.*)$", text,
                               re.MULTILINE)
            for name, kind in options(command).items():
                flag = f" -s {name[1:]}" if len(name) == 2 else f" -l {name[2:]}"
                found = [line for line in lines if f"{flag} " in line]
                self.assertEqual(len(found), 1, f"{command} {name}")
                self.assertEqual(bool(kind), " -x" in found[0] or " -r" in found[0], found[0])

    def test_what_is_offered_is_taken(self):
        """Values that bash is told of are accepted; others are not, so that this tells."""
        self.assertEqual(run_raw("run", "--hash", "nonsense", "--help").code, 2)
        text = said("completion", "bash")
        offered = 0
        for command in commands():
            section = part(text, f"\n      {command})\n", r"^        ;;$")
            for name, values in re.findall(r"^ +(--[\w-]+)\) choices='(.*)' ;;$", section,
                                           re.MULTILINE):
                for value in values.split():
                    self.assertEqual(run_raw(command, name, value, "--help").code, 0,
                                     f"{command} {name} {value}")
                    offered += 1
        self.assertGreater(offered, 30)

    def test_wrong_use(self):
        for arguments, word in ((["completion"], "which shell?"),
                                (["completion", "tcsh"], '"tcsh"'),
                                (["completion", "bash", "zsh"], "which shell?"),
                                (["man", "run"], '"run"')):
            done = run_raw(*arguments)
            self.assertEqual(done.code, 2, done)
            self.assertIn(word, done.err)


class Shells(unittest.TestCase):
    """Each shell reads its own, and bash and fish answer by it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for shell in SHELLS:
            (cls.folder / shell).write_text(said("completion", shell))
        (cls.folder / "settings.toml").touch()

    def run_shell(self, *command):
        """Its lines; it must end well and complain of nothing."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout.splitlines()

    def bash(self, *words):
        """What bash offers behind these words, of which the last is unfinished."""
        script = ('set -eu; source ./bash; [[ $(complete -p neliroute) == *"-F _neliroute"* ]]; '
                  'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _neliroute; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return self.run_shell("bash", "--norc", "--noprofile", "-c", script, "bash", "neliroute",
                              *words)

    def test_bash(self):
        self.assertLessEqual({*commands(), "help"}, set(self.bash("")))
        self.assertEqual(self.bash("wat"), ["watch"])
        for command in commands():
            self.assertLessEqual(set(options(command)), set(self.bash(command, "-")), command)
        self.assertEqual(self.bash("run", "--hash-"), ["--hash-tags"])
        hashes = ["xxh3", "crc16", "murmur2"]
        self.assertEqual(self.bash("run", "--hash", ""), hashes)
        self.assertEqual(self.bash("run", "--hash", "="), hashes)
        self.assertEqual(self.bash("run", "--hash", "=", "cr"), ["crc16"])
        self.assertEqual(self.bash("run", "--config", "sett"), ["settings.toml"])
        self.assertEqual(self.bash("run", "--name", ""), [""], "nothing that it could know")
        self.assertEqual(self.bash("route", "--", "--"), [""], "keys from there on")
        self.assertEqual(self.bash("completion", "z"), ["zsh"])
        self.assertEqual(self.bash("help", "aud"), ["audit"])

    def test_fish(self):
        def offered(line):
            return [row.partition("\t")[0] for row in self.run_shell(
                "fish", "--no-config", "-c", 'source ./fish; complete -C "$argv"', line)]

        self.assertEqual(offered("neliroute wat"), ["watch"])
        for command in commands():
            found = offered(f"neliroute {command} --")
            self.assertLessEqual({name for name in options(command) if len(name) > 2}, set(found))
        self.assertEqual(sorted(offered("neliroute run --hash ")), ["crc16", "murmur2", "xxh3"])
        self.assertEqual(offered("neliroute completion z"), ["zsh"])

    def test_zsh(self):
        self.run_shell("zsh", "-f", "-n", "zsh")
        script = ("autoload -U compinit; compinit -u -D; source ./zsh; "
                  "print -r -- $_comps[neliroute] $+functions[_neliroute]")
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script), ["_neliroute 1"])


if __name__ == "__main__":
    unittest.main()
