"""Requests whose key servers may read differently: by hand, with every byte in a value, and put
together at random."""
import random

SOURCES = {"header": "header:X-Key", "path": "path:2", "query": "query:key",
           "cookie": "cookie:sid", "host": "host"}
_ALL = [bytes([code]) for code in range(256) if code not in b"\r\n"]
_ENCODED = [b"%%%02X" % code for code in range(256)]
_VALUES = (b"anna", b"Anna-Bell", b"user:1000", b"7")

_COOKIES = (
    b'sid="q"', b'sid="', b'sid="a\\"b"', b'sid="a\\073b"', b'sid="a;b"', b'sid="a b"', b'sid=a"b',
    b"sid=a%20b", b"sid=a%3Bb", b"sid=a\\073b", b"sid=a,b", b"sid=7 8", b"sid=7, sid=8",
    b'a="; sid=8; b="; sid=7', b'a="; sid=7; b="', b"a=1 sid=8; sid=7", b"a=b, sid=8; sid=7",
    b"sid=7; sid=8", b"sid =7", b" sid=7", b"sid= 7", b"sid=7 ", b"x; sid=7", b"sid=7;", b"sid=7;;",
    b"=x; sid=7", b"sid", b"sid=", b"SID=8; sid=7", b"s%69d=8; sid=7", b"sid=7; path=/x",
    b"$Version=1; sid=7; $Path=/x", b"sid\xc2\xa0=8; sid=7", b"\xc2\xa0sid=8; sid=7",
    b"\xa0sid=8; sid=7", b"sid\x0b=8; sid=7", b"expires=Wed, 01 Jan 2020 00:00:00 GMT; sid=7",
    b"a={\"k\":\"v\"}; sid=7", b"a=[1,2]; sid=7", b"a=caf\xe9; sid=7", b"role=sid; sid=7",
    b"xsid=8; sid=7", b"sidx=8; sid=7", b"a=sid=8; sid=7", b"sid=x=y", b"sid; sid=7", b"sid=7; sid",
    b"sid\xc2\xa0; sid=7", b"a=x\"; sid=7; b=\"y", b"a=sid; sid=7",
    b"sid=7; b=2", b"a=1;sid=7")
_QUERIES = (
    b"key=a;b", b"x=1;key=b&key=a", b"key=a&x=1;key=b", b"key=a&key=b", b"k%65y=a",
    b"k%65y=b&key=a", b"key=%zz", b"key=a%", b"key=a+b", b"key=a%2Bb", b"key=%C3%BC", b"key=%C0%80",
    b"key=%ED%A0%80", b"key=%F4%90%80%80", b"key=a%26b", b"key=a%3Db", b"key=a=b", b"=b&key=a",
    b"key[]=b&key=a", b"key=%EF%BB%BFa", b"key=%E2%80%A8", b"&key=a", b"key=a&", b"?key=a", b"key",
    b"Key=b&key=a", b"key=a%252B", b"key=%E2%82%AC+%F0%9F%98%80", b"key=%20a%20")
_PATHS = (
    b"/k/u1;x=1", b"/k;x/u1", b"/;x/k/u1", b"/k/u1/..;/u2", b"/k/%2e%2e/x", b"/k//u1", b"//k/u1",
    b"/k/u%2Fv", b"/k/a%5Cb", b"/k/a%252Fb", b"/k%5Cx/u1", b"/k/a+b", b"/k/%C3%BC", b"/k/%C0%AF",
    b"/k/%ED%A0%80", b"/k/a:b@c", b"/k/~a", b"/k/%7Ea", b"/k/u1/", b"/k/u1/more;x=1", b"/./k/u1",
    b"/k/./u1", b"/k/'a'(b)!*", b"http://other/k/u1", b"/k/u1/%2e", b"/k/%20a%20", b"/k/...",
    b"/k/a%E2%82%AC", b"/%6B/u1")
_HEADERS = (
    b"X-Key:  anna bell\t", b"X-Key: a\tb", b'X-Key: "a"', b"X-Key: a,b", b"X-Key: a;b=c",
    b"X-Key: a\r\nX-Key: b", b"X-Key: a\r\nX_Key: b", b"X-Key: a\r\n b", b"X-Key: a%20b",
    b"x-kEY: a", b"X-Key: a\r\nX-Keys: b", b"X-Key: a  b")
