"""Serves the slot page with a World behind it, as the admin port would.

  server.py [--scenario NAME] [--port PORT]   for whoever works on the page

The files are those of admin/page, read anew each time: change one, and load the page again.
"""
import argparse
import contextlib
import http.server
import json
import queue
import socket
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from browser import scenarios  # noqa: E402

SOURCES = Path(__file__).resolve().parents[2] / "admin" / "page"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
AGE_EVERY_S = 1.0


class Server(http.server.ThreadingHTTPServer):
    """Its address is `url`; `paths` is what was asked for. As a proxy would, it takes `prefix` away
    from a path; there is nothing at others."""

    daemon_threads = True

    def __init__(self, world, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.world = world
        self.paths = []
        self.prefix = ""
        self.away = self.mute = self.ages_fail = False
        self.speech = threading.Condition()
        self.streams = set()
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def go_away(self):
        """Breaks every stream, and refuses whatever is asked until come_back()."""
        self.away = True
        for stream in list(self.streams):
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def come_back(self):
        self.away = False

    def fall_mute(self):
        """Streams stay open and say nothing: a process that is stopped, a link that is cut."""
        self.mute = True

    def speak_again(self):
        with self.speech:
            self.mute = False
            self.speech.notify_all()

    def stop(self):
        self.speak_again()
        self.go_away()
        self.shutdown()
        self.server_close()
        self.thread.join()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # a browser that goes away is no error
            super().handle_error(request, client_address)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        """Tests have no use for it."""

    def do_GET(self):
        path, _, query = self.path.partition("?")
        self.server.paths.append(self.path)
        begins = path.startswith(f"{self.server.prefix}/")
        path = path.removeprefix(self.server.prefix) if begins else "/none"
        if self.server.away:
            self.close_connection = True
            return
        if path == "/":
            policy = (SOURCES / "policy.txt").read_text().strip()
            self.answer(200, "text/html; charset=utf-8", (SOURCES / "index.html").read_bytes(),
                        {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"})
        elif path == "/v1/events":
            self.events()
        elif path == "/v1/slots":
            self.answer_json(200, self.server.world.whole())
        elif path == "/v1/processes":
            self.processes()
        elif path == "/v1/requests":
            self.answer_json(200, self.server.world.what_became_of_requests())
        elif path == "/v1/route":
            self.route(dict(urllib.parse.parse_qsl(query, keep_blank_values=True)))
        elif path.startswith("/page/") and "/" not in path[6:]:
            self.source(SOURCES / path[6:])
        else:
            self.answer_json(404, {"error": f"there is nothing at {path}; the page is at /"})

    def processes(self):
        if self.server.ages_fail:
            self.answer(200, "text/html", b"who asks?")  # a proxy's page of errors, for example
        else:
            self.answer_json(200, self.server.world.who_owns_how_much())

    def route(self, question):
        slots = self.server.world.slots
        if "key" in question:
            self.answer_json(200, self.server.world.route(key=question["key"].encode()))
            return
        text = question.get("slot", "")
        if text.isascii() and text.isdigit() and int(text) < slots:
            self.answer_json(200, self.server.world.route(slot=int(text)))
        else:
            self.answer_json(400, {"error": f"slot is '{text}', expected 0 to {slots - 1}"})

    def source(self, file):
        if file.suffix in TYPES and file.is_file():
            self.answer(200, TYPES[file.suffix], file.read_bytes(),
                        {"X-Content-Type-Options": "nosniff"})
        else:  # for tests of single modules: nothing runs there but what they import
            self.answer(200, "text/html", b"<!doctype html><link rel=icon href=data:,>")

    def events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        listener = self.server.world.listen()
        self.server.streams.add(self.connection)
        try:
            self.wfile.write(b"retry: 1000\n\n")
            while not self.server.away:
                try:
                    event, data = listener.get(timeout=AGE_EVERY_S)
                except queue.Empty:
                    event, data = "age", self.server.world.age()
                with self.server.speech:
                    self.server.speech.wait_for(lambda: not self.server.mute)
                self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
        finally:
            self.server.streams.discard(self.connection)
            self.server.world.stop_listening(listener)

    def answer_json(self, status, data):
        self.answer(status, "application/json", json.dumps(data).encode())

    def answer(self, status, kind, body, more=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenario", choices=sorted(scenarios.ALL), default="three")
    parser.add_argument("--port", type=int, default=8080)
    arguments = parser.parse_args()
    world = scenarios.ALL[arguments.scenario]()
    server = Server(world, arguments.port)
    print(f"{server.url} shows '{arguments.scenario}'; an owner is killed every 20 s", flush=True)
    try:
        while True:
            time.sleep(20)
            scenarios.kill_one(world)
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
