#!/usr/bin/python3
"""A program behind `run --exec`, well-behaved or not.   follower.py PORT LOG MODE

It serves HTTP at the port, and writes what it reads on stdin to the log, a line each, with the time
("boot"). MODE: `answers` is waited for and answers, but not when it is told to stop and there is a
file LOG.hold; `silent` is waited for and does not answer, `mute` says nothing, `deaf` is waited for
and reads nothing, `server` neither says nor reads anything, `stubborn` ignores SIGTERM, `saves`
makes a file LOG.told at SIGTERM and LOG.saved before it ends, once there is a file LOG.go; `quits`
ends with 5 a while after it is told to stop, once there is a file LOG.quit. GET /exit/N ends it
with N, GET /pid says who it is.
"""
import http.server
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answers, and may end the program afterwards."""
        body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        if self.path.startswith("/exit/"):
            os._exit(int(self.path.rpartition("/")[2]))

    def log_message(self, *_):
        """Nothing."""


def serve(port):
    """On a thread of its own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def say(row):
    """On descriptor 3."""
    os.write(3, (json.dumps(row) + "\n").encode())


def save(log):
    """A handler that takes as long as the test wants it to."""
    def handler(*_):
        Path(f"{log}.told").touch()
        while not os.path.exists(f"{log}.go"):
            time.sleep(0.01)
        Path(f"{log}.saved").touch()
        os._exit(0)
    return handler


def main():
    """Until stdin ends, or for ever."""
    port, log, mode = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "saves":
        signal.signal(signal.SIGTERM, save(log))
    if mode in ("answers", "silent", "quits", "deaf"):
        say({"awaits": ["prepare", "warm_up", "stopped"]})
    serve(port)
    if mode in ("deaf", "server"):
        threading.Event().wait()
    with open(log, "a", encoding="utf-8", buffering=1) as file:
        for line in sys.stdin:
            event = json.loads(line)
            event["boot"] = time.clock_gettime(time.CLOCK_BOOTTIME)
            file.write(json.dumps(event) + "\n")
            if mode == "quits" and event["event"] == "stopped" and os.path.exists(f"{log}.quit"):
                time.sleep(1.2)  # longer than two signals count as one
                os._exit(5)
            held = event["event"] == "stopped" and os.path.exists(f"{log}.hold")
            if mode in ("answers", "quits") and not held:
                say({"done": event["seq"]})
    if mode == "stubborn":
        threading.Event().wait()


if __name__ == "__main__":
    main()
