"""What the tool's tests share: the harness of the Kafka tests, and an embedded broker."""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import children, process  # noqa: E402

run_tool = process.run_tool


def run_raw(*arguments, limit=30.0, env=None, stdin=b""):
    """The tool with exactly these arguments (bytes or text): a Finished."""
    command = [process.tool_path(), *arguments]
    child = children.subprocess.Popen(
        [part if isinstance(part, bytes) else str(part) for part in command],
        stdin=children.subprocess.PIPE, stdout=children.subprocess.PIPE,
        stderr=children.subprocess.PIPE, env=process.environment(env))
    started = children.boot_now()
    try:
        out, err = child.communicate(stdin, timeout=limit)
    finally:
        child.kill()
        child.wait()
    return process.Finished(command, child.returncode, out.decode(errors="replace"),
                            err.decode(errors="replace"), children.boot_now() - started)