_HOSTS = (
    b"Host: Shop.Example:8080", b"Host: a.b.", b"Host: [::1]:80", b"Host: [::1]", b"Host: a_b",
    b"Host: a%41", b"Host: 127.0.0.1", b"Host: a:0", b"Host: a:65536", b"Host: u@a", b"Host: :80",
    b"Host: a:", b"Host: shop\r\nX-Forwarded-Host: other", b"Host: shop\r\nX-Forwarded-Host: SHOP",
    b"Host: shop\r\nX-Forwarded-Host: shop:81", b"Host: shop\r\nX-Forwarded-Host: shop, other",
    b"Host: shop\r\nX-Forwarded-Host: other,shop", b"Host: shop\r\nX_Forwarded_Host: other",
    b"Host: shop\r\nX-Forwarded-Host: shop\r\nX-Forwarded-Host: other",
    b"Host: shop\r\nForwarded: for=1.2.3.4;host=other", b"Host: shop\r\nForwarded: host=\"shop\"",
    b"Host: shop\r\nForwarded: for=a;host=shop, host=other", b"Host: [v1.x]")
# {kind: (pieces, what may come before them, what may come behind them)}
_PIECES = {
    "cookie": ((b"sid", b"=", b";", b" ", b'"', b"7", b"8", b",", b"a", b"\\", b"%", b"\xc2\xa0",
                b"%69", b"$", b"\t", b"{", b"}", b"[", b"]", b"; ", b"; sid=7", b"/", b"@",
                b"expires=Wed, 01 Jan 2020 00:00:00 GMT"),
               (b"",), (b"", b"; sid=7", b";sid=7; b=1")),
    "query": ((b"key", b"=", b"&", b";", b"[", b"]", b"%6B", b"%", b"a", b"b", b"+", b"&key=7",
               b"%20", b"%00", b"?", b"/"), (b"/?",), (b"", b"&key=7")),
    "path": ((b"/", b"k", b"/k/", b"u1", b".", b"..", b"%2e", b"%2F", b";", b"x", b"%5C", b"+",
              b"%25", b"%20", b"//", b":", b"@", b"/k/u1"), (b"/", b"/k/"), (b"",))}
_RANDOM = 300  # of each kind


def _at_random(kind):
    pieces, before, behind = _PIECES[kind]
    dice = random.Random(kind)
    for _ in range(_RANDOM):
        middle = b"".join(dice.choices(pieces, k=dice.randint(1, 7)))
        yield dice.choice(before) + middle + dice.choice(behind)


def _request(target=b"/", field=b"Host: h", more=b""):
    lines = b"Host: h\r\n" + field if not field.startswith(b"Host:") else field
    return b"GET %s HTTP/1.1\r\n%s%s\r\n\r\n" % (target, lines, more)


def requests(kind):
    """Of one kind of key; most of the first ones are plain."""
    if kind == "header":
        values = [b"X-Key: " + value for value in (*_VALUES, *(b"a%sb" % one for one in _ALL))]
        return [_request(field=field) for field in (*values, *_HEADERS)]
    if kind == "cookie":
        values = [*(b"sid=" + value for value in (*_VALUES, *(b"a%sb" % one for one in _ALL))),
                  *_at_random(kind)]
        two = b"Cookie: %s\r\nCookie: %s"
        return [*(_request(field=b"Cookie: " + one) for one in (*values, *_COOKIES)),
                *(_request(field=two % both) for both in
                  ((b"a=1", b"sid=7"), (b"sid=7", b"a=1"), (b"sid=7", b"sid=8")))]
    if kind == "query":
        values = [b"key=" + value for value in
                  (*_VALUES, *(b"a%sb" % one for one in (*_ALL, *_ENCODED)))]
        return [_request(one) for one in
                (*(b"/?" + value for value in (*values, *_QUERIES)), *_at_random(kind))]
    if kind == "path":
        values = [b"/k/" + value for value in
                  (*_VALUES, *(b"a%sb" % one for one in (*_ALL, *_ENCODED)))]
        return [_request(one) for one in (*values, *_PATHS, *_at_random(kind))]
    values = [b"Host: a%sb" % one for one in _ALL]
    return [*(_request(field=field) for field in (*values, *_HOSTS)),
            _request(b"http://Other.Test:81/x", b"Host: shop")]
