"""A minimal Debian 12 that a test has to itself: what is installed on this machine is not in it.

debootstrap makes it once, into the cache, where the package archives are kept that a test
downloads, too; nothing else is. Each test works on a copy. Of this machine a copy gets the
certificates and the settings of the package clients, whatever they are.
"""
import contextlib
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from harness import children, deps

import namespaces

SETTINGS = ("/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs", "/usr/local/share/ca-certificates",
            "/etc/npmrc", "/etc/pip.conf", "~/.npmrc", "~/.config/pip")
VARIABLES = re.compile(r"(?i).*_proxy|.*(cert|_ca_|cainfo).*|(pip|npm)_.*")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ARCHIVES = "var/cache/apt/archives"


class Finished(NamedTuple):
    """What a script in the root came to."""

    code: int | str
    output: str

    def __str__(self):
        return f"exit {self.code}\n{self.output[-8000:]}"


def enter():
    """Into a mount namespace. Users get their subordinate ids: Debian has more users than root."""
    os.environ["PATH"] += os.pathsep + PATH  # debootstrap is in no user's
    deps.need("debootstrap")
    namespaces.enter("--mount", as_user=("--map-auto",))


def _run(*command, **options):
    """The output of a command; what it says when it fails is the error."""
    child = children.spawn(command, stdout=subprocess.PIPE, text=True, **options)
    try:
        output = child.communicate()[0]
    finally:
        children.end(child, grace=0)
    if child.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))} failed\n{output[-4000:]}")
    return output


def _debian():
    """The root that all are copies of. It comes from where this machine's packages do."""
    target = deps.cache_folder() / "debian-12"
    with deps.made_once(target) as work:
        if work:
            sources = _run("apt-get", "indextargets", "--format", "$(REPO_URI)",
                           "Created-By: Packages", "Codename: bookworm").split()
            work.chmod(0o755)
            # To debootstrap any container is one where it can make no device files.
            _run("unshare", "--mount", "--pid", "--fork", "--kill-child",
                 "debootstrap", "--variant=minbase", "bookworm", work, *sources[:1],
                 env={**os.environ, "container": "lxc"}, stderr=subprocess.STDOUT)
    return target


def _put(path, root, target=None):
    """A file or folder of this machine's, if there is one."""
    target = root / str(target or path).lstrip("/")
    if path.is_dir():
        shutil.copytree(path, target, symlinks=True, dirs_exist_ok=True)
    elif path.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def _locked(folder, wait=0):
    """The folder's lock, which ends with this process; None: another process has it."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | wait)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _remove(folder):
    """Whether it is gone now. Python takes minutes where rm takes seconds."""
    return subprocess.run(["rm", "-rf", "--one-file-system", folder], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def _link_all(source, target):
    """Downloaded packages, without a copy."""
    for archive in source.glob("*.deb"):
        with contextlib.suppress(FileExistsError):
            os.link(archive, target / archive.name)


class FreshRoot:
    """A copy, with the source of this project in /root/neliroute; gone when the test is over."""

    def __init__(self):
        copies = deps.cache_folder() / "fresh"
        self._archives = deps.cache_folder() / "archives"
        for folder in (copies, self._archives):
            folder.mkdir(exist_ok=True)
        beginning = _locked(copies)
        for left in copies.iterdir():  # of tests that were killed
            if (lock := _locked(left, fcntl.LOCK_NB)) is not None:
                _remove(left)
                os.close(lock)
        self._folder = Path(tempfile.mkdtemp(dir=copies))
        self._lock = _locked(self._folder)
        os.close(beginning)
        self.path = self._folder / "root"
        self._clients = {name: value for name, value in os.environ.items()
                         if VARIABLES.fullmatch(name)}
        _run("cp", "-a", _debian(), self.path)
        self._settings()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        _link_all(self.path / ARCHIVES, self._archives)
        # The last processes may take a moment to end.
        children.wait_until(lambda: _remove(self._folder), 20, f"{self._folder} removed")

    def _settings(self):
        named = [value for value in self._clients.values() if Path(value).is_file()]
        for name in [*SETTINGS, *named]:
            path = Path(name).expanduser()
            _put(path, self.path, name.replace("~", "/root"))
        kept = [line for line in _run("apt-config", "dump", "Acquire").splitlines()
                if "::IndexTargets" not in line]
        apt = self.path / "etc/apt/apt.conf.d"
        (apt / "90machine").write_text("\n".join(kept) + "\n")
        # Nobody needs these files after a power failure.
        (self.path / "etc/dpkg/dpkg.cfg.d/quick").write_text("force-unsafe-io\n")
        _link_all(self._archives, self.path / ARCHIVES)

    def clone(self, source):
        """What git would commit of a working tree, and its history."""
        target = self.path / "root/neliroute"
        _run("git", "clone", "-q", "--no-checkout", source, target)
        _run("git", "-C", target, "reset", "-q")
        listed = _run("git", "-C", source, "ls-files", "-z", "--cached", "--others",
                      "--exclude-standard")
        for name in set(filter(None, listed.split("\0"))):
            _put(Path(source) / name, target, name)

    def run(self, script, limit, online=True):
        """A bash script as root, in its home and in a terminal of its own; its processes end with
        it. Not online: nothing but a loopback of its own.
        """
        command = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={self.path}/proc"]
        # Mounted where nobody but these processes sees it: above all, nobody who deletes the root.
        mounted = f"mount --rbind /dev {self.path}/dev"
        if not online:
            command.append("--net")
            mounted += " && ip link set lo up"
        inside = ["sh", "-c", f'{mounted} && exec chroot "$@"', "sh", self.path,
                  "/bin/bash", "-c", f"cd && {script}"]
        environment = {**self._clients, "HOME": "/root", "PATH": PATH, "LANG": "C.UTF-8"}
        output = self._folder / "output"
        with open(output, "wb") as file:
            child = children.spawn([*command, *inside], stdout=file, stderr=subprocess.STDOUT,
                                   env=environment)
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            code = f"none after {limit} s"
        finally:
            children.end(child, grace=0)
        return Finished(code, output.read_text(errors="replace"))
