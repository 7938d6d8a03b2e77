#!/usr/bin/python3
"""A program behind `run --exec`, well-behaved or not.   follower.py PORT LOG MODE

It serves HTTP at the port, and writes what it reads of /v1/steps to the log, a line each, with the
time ("boot"). MODE: `answers` is waited for and answers, but not when it is told to stop and there
is a file LOG.hold; `silent` is waited for and does not answer, `mute` only reads, `deaf` is waited
for and reads nothing, `server` asks for nothing, `stubborn` ignores SIGTERM, `saves` makes a file
LOG.told at SIGTERM and LOG.saved before it ends, once there is a file LOG.go; `quits` ends with 5 a
while after it is told to stop, once there is a file LOG.quit. GET /exit/N ends it with N, GET /pid
says who it is, GET /wait makes a file LOG.asked and is answered once there is a file LOG.answer.
"""
import http.client
import http.server
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

WAITED_IN = ("prepare", "warm_up", "stopped")


class Handler(http.server.BaseHTTPRequestHandler):
    """One request."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answers, and may end the program afterwards."""
        if self.path == "/wait":
            Path(f"{sys.argv[2]}.asked").touch()
            while not os.path.exists(f"{sys.argv[2]}.answer"):
                time.sleep(0.01)
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


class Owner:
    """The process that it stands behind."""
    headers = {"Authorization": f"Bearer {os.environ.get('NELI_TOKEN', '')}",
               "Content-Type": "application/json"}

    def __init__(self):
        self.calls = http.client.HTTPConnection(os.environ["NELI_CONTROL"])
        self.stream = http.client.HTTPConnection(os.environ["NELI_CONTROL"])

    def follow(self, awaits):
        """The lines of events, from now on."""
        self.stream.request("GET", f"/v1/steps?await={awaits}" if awaits else "/v1/steps",
                            headers=self.headers)
        answer = self.stream.getresponse()
        assert answer.status == 200, answer.read()
        return (line[6:] for line in answer if line.startswith(b"data: "))

    def done(self, seq):
        """That step is."""
        self.calls.request("POST", "/v1/done", json.dumps({"step": seq}), self.headers)
        self.calls.getresponse().read()


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
    """Until its owner has left, or for ever."""
    port, log, mode = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "saves":
        signal.signal(signal.SIGTERM, save(log))
    owner = Owner()
    waited_for = mode in ("answers", "silent", "quits", "deaf")
    lines = owner.follow("prepare,warm_up,stopped" if waited_for else "") \
        if mode != "server" else ()
    serve(port)
    if mode in ("deaf", "server"):
        threading.Event().wait()
    with open(log, "a", encoding="utf-8", buffering=1) as file:
        for line in lines:
            event = json.loads(line)
            event["boot"] = time.clock_gettime(time.CLOCK_BOOTTIME)
            file.write(json.dumps(event) + "\n")
            if mode == "quits" and event["event"] == "stopped" and os.path.exists(f"{log}.quit"):
                time.sleep(1.2)  # longer than two signals count as one
                os._exit(5)
            held = event["event"] == "stopped" and os.path.exists(f"{log}.hold")
            if mode in ("answers", "quits") and not held and event["event"] in WAITED_IN:
                if event["event"] == "warm_up":
                    time.sleep(0.02)  # all that its owner does at once has one time
                owner.done(event["seq"])
    if mode == "stubborn":
        threading.Event().wait()


if __name__ == "__main__":
    main()
