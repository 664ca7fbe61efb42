"""Request smuggling: bytes that two readers may cut into requests differently. Sent to the daemon
directly and through nginx, which keeps its connections to the daemon for the next client: the
answers must be as many as a strict reader gives, nobody may get another's answer, and the request
that is hidden in another's bytes must never be carried out. Through nginx its path is forbidden."""

import itertools

import pytest

from http_raw import Connection, message
from nginx import Nginx
from resp import Client

SMUGGLED = message("POST /v1/counters/smuggled/next")
HEX = b"%x" % len(SMUGGLED)
CHUNK = HEX + b"\r\n" + SMUGGLED + b"\r\n0\r\n\r\n"
NEXT = "POST /v1/counters/first/next"
CHUNKED = "Transfer-Encoding: chunked"


def raw(*headers, body=b"", line=NEXT + " HTTP/1.1", host="Host: 127.0.0.1", end="\r\n"):
    lines = [line, host, *headers, "", ""]
    return end.join(lines).encode("latin-1") + body


def with_length(length, *headers, body=SMUGGLED):
    return raw(f"Content-Length: {length}", *headers, body=body)


# Refused with this status, once, and the connection closed.
REFUSED = {
    # length beside chunked
    "cl.te": (400, with_length(5 + len(SMUGGLED), CHUNKED, body=b"0\r\n\r\n" + SMUGGLED)),
    "te.cl": (400, with_length(len(HEX) + 2, CHUNKED, body=CHUNK)),
    "te.cl, length first": (400, raw(CHUNKED, f"Content-Length: {len(HEX) + 2}", body=CHUNK)),
    "cl.0": (400, with_length(0, CHUNKED, body=CHUNK)),
    # Transfer-Encoding that one of two does not know
    **{
        f"te.te {text!r}": (status, raw(text, body=b"0\r\n\r\n" + SMUGGLED))
        for status, text in [
            (501, "Transfer-Encoding: xchunked"),
            (501, "Transfer-Encoding: chunked, identity"),
            (501, "Transfer-Encoding: identity, chunked"),
            (501, "Transfer-Encoding: chunked, chunked"),
            (501, "Transfer-Encoding: chunked;q=1"),
            (501, "Transfer-Encoding: 'chunked'"),
            (501, 'Transfer-Encoding: "chunked"'),
            (501, "Transfer-Encoding: chunked\xa0"),
            (501, "Transfer-Encoding:"),
            (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
            (400, "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
            (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            (400, "Transfer-Encoding : chunked"),
            (400, "Transfer-Encoding\t: chunked"),
            (400, " Transfer-Encoding: chunked"),
            (400, "\tTransfer-Encoding: chunked"),
            (400, "Transfer-Encoding:\r\n chunked"),
            (400, "Transfer-Encoding: \x0bchunked"),
            (400, "Transfer-Encoding: chunked\x0c"),
            (400, "Transfer-Encoding: chunked\x00"),
            (400, "Transfer\x00-Encoding: chunked"),
            (400, "Transfer-Encoding\r: chunked"),
            (400, "X: y\nTransfer-Encoding: chunked"),
            (400, "X: y\rTransfer-Encoding: chunked"),
            (400, "X: y\r\n\rTransfer-Encoding: chunked"),
            (400, "X: y\r\n\nTransfer-Encoding: chunked"),
        ]
    },
    "te in 1.0": (400, raw(CHUNKED, line=NEXT + " HTTP/1.0", body=CHUNK)),
    # lengths
    **{
        f"cl {text!r}": (400, raw(f"Content-Length: {text}", body=SMUGGLED))
        for text in [
            f"0\r\nContent-Length: {len(SMUGGLED)}",
            f"{len(SMUGGLED)}\r\nContent-Length: 0",
            f"{len(SMUGGLED)}\r\nContent-Length: {len(SMUGGLED)}",
            f"0\r\n Content-Length: {len(SMUGGLED)}",
            f"0, {len(SMUGGLED)}",
            f"{len(SMUGGLED)}, {len(SMUGGLED)}",
            f"0 {len(SMUGGLED)}",
            f"+{len(SMUGGLED)}",
            f"-{len(SMUGGLED)}",
            f"0x{len(SMUGGLED):x}",
            f"{len(SMUGGLED)}.0",
            f"{len(SMUGGLED)}e0",
            f"{len(SMUGGLED)};",
            f'"{len(SMUGGLED)}"',
            f"\x0b{len(SMUGGLED)}",
            str(2**64 + len(SMUGGLED)),
            str(2**64),
            "",
        ]
    },
    "cl with a space": (400, raw(f"Content-Length : {len(SMUGGLED)}", body=SMUGGLED)),
    "cl folded": (400, raw("X: y", f" Content-Length: {len(SMUGGLED)}", body=SMUGGLED)),
    # chunks
    **{
        f"chunk {text!r}": (400, raw(CHUNKED, body=text))
        for text in [
            HEX + b"\n" + SMUGGLED + b"\r\n0\r\n\r\n",
            HEX + b"\r" + SMUGGLED + b"\r\n0\r\n\r\n",
            HEX + b" \r\n" + SMUGGLED + b"\r\n0\r\n\r\n",
            b" " + CHUNK,
            b"0x" + CHUNK,
            b"+" + CHUNK,
            b"-" + CHUNK,
            b";" + CHUNK,
            b"\r\n" + CHUNK,
            b"2\r\n{}" + CHUNK,
            b"2\r\n{}\n" + CHUNK,
            b"2\r\n{}\r" + CHUNK,
            b"2\r\n{}xx" + CHUNK,
            b"1\r\n{}\r\n" + CHUNK,
            b"2;\n\r\n{}\r\n" + CHUNK,
            b"2;a=\r{}\r\n" + CHUNK,
            b"2;\x00\r\n{}\r\n" + CHUNK,
            b"0\n\n" + SMUGGLED,
            b"0\r\n\n" + SMUGGLED,
            b"0\r\n" + SMUGGLED,
            b"0\r\n\r" + SMUGGLED,
            b"0\r\n X: y\r\n\r\n" + SMUGGLED,
            b"0\r\nX : y\r\n\r\n" + SMUGGLED,
            b"0\r\nX: y\n\r\n" + SMUGGLED,
        ]
    },
    "chunk of 2^64 + 1": (413, raw(CHUNKED, body=b"10000000000000001\r\n" + CHUNK)),
    "chunk of 2^64 - 1": (413, raw(CHUNKED, body=b"ffffffffffffffff\r\n" + CHUNK)),
    "chunk of 2^31": (413, raw(CHUNKED, body=b"80000000\r\n" + CHUNK)),
    # lines
    "bare LF": (400, raw(end="\n", body=SMUGGLED)),
    "bare LF, one": (400, raw("X: y\nX: z", body=SMUGGLED)),
    "bare CR": (400, raw(end="\r", body=SMUGGLED)),
    "an empty line ends with LF": (400, raw(body=b"")[:-2] + b"\n" + SMUGGLED),
    "two empty lines in front": (400, b"\r\n\r\n" + raw(body=SMUGGLED)),
    "a space in front": (400, b" " + raw(body=SMUGGLED)),
    "no name": (400, raw(": y", body=SMUGGLED)),
    "no colon": (400, raw("Content-Length", body=SMUGGLED)),
    "NUL": (400, raw("X: \x00", body=SMUGGLED)),
    # whom it is for
    "two hosts": (400, raw("Host: other.example", body=SMUGGLED)),
    "the same host twice": (400, raw("Host: 127.0.0.1", body=SMUGGLED)),
    "no host": (400, raw(host="X: y", body=SMUGGLED)),
    "two hosts in one": (400, raw(host="Host: 127.0.0.1, other.example", body=SMUGGLED)),
    "a path for a host": (400, raw(host="Host: 127.0.0.1/smuggled", body=SMUGGLED)),
    "a space in the host": (400, raw(host="Host: 127.0.0.1 other", body=SMUGGLED)),
    "target of another host": (
        400,
        raw(line="POST http://other.example/v1/counters/first/next HTTP/1.1", body=SMUGGLED),
    ),
    # request lines
    "two spaces": (400, raw(line="POST  /v1/counters/first/next HTTP/1.1", body=SMUGGLED)),
    "a space in the target": (400, raw(line="POST /v1/counters/a b/next HTTP/1.1", body=SMUGGLED)),
    "a tab for a space": (400, raw(line="POST\t/v1/counters/first/next HTTP/1.1", body=SMUGGLED)),
    "a space behind": (400, raw(line=NEXT + " HTTP/1.1 ", body=SMUGGLED)),
    "two versions": (400, raw(line=NEXT + " HTTP/1.1 HTTP/1.1", body=SMUGGLED)),
    "HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED),
    "HTTP/3": (505, raw(line=NEXT + " HTTP/3.0", body=SMUGGLED)),
    "CONNECT": (501, raw(line="CONNECT 127.0.0.1:80 HTTP/1.1", body=SMUGGLED)),
    "TRACE": (501, raw(line="TRACE / HTTP/1.1", body=SMUGGLED)),
}

# One request whatever it looks like: the hidden one is its body, or part of its path.
WHOLE = {
    "in the body": with_length(len(SMUGGLED)),
    "in the body, zeros": with_length(f"000000000000000000000{len(SMUGGLED)}"),
    "in a chunk": raw(CHUNKED, body=CHUNK),
    "in chunks": raw(
        CHUNKED, body=b"1\r\nP\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(SMUGGLED) - 1, SMUGGLED[1:])
    ),
    "a tab before chunked": raw("Transfer-Encoding:\tchunked", body=CHUNK),
    "an underscore": with_length(len(SMUGGLED), "Transfer_Encoding: chunked"),
    "behind an extension": raw(CHUNKED, body=HEX + b";a=b" + CHUNK[len(HEX) :]),
    "trailers": raw(
        CHUNKED, body=CHUNK[:-2] + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "in the body of a GET": raw(
        f"Content-Length: {len(SMUGGLED)}", line="GET /v1/info HTTP/1.1", body=SMUGGLED
    ),
    "in the body of a DELETE": raw(
        f"Content-Length: {len(SMUGGLED)}", line="DELETE /v1/none HTTP/1.1", body=SMUGGLED
    ),
    "Connection names the length": with_length(len(SMUGGLED), "Connection: Content-Length"),
    "Connection names the encoding": raw(CHUNKED, "Connection: Transfer-Encoding", body=CHUNK),
    "h2c": with_length(
        len(SMUGGLED), "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA"
    ),
    "websocket": with_length(len(SMUGGLED), "Connection: Upgrade", "Upgrade: websocket"),
    "another method in a header": with_length(len(SMUGGLED), "X-HTTP-Method-Override: GET"),
    "another path in a header": with_length(
        len(SMUGGLED), "X-Original-URL: /v1/counters/injected/next"
    ),
    **{
        f"encoded in the target: {target}": raw(line=f"{target} HTTP/1.1")
        for target in [
            "POST /v1/counters/x%20HTTP/1.1%0d%0aHost:%20a%0d%0a%0d%0a"
            "POST%20/v1/counters/injected/next",
            "POST /v1/counters/a%0d%0aX-Injected:%20y/next",
            "PUT /v1/counters/a%0d%0aX-Injected:%20y",
            "PUT /v1/counters/a%0aX-Injected:%20y",
            "GET /v1/counters?prefix=a%0d%0aX-Injected:%20y",
            "GET /v1/oids/%0d%0aX-Injected:%20y",
            "GET /%0d%0aX-Injected:%20y",
            "GET /%00",
            "GET /v1/counters/..%2f..%2fv1%2fcounters%2finjected%2fnext",
        ]
    },
}

WAYS = ["directly", "through nginx", "through nginx unbuffered"]
numbers = itertools.count(1)


class Target:
    def __init__(self, daemon, origin, address):
        self.daemon, self.address = daemon, address
        self.direct = origin == address

    def issued(self):
        """What the requests in front of the hidden ones have taken."""
        with Client(self.daemon.address) as client:
            return client.call("GET", "first")

    def clients_are_not_confused(self):
        """Other clients, on the connections that nginx has kept, get answers to what they ask."""
        for _ in range(3):
            with Connection(self.address) as other:
                sentinel = Sentinel()
                assert sentinel.is_answered_by(other.request(sentinel.request))

    def nothing_was_smuggled(self):
        with Client(self.daemon.address) as client:
            assert client.call("EXISTS", "smuggled", "injected") == 0


class Sentinel:
    """A request whose answer can be told from all others."""

    def __init__(self):
        self.name = f"sentinel{next(numbers)}"
        self.request = message(f"POST /v1/counters/{self.name}/next", "Connection: close")

    def is_answered_by(self, answer):
        if answer.status != 200 or answer.json.get("name") != self.name:
            return False
        assert answer.json["first"] == 1, answer
        return True


@pytest.fixture(scope="module", params=WAYS)
def target(request, served, tmp_path_factory):
    origin = served.http
    if request.param == "directly":
        yield Target(served, origin, origin)
        return
    proxy = Nginx(tmp_path_factory.mktemp("nginx"), origin, "unbuffered" not in request.param)
    yield Target(served, origin, proxy.address)
    proxy.stop()


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, target):
    status, data = REFUSED[name]
    issued, sentinel = target.issued(), Sentinel()
    with Connection(target.address) as connection:
        connection.send(data + sentinel.request)
        answers = connection.rest()
    if target.direct:
        assert [answer.status for answer in answers] == [status]
        assert answers[0].headers["connection"] == "close"
        assert target.issued() == issued
    else:
        # What nginx lets pass in its own reading, what it hid then being forbidden.
        others = [answer for answer in answers[1:] if not sentinel.is_answered_by(answer)]
        assert answers and all(answer.status in (400, 403) for answer in others), answers
    target.clients_are_not_confused()
    target.nothing_was_smuggled()


@pytest.mark.parametrize("name", WHOLE)
def test_one_request(name, target):
    sentinel = Sentinel()
    with Connection(target.address) as connection:
        connection.send(WHOLE[name] + sentinel.request)
        answer, *more = connection.rest()
    assert answer.status in (200, 400, 404, 405, 415, 501)
    assert "x-injected" not in answer.headers
    if target.direct or answer.headers.get("content-type") != "text/html":
        assert len(more) == 1 and sentinel.is_answered_by(more[0])
    else:
        assert not more  # nginx refused it
    target.clients_are_not_confused()
    target.nothing_was_smuggled()


def test_what_is_forbidden_is_allowed_directly(served):
    """Else the others would show nothing."""
    with Connection(served.http) as connection:
        answer = connection.request(SMUGGLED.replace(b"smuggled", b"open"))
        assert answer.status == 200 and answer.json["first"] == 1
