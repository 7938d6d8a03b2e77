"""Fetches Java programs' jars once by Maven and compiles the tests' own helpers against them.

Both land in a cache outside the build tree, since 54 MB a version should survive `rm -rf build`.
Everything is made in a temporary folder and renamed, so two tests that start at once, or one that
is interrupted, never leave a half-filled cache behind.
"""
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSIONS = ("4.1.1", "3.9.1")
DEFAULT_VERSION = VERSIONS[0]
HELPER_SOURCE = Path(__file__).with_name("KafkaAdmin.java")

# slf4j-simple writes the broker's log to stderr, which is one file a test can keep;
# 3.9's own binding would compete with it for being found first on the class path.
_BINDING = "org.slf4j:slf4j-reload4j"
_LOGGER = ("org.slf4j:slf4j-simple:1.7.36",)


class MissingTool(RuntimeError):
    """Something that scripts/setup --tests installs is not there."""


def cache_folder():
    """The cache: $NELIROUTE_DEPS, or ~/.cache/neliroute."""
    folder = Path(os.environ.get("NELIROUTE_DEPS") or Path.home() / ".cache" / "neliroute")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def need(tool):
    """The path of a program, or an error that says what installs it."""
    found = shutil.which(tool)
    if not found:
        raise MissingTool(f"{tool} not found: run `scripts/setup --tests`")
    return found


@contextlib.contextmanager
def made_once(target):
    """Yields a folder to fill, which becomes `target`; None when somebody has made it already.

    The lock file is held meanwhile, so the second of two tests waits for the first one's download
    instead of repeating it.
    """
    if target.is_dir():
        yield None
        return
    with open(target.with_name(target.name + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            yield None
            return
        work = Path(tempfile.mkdtemp(prefix=target.name + ".", dir=target.parent))
        try:
            yield work
            os.rename(work, target)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def envoy():
    """The program, from the Python package that holds it."""
    found = sorted(cache_folder().glob("python/lib/python3*/site-packages/envoy/_bin/envoy"))
    if not found:
        raise MissingTool("Envoy not found: run `scripts/setup --tests`")
    return found[0]


def package_python():
    """The Python that has the packages of scripts/python-packages.txt."""
    python = cache_folder() / "python" / "bin" / "python"
    if not python.exists():
        raise MissingTool("the Python packages are not there: run `scripts/setup --tests`")
    return python


def schemathesis():
    """The command, by its Python: the first line of pip's script is where its folder was made."""
    python = package_python()
    if not python.with_name("schemathesis").exists():
        raise MissingTool("Schemathesis not found: run `scripts/setup --tests`")
    return [python, python.with_name("schemathesis")]


def cookie_package():
    """The folder of the package `cookie`, for Node."""
    folder = cache_folder() / "cookie"
    if not folder.is_dir():
        raise MissingTool("Node's package cookie not found: run `scripts/setup --tests`")
    return folder


def _run(command, **options):
    """Runs a command to its end; its output is shown only if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed with {done.returncode}\n{done.stdout[-4000:]}")


def _pom(dependencies):
    """A project that needs these: ("group:artifact:version", "group:artifact left out", ...)."""
    parts = []
    for coordinates, *without in dependencies:
        group, artifact, version = coordinates.split(":")
        excluded = "".join("<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>"
                           .format(*other.split(":")) for other in without)
        parts.append(f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
                     f"<version>{version}</version><exclusions>{excluded}</exclusions>"
                     "</dependency>")
    return ('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>neliroute</groupId><artifactId>jars</artifactId><version>1</version>"
            f"<dependencies>{''.join(parts)}</dependencies></project>\n")


def maven_jars(name, *dependencies):
    """The folder with the jars of these and of all they need, fetched if it is not there yet."""
    target = cache_folder() / name
    with made_once(target) as work:
        if work:
            need("java")
            pom = work / "pom.xml"
            pom.write_text(_pom(dependencies), encoding="utf-8")
            _run([need("mvn"), "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
                  f"-DoutputDirectory={work}"], timeout=600)
            _, artifact, version = dependencies[0][0].split(":")
            if not (work / f"{artifact}-{version}.jar").is_file():
                raise RuntimeError(f"Maven ended well but brought no {artifact}")
    return target


def java_classes(name, jars, *sources):
    """The folder with these sources compiled; compiled again when one of them changed.

    Compiled ahead rather than started from source: that would cost 1.5 s at every start.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    target = cache_folder() / f"{name}-{digest}"
    with made_once(target) as work:
        if work:
            # The compiler's module is in Debian's headless JRE; only its launcher, javac, is
            # not, and with it the meaning of `*` in a class path.
            path = ":".join(map(str, sorted(jars.glob("*.jar"))))
            _run([need("java"), "-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn",
                  "-cp", path, "-d", str(work), *map(str, sources)], timeout=120)
    return target


def kafka_jars(version=DEFAULT_VERSION):
    """The folder with the jars of this Kafka version."""
    if version not in VERSIONS:
        raise ValueError(f"Kafka {version} is not one of {', '.join(VERSIONS)}")
    return maven_jars(f"kafka-{version}",
                      (f"org.apache.kafka:kafka_2.13:{version}", _BINDING),
                      (f"org.apache.kafka:kafka-tools:{version}", _BINDING), _LOGGER)


def admin_classes(version=DEFAULT_VERSION):
    """The folder with the compiled admin helper."""
    return java_classes(f"kafka-admin-{version}", kafka_jars(version), HELPER_SOURCE)
