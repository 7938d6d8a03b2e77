#!/usr/bin/python3
"""Completions and the manual page: as complete as --help, and shells can load them."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from case import process, run_raw

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


def offered(*words):
    """What the last word may become, without the meanings."""
    return [line.partition("\t")[0] for line in said("__complete", *words).splitlines()]


def part(text, begin, end):
    """What stands between them."""
    assert begin in text, f"{begin!r} is missing"
    return re.split(end, text.partition(begin)[2], maxsplit=1, flags=re.MULTILINE)[0]


class Texts(unittest.TestCase):
    """The manual has every option of every --help, and settings are taken everywhere."""

    def test_help_has_options_to_look_for(self):
        self.assertEqual(headings(), {
            "Commands": ["demo", "broker", "run", "route", "watch", "gateway", "voter", "audit",
                         "slot", "schema", "completion", "man"],
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

    def test_wrong_use(self):
        for arguments, word in ((["completion"], "which shell?"),
                                (["completion", "tcsh"], '"tcsh"'),
                                (["completion", "bash", "zsh"], "which shell?"),
                                (["man", "run"], '"run"')):
            done = run_raw(*arguments)
            self.assertEqual(done.code, 2, done)
            self.assertIn(word, done.err)


class Complete(unittest.TestCase):
    """`neliroute __complete`, which the scripts of all shells ask."""

    def test_first_words(self):
        self.assertEqual(offered(""), [*commands(), "help", "--help", "--version"])
        self.assertEqual(said("__complete"), said("__complete", ""))
        self.assertEqual(said("__complete", "wat"),
                         "watch\tShows who owns what, and every change\n")
        self.assertEqual(offered("help", ""), commands())
        self.assertEqual(offered("help", "aud"), ["audit"])
        for words in (("help", "run", ""), ("nonsense", ""), ("--help", ""), ("__",)):
            self.assertEqual(offered(*words), [], words)

    def test_options(self):
        for command in commands():
            self.assertEqual(set(offered(command, "-")), set(options(command)), command)
        self.assertEqual(offered("run", "--hash-"), ["--hash-tags"])
        self.assertEqual(offered("run", "--slots", "64", "--dr"), ["--drain-timeout"])
        self.assertEqual(offered("slot", "key", "--hash-"), ["--hash-tags"])
        self.assertIn("-h\tThis text\n", said("__complete", "run", "-"))

    def test_values_that_are_offered_are_taken(self):
        """Others are not, so that this tells."""
        self.assertEqual(run_raw("run", "--hash", "nonsense", "--help").code, 2)
        taken = 0
        for command in commands():
            for name, kind in options(command).items():
                for value in offered(command, name, "") if kind not in ("", "FILE") else ():
                    self.assertEqual(run_raw(command, name, value, "--help").code, 0,
                                     f"{command} {name} {value}")
                    taken += 1
        self.assertGreater(taken, 30)

    def test_values(self):
        """Also in one word with their option, and where bash has made three words of it."""
        hashes = ["xxh3", "crc16", "murmur2"]
        self.assertEqual(offered("run", "--hash", ""), hashes)
        self.assertEqual(offered("run", "--hash", "cr"), ["crc16"])
        self.assertEqual(offered("run", "--hash="), [f"--hash={name}" for name in hashes])
        self.assertEqual(offered("run", "--hash=cr"), ["--hash=crc16"])
        self.assertEqual(offered("run", "--hash", "="), hashes)
        self.assertEqual(offered("run", "--hash", "=", "cr"), ["crc16"])
        self.assertEqual(offered("run", "--hash", "=", "crc16", "--hash-"), ["--hash-tags"])
        self.assertEqual(offered("run", "--name", "--hash", "cr"), [], "the value is --hash")
        for words in (("--name", ""), ("--name=",), ("--json=",), ("--nonsense=",), ("=",)):
            self.assertEqual(offered("run", *words), [], words)

    def test_files(self):
        for command in commands():
            for name, kind in options(command).items():
                if kind == "FILE":
                    for words in ((name, ""), (name, "x"), (f"{name}=x",), (name, "="),
                                  (name, "=", "x")):
                        self.assertEqual(offered(command, *words), [":file"], (command, words))

    def test_words(self):
        self.assertEqual(offered("completion", "")[:3], list(SHELLS))
        self.assertEqual(offered("completion", "z"), ["zsh"])
        self.assertEqual(offered("route", "k"), [], "keys are not known")

    def test_nothing_is_an_option_behind_two_dashes(self):
        for words in (("--", "-"), ("key", "--", ""), ("--", "--hash", "")):
            self.assertEqual(offered("route", *words), [], words)
        self.assertEqual(offered("route", "--topic", "--", "--hash-"), ["--hash-tags"])

    def test_it_is_hidden(self):
        for arguments in (("--help",), ("man",), ("completion", "--help")):
            self.assertNotIn("__complete", said(*arguments))

    def test_it_complains_of_nothing(self):
        """No matter what the environment says, or how odd the words are."""
        for words in (("run", "--na"), ("run", "--hash", "nonsense", "--na"), ("run", b"\xff"),
                      ("",) * 3):
            done = run_raw("__complete", *words, env={"NELIROUTE_SLOTS": "no", "NELIROUTE_X_": ""})
            self.assertEqual((done.code, done.err), (0, ""), words)


class Shells(unittest.TestCase):
    """Each shell loads its script, and offers what the program behind the line says."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for shell in SHELLS:
            (cls.folder / shell).write_text(said("completion", shell))
        (cls.folder / "settings.toml").touch()
        cls.tool = Path(process.tool_path()).resolve()

    def run_shell(self, *command):
        """Its lines; it must end well and complain of nothing."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60,
                              check=False, env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout.splitlines()

    def bash(self, *words, tool=None):
        """What bash offers behind these words, of which the last is unfinished."""
        script = ('set -eu; source ./bash; [[ $(complete -p neliroute) == *"-F _neliroute"* ]]; '
                  'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _neliroute; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return self.run_shell("bash", "--norc", "--noprofile", "-c", script, "bash",
                              tool or self.tool, *words)

    def fish(self, line, tool=None):
        return [row.partition("\t")[0] for row in self.run_shell(
            "fish", "--no-config", "-c", 'source ./fish; complete -C "$argv"',
            f"{tool or self.tool} {line}")]

    def zsh(self, *words, tool=None):
        """What its script hands to zsh's own functions."""
        script = ('_describe() { print -rl -- ${(P)3} }; _files() { print files $PREFIX }; '
                  'compset() { print compset $2 }; compdef() { }; source ./zsh; '
                  'words=("$@"); CURRENT=$#; _neliroute')
        return self.run_shell("zsh", "-f", "-c", script, "zsh", tool or self.tool, *words)

    def test_bash(self):
        self.assertEqual(self.bash("wat"), ["watch"])
        for command in commands():
            self.assertEqual(set(self.bash(command, "-")), set(options(command)), command)
        self.assertEqual(self.bash("run", "--hash", "=", "cr"), ["crc16"])
        for words in (("sett",), ("=", "sett"), ("=",), ("",)):
            self.assertIn("settings.toml", self.bash("run", "--config", *words), words)
        self.assertEqual(self.bash("run", "--name", ""), [""], "nothing that it could know")
        self.assertEqual(self.bash("wat", tool="/no/such/neliroute"), [""])

    def test_fish(self):
        self.assertEqual(self.fish("wat"), ["watch"])
        for command in commands():
            self.assertEqual(set(self.fish(f"{command} -")), set(options(command)), command)
        self.assertEqual(sorted(self.fish("run --hash ")), ["crc16", "murmur2", "xxh3"])
        self.assertEqual(self.fish("run --hash=cr"), ["--hash=crc16"])
        self.assertEqual(self.fish("run --config sett"), ["settings.toml"])
        self.assertEqual(self.fish("run --config=sett"), ["--config=settings.toml"])
        self.assertIn("settings.toml", self.fish("run --config "))
        self.assertEqual(self.fish("run --name "), [])

    def test_zsh(self):
        self.run_shell("zsh", "-f", "-n", "zsh")
        script = ("autoload -U compinit; compinit -u -D; source ./zsh; "
                  "print -r -- $_comps[neliroute] $+functions[_neliroute]")
        self.assertEqual(self.run_shell("zsh", "-f", "-c", script), ["_neliroute 1"])
        self.assertEqual(self.zsh("wat"), ["watch:Shows who owns what, and every change"])
        self.assertIn(r"--log-level:trace, debug, info, warning, error or off",
                      self.zsh("run", "--l"))
        self.assertEqual(self.zsh("run", "--hash=cr"), ["--hash=crc16"])
        self.assertEqual(self.zsh("run", "--config", "x")[-1], "files")
        self.assertEqual(self.zsh("run", "--name", ""), [""])

    def test_the_program_of_the_line_answers(self):
        """Whichever it is, and also if it was named by its folder, with a tilde."""
        other = self.folder / "bin" / "neliroute"
        other.parent.mkdir()
        other.write_text("#!/bin/sh\necho other\n")
        other.chmod(0o755)
        for tool in (other, "~/bin/neliroute"):
            for of_shell in (self.bash, self.zsh, self.fish):
                self.assertEqual(of_shell("", tool=tool), ["other"], (of_shell.__name__, tool))


if __name__ == "__main__":
    unittest.main()
