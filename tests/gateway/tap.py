"""Stands between a client and the proxies, sees the bytes on both sides, and judges each exchange.

The client's requests go by turns to the entries of their lane, a gateway and an owner, unchanged
but that every other body comes in chunks.
"""
import itertools
import socket
import threading
import zlib

import passed
from messages import Ended, Malformed, Reader, Server, first_segment

_LIMIT = 15  # seconds that an answer may take
_FAULTS_MOST = 20


class Lane:
    """`source`: of the key. `entries`: {port: how many proxies are between it and the application}.
    """

    def __init__(self, source, entries):
        self.source, self.entries = source, entries


class Tap(Server):
    """`lanes`: {first segment of a path: Lane}."""

    def __init__(self, lanes, application):
        self.lanes, self.application = lanes, application
        self.faults = []
        self.passed_on = []  # (segment, hops, its Exchange)
        self.refused = []  # (segment, hops, status)
        self._turn = itertools.count()
        self._lock = threading.Lock()
        super().__init__()  # now that all is there

    def _serve(self, connection):
        reader, entries = Reader(connection), {}
        with connection:
            try:
                while True:
                    request = reader.request(strict=False)
                    with self._lock:
                        answer = self._pass_on(request, entries)
                    connection.sendall(answer)
            except (Ended, OSError):
                pass
            finally:
                for entry in entries.values():
                    entry.connection.close()

    def _fault(self, text, request):
        if len(self.faults) < _FAULTS_MOST:
            self.faults.append(f"{text}\n  of {request.head!r} and {request.body[:200]!r}")

    def _pass_on(self, request, entries):
        segment = first_segment(request)
        lane = self.lanes.get(segment) or next(iter(self.lanes.values()))
        ports = sorted(lane.entries)
        port = ports[next(self._turn) % len(ports)]
        sent, wire = _as_sent(request)
        try:
            notes, answer = self._exchange(sent, wire, port, entries)
        except (Malformed, Ended, OSError) as broken:
            if port in entries:
                entries.pop(port).connection.close()
            self._fault(f"no answer: {broken!r}", sent)
            return b"HTTP/1.1 500 No Answer\r\nContent-Length: 0\r\n\r\n"
        self._judge(segment, lane, lane.entries[port], sent, notes, answer)
        return _as_relayed(request, answer)

    def _exchange(self, sent, wire, port, entries):
        """The informational answers, and the last one."""
        if port in entries:
            unasked = entries[port].unasked()
            if unasked:
                self._fault(f"bytes that nobody asked for: {unasked[:200]!r} before", sent)
            if unasked is None or unasked:
                entries.pop(port).connection.close()
        if port not in entries:
            entries[port] = Reader(socket.create_connection(("127.0.0.1", port), timeout=_LIMIT))
        entries[port].connection.sendall(wire)
        answers = [entries[port].answer(sent.start[0])]
        while answers[-1].start[1].startswith(b"1"):
            answers.append(entries[port].answer(sent.start[0]))
        if b"close" in passed.options_of(answers[-1]):
            entries.pop(port).connection.close()
        return answers[:-1], answers[-1]

    def _judge(self, segment, lane, hops, sent, notes, answer):
        refused = passed.refusal(lane.source, sent, trusted=hops == 1)
        serial = answer.value(b"X-Serial")
        if refused or serial is None:
            self.refused.append((segment, hops, int(answer.start[1])))
            faults = passed.own_answer_faults(answer, refused)
            if serial is not None:
                faults.append("it reached the application")
        else:
            exchange = self.application.exchanges[int(serial)]
            self.passed_on.append((segment, hops, exchange))
            faults = passed.request_faults(sent, exchange.request, hops)
            faults += passed.answer_faults(exchange.made, answer, hops)
            hints = [b"103"] if exchange.framing == "hints" else []
            if [note.start[1] for note in notes] != hints:
                faults.append(f"informational answers: {notes}")
        if faults:
            self._fault(f"{segment}, {hops} proxies: " + "; ".join(faults), sent)


def _as_sent(request):
    """What is sent of it, and the bytes."""
    fields, body = request.fields, request.body
    if not body or zlib.crc32(body) % 2:
        return request, request.head + body
    fields = [field for field in fields if field[0].lower() != b"content-length"]
    fields.append((b"Transfer-Encoding", b"chunked"))
    head = b" ".join(request.start) + b"\r\n" + b"".join(
        b"%s: %s\r\n" % field for field in fields) + b"\r\n"
    half = len(body) // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part)
                      for part in (body[:half], body[half:]) if part)
    sent = type(request)(request.start, fields, head, body, True)
    return sent, head + chunks + b"0\r\n\r\n"


def _as_relayed(request, answer):
    """For the client, which need not know how it was framed."""
    fields = [field for field in answer.fields if field[0].lower() != b"transfer-encoding"]
    without = request.start[0] == b"HEAD" or answer.start[1] in (b"204", b"304")
    if not without:
        fields = [field for field in fields if field[0].lower() != b"content-length"]
        fields.append((b"Content-Length", b"%d" % len(answer.body)))
    return b" ".join(answer.start) + b"\r\n" + b"".join(
        b"%s: %s\r\n" % field for field in fields) + b"\r\n" + answer.body
