"""A test in namespaces that nobody else sees: what it mounts and makes there is gone with its last
process, whatever ended it, and nothing of the machine's is touched.
"""
import os
import subprocess
import sys

from harness.deps import need

_INSIDE = "NELIROUTE_TEST_INSIDE"


class NoNamespace(RuntimeError):
    """This machine gives us none: then nothing here is tested, which is a failure, not a skip."""


def enter(*options, as_user=()):
    """Starts the calling script again in namespaces of its own, with the same pid. Once.

    The options are unshare's; who is not root gets a user namespace as well, with those of
    `as_user`.
    """
    if os.environ.get(_INSIDE):
        return
    command = [need("unshare"), *options]
    if os.geteuid() != 0:
        command += ["--map-root-user", *as_user]
    tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise NoNamespace(f"no namespace: {' '.join(command)}: {tried.stderr.strip()}; run it as "
                          "root, or allow user namespaces, in a container with CAP_SYS_ADMIN")
    os.environ[_INSIDE] = "1"
    sys.stdout.flush()
    os.execv(command[0], [*command, sys.executable, *sys.argv])
