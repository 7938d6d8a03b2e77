#!/usr/bin/python3
"""Guest books over HTTP, in Python alone: an owner without the library.

  neliroute run --endpoint 127.0.0.1:8001 --upstream 127.0.0.1:9001 --key path:1 --partitions 16 \\
      --mode exclusive --exec 'exec python3 examples/05_owner.py 127.0.0.1:9001 16 FOLDER'
  neliroute gateway --listen 127.0.0.1:8080 --key path:1
  curl -d 'Ada was here' http://127.0.0.1:8080/tower          # and a GET reads the book

Start several, each with ports of its own and the same folder. `neliroute run` is in front of each:
it owns partitions, and sends here what is asked of them, and nothing else. Its control port streams
what it is about to own and what it owns no more, and waits until we have done each step:

  prepare   we shall own the partition, while another one still does: read what is saved
  warm_up   the other one has finished: read what it saved last. Then requests come
  stopped   save, so that the next one can go on

Books are saved when their partition moves. If the process is killed, what was written since then is
lost: save each change, as 04_counter_service does, if that must not be.
"""
import contextlib
import fcntl
import http.client
import http.server
import json
import os
import sys
import threading
import urllib.parse
from pathlib import Path


class Books:
    """The guest books of the partitions that are owned here; in a file each, while they are not."""

    def __init__(self, folder, partitions):
        self.folder = Path(folder)
        self.partitions = partitions
        self.owned = {}   # partition -> (epoch, {name: [line, ...]})
        self.lock = threading.Lock()  # of `owned`: requests have threads of their own
        self.read_before = {}  # partition -> (when it was saved, what)

    def prepare(self, partition, _):
        """Most of the work, if the books are long; nobody waits for it."""
        self.saved(partition)

    def warm_up(self, partition, epoch):
        """From now on a former owner, who was stopped and wakes up, cannot save any more."""
        with self.locked_files():
            last, books = self.saved(partition)
            if last > epoch:
                return  # a later owner than this one
            self.save(partition, epoch, books)
        self.read_before.pop(partition, None)
        with self.lock:
            self.owned[partition] = epoch, books

    def stopped(self, partition, _):
        """Requests that come after this are sent to the next owner: see Handler."""
        with self.lock:
            epoch, books = self.owned.pop(partition, (None, None))
        if books is None:
            return
        with self.locked_files():
            if self.saved(partition)[0] == epoch:
                self.save(partition, epoch, books)

    @contextlib.contextmanager
    def locked_files(self):
        """Nobody else compares epochs and writes meanwhile."""
        with open(self.folder / "lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def saved(self, partition):
        """(epoch, books), not parsed again if nobody has saved since."""
        try:
            status = os.stat(self.folder / f"{partition}.json")
        except FileNotFoundError:
            return [0, 0], {}
        version = status.st_ino, status.st_mtime_ns
        if self.read_before.get(partition, [None])[0] != version:
            text = (self.folder / f"{partition}.json").read_text(encoding="utf-8")
            self.read_before[partition] = version, json.loads(text)
        return self.read_before[partition][1]

    def save(self, partition, epoch, books):
        """The old file, or the new one, whenever this is interrupted."""
        new = self.folder / f"{partition}.new"
        new.write_text(json.dumps([epoch, books]), encoding="utf-8")
        new.rename(self.folder / f"{partition}.json")

    def book(self, slot, name, line=None):
        """The lines of a book, after adding one; None: it is not owned here."""
        with self.lock:
            _, books = self.owned.get(slot % self.partitions, (None, None))
            if books is None:
                return None
            if line is not None:
                books.setdefault(name, []).append(line)
            return list(books.get(name, []))


class Handler(http.server.BaseHTTPRequestHandler):
    """One request; neliroute says in fields of its own which slot it is for."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    books = None

    def do_GET(self):
        """The book."""
        self.answer_with(None)

    def do_POST(self):
        """The same, with one more line."""
        size = self.headers.get("Content-Length")
        if size is None:  # a long body of unknown length comes in chunks
            self.close_connection = True
            self.answer(411, {"error": "a line needs a Content-Length"})
            return
        self.answer_with(self.rfile.read(int(size)).decode(errors="replace"))

    def answer_with(self, line):
        """421 and the slot: neliroute sends the request on, to who owns the book by now."""
        slot = self.headers.get("Neliroute-Slot")
        if slot is None:
            self.answer(400, {"error": "no Neliroute-Slot: ask neliroute, not this port"})
            return
        name = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path.split("/")[1])
        lines = self.books.book(int(slot), name, line)
        if lines is None:
            self.answer(421, {"error": "not owned here"}, {"Neliroute-Slot": slot})
        else:
            self.answer(200, {"book": name, "lines": lines, "kept_by": os.getpid()})

    def answer(self, status, content, fields=None):
        """An object as JSON."""
        body = json.dumps(content).encode() + b"\n"
        self.send_response(status)
        for field, value in {"Content-Length": len(body), **(fields or {})}.items():
            self.send_header(field, str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Nothing: neliroute counts."""


class Control:
    """The control port of our `neliroute run`."""

    def __init__(self):
        self.headers = {"Authorization": f"Bearer {os.environ['NELI_TOKEN']}",
                        "Content-Type": "application/json"}
        self.stream = http.client.HTTPConnection(os.environ["NELI_CONTROL"])
        self.calls = http.client.HTTPConnection(os.environ["NELI_CONTROL"])

    def events(self, awaited):
        """What happens to partitions, from now on; the steps that are awaited wait for done()."""
        self.stream.request("GET", f"/v1/steps?await={','.join(awaited)}", headers=self.headers)
        answer = self.stream.getresponse()
        if answer.status != 200:
            raise OSError(answer.read().decode())
        return (json.loads(line[len(b"data: "):]) for line in answer if line.startswith(b"data: "))

    def done(self, event):
        """One of them is."""
        self.calls.request("POST", "/v1/done", json.dumps({"step": event["seq"]}), self.headers)
        self.calls.getresponse().read()


def main():
    """Until the stream ends, as neliroute has left, or it ends this process."""
    try:
        host, port = sys.argv[1].rsplit(":", 1)
        books = Handler.books = Books(folder=sys.argv[3], partitions=int(sys.argv[2]))
        steps = {"prepare": books.prepare, "warm_up": books.warm_up, "stopped": books.stopped}
        control = Control()
        events = control.events(steps)
        # Only now, as neliroute joins once somebody accepts connections.
        server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
    except (IndexError, KeyError, ValueError, OSError) as wrong:
        print(f"{wrong}\nuse: neliroute run --exec '05_owner.py HOST:PORT PARTITIONS FOLDER' ...",
              file=sys.stderr)
        return 2
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for event in events:
        if event["event"] in steps:
            epoch = event.get("epoch", {})
            steps[event["event"]](event["partition"], [epoch.get("inc"), epoch.get("offset")])
            control.done(event)
    return 0


if __name__ == "__main__":
    sys.exit(main())
