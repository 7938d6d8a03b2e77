"""What proxies may change of a request and of an answer, and what they refuse (docs/routing.md).

Written from the documents, not from the code: RFC 9110 section 7.6 and docs/routing.md.
"""
import re
from urllib.parse import unquote_to_bytes

from messages import TOKEN

KEPT_BODY = 64 * 1024  # a longer one is asked for first
HEADER_MOST = 16 * 1024
NAME = b"neliroute"  # in Via
CLIENT = b"127.0.0.1"
_OF_ONE_CONNECTION = {b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer",
                      b"transfer-encoding", b"upgrade", b"proxy-authenticate",
                      b"proxy-authorization", b"http2-settings"}
_OF_OURS = {b"neliroute-owner", b"neliroute-epoch", b"neliroute-hops", b"neliroute-timeout-ms",
            b"neliroute-slot"}
_OF_A_PROXY = {b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port",
               b"x-real-ip", b"forwarded"}
_FRAMING = {b"host", b"content-length", b"transfer-encoding"}
_HOPS_MOST = 1000
_DOTS = re.compile(rb"(?:^|[/\\])\.\.?(?:;[^/\\]*)?(?:\Z|[/\\])")
_BAD_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def options_of(message):
    """What its Connection fields name, in lower case."""
    return [one.strip(b" \t").lower() for value in message.values(b"Connection")
            for one in value.split(b",") if one.strip(b" \t")]


def grouped(fields):
    """{name in lower case: [(name, value)]}: the order of different names means nothing."""
    found = {}
    for name, value in fields:
        found.setdefault(name.lower(), []).append((name, value))
    return found


def alike(name):
    """In lower case and with one kind of dash: some applications take X_User for X-User."""
    return name.lower().replace(b"_", b"-")


def end_to_end(message):
    """Its fields without those of one connection and without ours, grouped."""
    gone = _OF_ONE_CONNECTION | set(options_of(message))
    return {name: rows for name, rows in grouped(message.fields).items()
            if name not in gone and alike(name) not in _OF_OURS}


def decoded(text, form):
    """Percent-decoded; None: it is malformed."""
    if _BAD_PERCENT.search(text):
        return None
    return unquote_to_bytes(text.replace(b"+", b" ") if form else text)


def _plain(key, but=b"", wide=False):
    """The key; None: it has bytes that servers read differently. `wide`: it may be any UTF-8."""
    if key is None or any(one < 0x20 or one == 0x7f or one in but or (one > 0x7f and not wide)
                          for one in key):
        return None
    try:
        key.decode()
    except UnicodeDecodeError:
        return None
    return key


def _in_header(request, name):
    values = request.values(name)
    same = [one for one, _ in request.fields if alike(one) == alike(name)]
    return _plain(values[0]) if values and len(same) == 1 else None


def _in_path(request, number):
    segments = [decoded(segment, False)
                for segment in request.start[1].partition(b"?")[0].split(b"/")[1:]]
    until = segments[:number]
    if len(until) < number or None in segments or b"" in until[:-1]:
        return None
    shifted = any(_DOTS.search(segment) for segment in segments)
    if shifted or any(re.search(rb"[/\\;%\0]", one) for one in until):
        return None
    return _plain(until[-1], b"?#", wide=True)


def _in_query(request, name):
    pairs = [piece.partition(b"=") + (b";" in part,)
             for part in request.start[1].partition(b"?")[2].split(b"&")
             for piece in part.split(b";")]
    names = [decoded(pair[0], True) for pair in pairs]
    lists = [one for one in names if one and one.startswith(name + b"[")]
    if None in names or names.count(name) != 1 or lists or pairs[names.index(name)][3]:
        return None
    return _plain(decoded(pairs[names.index(name)][2], True), wide=True)


def _in_cookie(request, name):
    fields = request.values(b"Cookie")
    if len(fields) != 1:
        return None
    pairs = [[part.strip(b" \t") for part in pair.split(b"=", 1)]
             for pair in fields[0].split(b";") if b"=" in pair]
    values = [value for one, value in pairs if one == name]
    opened = [value for _, value in pairs
              if value == b'"' or value.startswith(b'"') and not value.endswith(b'"')]
    coded = [one for one, _ in pairs if one != name and decoded(one, False) == name]
    said = re.findall(rb"(?<![!#$%&'*+.^_`|~0-9A-Za-z-])" + re.escape(name) +
                      rb"[\x00-\x20\x7f-\xff]*=", fields[0])
    bare = [pair for pair in fields[0].split(b";")
            if re.sub(rb"^[\x00-\x20\x7f-\xff]+|[\x00-\x20\x7f-\xff]+$", b"", pair) == name]
    if len(values) != 1 or opened or coded or bare or len(said) > 1:
        return None
    return _plain(values[0], b' ",;\\%')


def key_of(source, request):
    """The request's key by `--key`; None or empty: it has none that counts."""
    kind, _, name = source.partition(":")
    holder = {"header": alike(name.encode()), "cookie": b"cookie"}.get(kind)
    if holder in map(alike, options_of(request)):
        return None  # a proxy removes it
    if kind == "path":
        return _in_path(request, int(name))
    return {"header": _in_header, "query": _in_query, "cookie": _in_cookie}[kind](
        request, name.encode())


