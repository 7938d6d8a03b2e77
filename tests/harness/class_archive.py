"""Kafka's classes as the JVM lays them out in memory, kept in a file that brokers map.

A broker then starts with half the work, and the tests start many on few cores. The file
is made once for each Kafka and JVM, by a broker that writes it when it ends. The JVM itself
refuses a file that does not fit its version or the jars, and starts as it would without.
"""
import hashlib
from pathlib import Path

from . import deps


def path(version):
    """Where the archive of this Kafka version and this machine's JVM lies."""
    java = Path(deps.need("java")).resolve()
    jvm = java.parent.parent / "lib/server/libjvm.so"
    about = jvm.stat() if jvm.exists() else java.stat()
    key = hashlib.sha256(f"{java} {about.st_size} {about.st_mtime_ns}".encode()).hexdigest()[:12]
    return deps.cache_folder() / f"kafka-{version}-classes-{key}"


def use(version, record):
    """The JVM's options that use the archive; record(file) makes it where there is none."""
    with deps.made_once(path(version)) as work:
        if work:
            record(work / "classes.jsa")
            if not (work / "classes.jsa").is_file():
                raise RuntimeError(f"Kafka {version} ended and left no archive of its classes")
    file = path(version) / "classes.jsa"
    # Its standard output is KafkaAdmin's: what it says of the archive must not be there.
    return [f"-XX:SharedArchiveFile={file}", "-Xlog:disable", "-Xlog:all=warning:stderr"]