def _malformed(request):
    """Whether it breaks the grammar of HTTP."""
    method, target, _ = request.start
    values = b"".join(value for _, value in request.fields)
    named = [one.strip(b" \t") for value in request.values(b"Connection")
             for one in value.split(b",")]
    return (not re.fullmatch(TOKEN, method) or not re.fullmatch(rb"/[\x21-\x7e]*", target) or
            re.search(rb"[#\\]", target) or re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", values) or
            not all(re.fullmatch(TOKEN, name) for name, _ in request.fields) or
            not all(re.fullmatch(TOKEN, one) for one in named if one))


def _wrong_hops(request):
    """Only from those who are trusted: it is ours, and malformed."""
    values = request.values(b"Neliroute-Hops")
    return values and (len(values) > 1 or not re.fullmatch(rb"[0-9]{1,9}", values[0]) or
                       int(values[0]) > _HOPS_MOST)


def refusal(source, request, trusted):
    """The status by which the first server that it reaches refuses it; None: it passes it on."""
    if len(request.head) > HEADER_MOST:
        return 431
    if _malformed(request):
        return 400
    if request.start[0] in (b"TRACE", b"CONNECT"):
        return 405
    named = set(options_of(request))
    if named & _FRAMING or set(map(alike, named)) & _OF_OURS or (trusted and _wrong_hops(request)):
        return 400
    return None if key_of(source, request) else 400


def _differences(what, expected, found):
    return [f"{what} {name.decode()}: expected {expected.get(name)}, found {found.get(name)}"
            for name in sorted(set(expected) | set(found)) if expected.get(name) != found.get(name)]


def _passed_request(sent, hops, trusted):
    """Its fields as the application should get them, without ours, grouped."""
    rows = end_to_end(sent)
    rows.pop(b"expect", None)
    rows = {name: row for name, row in rows.items()
            if alike(name) not in _OF_A_PROXY or (trusted and name in _OF_A_PROXY)}
    rows.setdefault(b"via", []).extend([(b"Via", b"1.1 " + NAME)] * hops)
    chain = [value for _, value in rows.get(b"x-forwarded-for", [])] + [CLIENT] * hops
    rows[b"x-forwarded-for"] = [(b"X-Forwarded-For", b", ".join(chain))]
    rows.setdefault(b"x-forwarded-proto", [(b"X-Forwarded-Proto", b"http")])
    if b"forwarded" in rows:
        rows[b"forwarded"] += [(b"Forwarded", b"for=%s;proto=http" % CLIENT)] * hops
    if len(sent.body) > KEPT_BODY:
        rows[b"expect"] = [(b"Expect", b"100-continue")]
        if sent.chunked:
            rows[b"transfer-encoding"] = [(b"Transfer-Encoding", b"chunked")]
    elif sent.body or sent.chunked:
        rows[b"content-length"] = [(b"Content-Length", b"%d" % len(sent.body))]
    return rows


def request_faults(sent, got, hops):
    """How what an application got differs from what a client sent. `hops`: the proxies between.

    The last one is an owner, which trusts its own machine; a gateway trusts nobody.
    """
    trusted = hops == 1
    found = grouped(got.fields)
    said = sent.values(b"Neliroute-Hops") if trusted else []
    ours = {b"neliroute-epoch": rb"[0-9]+:[0-9]+", b"neliroute-timeout-ms": rb"[0-9]+",
            b"neliroute-slot": rb"[0-9]+",
            b"neliroute-hops": b"%d" % (int((said or [0])[0]) + hops)}
    faults = [f"{name.decode()}: {rows}" for name, pattern in ours.items()
              for rows in [found.pop(name, [])]
              if len(rows) != 1 or not re.fullmatch(pattern, rows[0][1])]
    faults += _differences("request's", _passed_request(sent, hops, trusted), found)
    if got.start != sent.start:
        faults.append(f"request: sent {sent.start}, got {got.start}")
    if got.body != sent.body:
        faults.append(f"request's body: sent {sent.body[:200]!r}, got {got.body[:200]!r}")
    return faults


def answer_faults(made, got, hops):
    """How what a client got differs from what an application answered."""
    expected, found = end_to_end(made), grouped(got.fields)
    options = set(options_of(got))
    for name in (b"connection", b"transfer-encoding"):
        found.pop(name, None)
    vias = [value for _, value in found.pop(b"via", [])]
    before = [value for _, value in expected.pop(b"via", [])]
    first = made.start[0].replace(b"HTTP/", b"") + b" "
    faults = _differences("answer's", expected, found)
    if vias != before + [first + NAME] + [b"1.1 " + NAME] * (hops - 1):
        faults.append(f"answer's Via: {vias}")
    if not options <= {b"close", b"keep-alive"}:
        faults.append(f"answer's Connection: {options}")
    if got.start != (b"HTTP/1.1", *made.start[1:]):
        faults.append(f"answer: made {made.start}, got {got.start}")
    if got.body != made.body:
        faults.append(f"answer's body: {len(made.body)} bytes made, {len(got.body)} got")
    return faults


def own_answer_faults(got, status):
    """Of an answer of the proxy's own: a status, and a line that says why."""
    faults = []
    if int(got.start[1]) != status:
        faults.append(f"expected {status}, got {got.start}")
    if got.values(b"Cache-Control") != [b"no-store"]:
        faults.append(f"Cache-Control: {got.values(b'Cache-Control')}")
    if got.body and not re.fullmatch(rb"[\x20-\x7e]+\n", got.body):
        faults.append(f"it says {got.body!r}")
    return faults
