"""Where a request ends, and what becomes of the connection: RFC 9112, by the byte."""

import contextlib
import re
import select
from signal import SIGTERM
import socket
import time

import pytest

from daemon import wait_until
from http_raw import Closed, Connection, message
from resp import Client

KIB, MIB = 1 << 10, 1 << 20
GET = message("GET /healthz")
NEXT = "POST /v1/counters/n/next"
JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"


def head(*lines):
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def get(*headers):
    return head("GET /healthz HTTP/1.1", "Host: 127.0.0.1", *headers, "")


def post(*headers, body=b""):
    return head(f"{NEXT} HTTP/1.1", "Host: 127.0.0.1", *headers, "") + body


def chunked(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def padded(size):
    """A body of that many bytes that is in order."""
    return b'{"count":1' + b" " * (size - 11) + b"}"


def expect_refused(connection, status):
    """One answer, a problem for programs and people, and the end of the connection."""
    answer = connection.response()
    assert answer.status == status, answer
    assert answer.headers["connection"] == "close"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json["status"] == status and answer.json["detail"]
    assert connection.is_closed()
    return answer


BAD = {
    "bare LF": (400, get().replace(b"\r\n", b"\n")),
    "bare LF behind the request line": (400, get().replace(b"\r\n", b"\n", 1)),
    "bare LF behind a header": (400, get("A: b\nC: d")),
    "bare CR": (400, get("A: b\rC: d")),
    "obs-fold": (400, get("A: b", " c")),
    "obs-fold with a tab": (400, get("A: b", "\tc")),
    "a space before the colon": (400, get("A : b")),
    "NUL in a value": (400, get("A: \0")),
    "NUL in a name": (400, get("A\0: b")),
    "NUL in the path": (400, head("GET /\0 HTTP/1.1", "Host: a", "")),
    "NUL first": (400, b"\0"),
    "a control byte": (400, get("A: \x1b[2J")),
    "two lengths": (400, post("Content-Length: 1", "Content-Length: 2", body=b"{}")),
    "the same length twice": (400, post("Content-Length: 2", "Content-Length: 2", body=b"{}")),
    "a list of lengths": (400, post("Content-Length: 2, 2", body=b"{}")),
    "a signed length": (400, post("Content-Length: +2", body=b"{}")),
    "a length in hex": (400, post("Content-Length: 0x2", body=b"{}")),
    "a length past 2^64": (400, post("Content-Length: 18446744073709551618", body=b"{}")),
    "a length with chunked": (400, post("Content-Length: 2", CHUNKED, body=b"0\r\n\r\n")),
    "another coding": (501, post("Transfer-Encoding: gzip", body=b"{}")),
    "two codings": (501, post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n")),
    "chunked in 1.0": (
        400,
        head(f"{NEXT} HTTP/1.0", "Host: a", CHUNKED, "") + b"0\r\n\r\n",
    ),
    "a chunk without its size": (400, post(CHUNKED, body=b"\r\n")),
    "a chunk that goes on": (400, post(CHUNKED, body=b"1\r\nxx")),
    "a chunk's size with bare LF": (400, post(CHUNKED, body=b"1\nx")),
    "no Host": (400, head("GET /healthz HTTP/1.1", "")),
    "two Hosts": (400, get("Host: 127.0.0.1")),
    "an empty Host": (400, head("GET /healthz HTTP/1.1", "Host:", "")),
    "another expectation": (417, get("Expect: 200-ok")),
    "an unknown method": (501, head("BREW / HTTP/1.1", "Host: a", "")),
    "CONNECT": (501, head("CONNECT 127.0.0.1:1 HTTP/1.1", "Host: a", "")),
    "HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/0.9": (400, b"GET /healthz\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00"),
    "the line protocol": (400, b"*1\r\n$4\r\nPING\r\n"),
    "a chunk too many": (413, post(CHUNKED, body=chunked(b" " * 65536) + b"1")),
    "a long target": (414, b"GET /" + b"a" * 16 * KIB),
    "64 KiB of one header": (431, get("A: " + "b" * 64 * KIB)),
    "64 KiB of a header's name": (431, get("A" * 64 * KIB)),
    "64 KiB of headers": (431, get(*["A: b"] * (64 * KIB // 6))),
    "10^6 bytes by length": (413, post(JSON, "Content-Length: 1000000")),
    "10^6 bytes in a chunk": (413, post(JSON, CHUNKED, body=b"f4240\r\n")),
    "10^6 bytes in chunks": (
        413,
        post(JSON, CHUNKED, body=chunked(b" " * 1000) * 1000 + b"0\r\n\r\n"),
    ),
}


@pytest.fixture
def connection(served):
    with Connection(served.http) as connection:
        yield connection


@pytest.mark.parametrize("name", BAD)
def test_refused_and_closed(name, connection):
    status, data = BAD[name]
    connection.send(data)
    expect_refused(connection, status)


@pytest.mark.parametrize("name", BAD)
def test_refused_behind_others(name, connection):
    """What came before is answered first, what comes behind is thrown away."""
    status, data = BAD[name]
    connection.send(GET + message(NEXT) + data + b"\r\n" + GET * 3)
    assert connection.response().status == 200
    assert connection.response().status == 200
    expect_refused(connection, status)


@pytest.mark.parametrize("name", BAD)
def test_refused_with_much_behind(name, connection):
    """The answer arrives, though the client has not read it before it has sent all it had."""
    status, data = BAD[name]
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.send(data + b"x" * MIB)
    expect_refused(connection, status)


def test_body_of_a_million_bytes(connection):
    """Sent by a client that does not wait for an answer."""
    connection.send(message(NEXT, JSON, body=padded(10**6)))
    expect_refused(connection, 413)


@pytest.mark.parametrize("size", [11, 1000, 65535, 65536])
def test_bodies_that_are_allowed(size, connection):
    for body in (
        b"Content-Length: %d\r\n\r\n" % size + padded(size),
        b"Transfer-Encoding: chunked\r\n\r\n" + chunked(padded(size)) + b"0\r\n\r\n",
    ):
        connection.send(head(f"{NEXT} HTTP/1.1", "Host: 127.0.0.1", JSON) + body)
        assert connection.response().status == 200
    assert connection.request(GET).status == 200


def test_continue(connection):
    request = message(NEXT, JSON, "Expect: 100-continue", body=b"{}")
    connection.send(request[:-2])
    answer = connection.response()
    assert answer.status == 100 and answer.headers == {}
    assert connection.request(request[-2:]).status == 200
    # Not to one who did not wait, nor twice.
    assert connection.request(request).status == 200
    assert connection.request(GET).status == 200


def test_no_continue_to_what_is_refused(connection):
    connection.send(message(NEXT, "Expect: 100-continue", "Content-Length: 1000000"))
    expect_refused(connection, 413)


def test_pipelined(served, connection):
    requests = [
        message("POST /v1/counters/pipelined/next"),
        message("POST /v1/counters/pipelined/next", JSON, body=b'{"count":1}'),
        head("POST /v1/counters/pipelined/next HTTP/1.1", "Host: 127.0.0.1", JSON, CHUNKED, "")
        + chunked(b'{"cou')
        + chunked(b'nt":1}')
        + b"0\r\nA: b\r\n\r\n",
        b"\r\n" + message("POST /v1/counters/pipelined/next", "Connection: keep-alive"),
    ]
    connection.send(b"".join(requests) * 50)
    values = [connection.response().json["first"] for _ in range(200)]
    assert values == list(range(1, 201))
    # Of different speed, and with answers that have no body.
    mixed = [
        (message("POST /v1/counters/pipelined/next"), False, 200),
        (message("HEAD /v1/counters/pipelined"), True, 200),
        (message("POST /v1/oids"), False, 200),
        (message("GET /nothing"), False, 404),
        (message("DELETE /v1/counters/pipelined2?force=true"), False, None),
    ]
    connection.send(b"".join(data for data, _, _ in mixed) * 20)
    for _, is_head, status in mixed * 20:
        answer = connection.response(is_head)
        assert status in (None, answer.status), answer


def test_cut_at_every_byte(connection):
    """Each part in a packet of its own; the next request begins in the last packet."""
    request = message("POST /v1/counters/cut/next", JSON, body=b'{"count":1}')
    for end in range(1, len(request)):
        connection.send(request[:end])
        assert not select.select([connection.sock], [], [], 0.001)[0]
        assert connection.request(request[end:]).json["first"] == end


def test_close_is_obeyed(served):
    """What is sent behind a request that ends the connection is not carried out."""
    for ending in (
        message("POST /v1/counters/closed/next", "Connection: close"),
        head("POST /v1/counters/closed/next HTTP/1.0", "Host: 127.0.0.1", ""),
    ):
        with Connection(served.http) as connection:
            connection.send(ending + message("POST /v1/counters/behind/next") * 3)
            (answer,) = connection.rest()
            assert answer.status == 200 and answer.headers["connection"] == "close"
    with Client(served.address) as client:
        assert client.call("MGET", "closed", "behind")[0] == b"2"
        assert client.call("EXISTS", "behind") == 0


def test_keep_alive_of_http_1_0(connection):
    old = head("GET /healthz HTTP/1.0", "Connection: keep-alive", "Host: 127.0.0.1", "")
    for _ in range(3):
        answer = connection.request(old)
        assert answer.status == 200 and answer.headers["connection"].lower() == "keep-alive"


def test_upgrade_is_ignored(connection):
    upgrade = get("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA")
    assert connection.request(upgrade).status == 200
    assert connection.request(GET).status == 200


# --- Half-closed


def half_close(connection, data):
    connection.send(data)
    connection.sock.shutdown(1)
    return connection.rest()


def test_half_closed_after_requests(connection):
    """They are answered, all of them."""
    answers = half_close(connection, message("POST /v1/counters/half/next") * 20)
    assert [answer.json["first"] for answer in answers] == list(range(1, 21))


@pytest.mark.parametrize(
    "part",
    [
        b"POST",
        message("POST /v1/counters/part/next")[:-2],
        message("POST /v1/counters/part/next", JSON, body=b"{}")[:-1],
        head("POST /v1/counters/part/next HTTP/1.1", "Host: localhost", CHUNKED, "") + b"2\r\n{}\r\n0\r\n",
    ],
)
def test_half_closed_in_a_request(part, served, connection):
    """It is not carried out; those before it are answered."""
    answers = half_close(connection, GET + part)
    assert answers[0].status == 200
    assert [answer.status for answer in answers[1:]] in ([], [400])
    with Client(served.address) as client:
        assert client.call("EXISTS", "part") == 0


# --- Time


def drip(connection, data):
    """Byte by byte, until an answer comes; how many bytes went out."""
    for sent in range(len(data)):
        try:
            connection.send(data[sent : sent + 1])
        except OSError:
            return sent
        if select.select([connection.sock], [], [], 0.05)[0]:
            return sent
    raise AssertionError("never cut off")


@pytest.mark.parametrize(
    "start, rest",
    [
        (b"", b"GET /" + b"a" * 3000),
        (get()[:-2] + b"A: ", b"b" * 3000),
        (post("Content-Length: 3000"), b" " * 3000),
        (post(CHUNKED), b"1\r\n \r\n" * 500),
        (post(CHUNKED) + b"0\r\n", b"A: b\r\n" * 500),
    ],
    ids=["target", "header", "body", "chunks", "trailer"],
)
def test_drips_are_cut_off(start, rest, start_daemon):
    """By the deadline of the whole request: each byte comes in good time."""
    address = start_daemon(http="127.0.0.1:0", settings={"http.request": "1s"}).http
    with Connection(address) as connection:
        # The deadline is each request's own: this one's is not that of the next.
        time.sleep(0.6)
        assert connection.request(GET).status == 200
        began = time.monotonic()
        connection.send(start)
        drip(connection, rest)
        assert 0.5 < time.monotonic() - began < 30
        expect_refused(connection, 408)


def test_idle_connections_are_closed(start_daemon):
    """Without an answer, which nobody asked for."""
    address = start_daemon(http="127.0.0.1:0", settings={"http.idle": "1s"}).http
    with Connection(address) as connection:
        assert connection.request(GET).status == 200
        with pytest.raises(Closed):
            connection.response()


def test_never_a_byte(start_daemon):
    settings = {"http.request": "1s", "http.idle": "1s"}
    address = start_daemon(http="127.0.0.1:0", settings=settings).http
    with Connection(address) as connection:
        with pytest.raises(Closed):
            connection.response()


# --- Memory


def sanitized(daemon):
    with open(f"/proc/{daemon.pid}/maps") as maps:
        return re.search(r"lib[at]san", maps.read()) is not None


def test_many_half_requests(start_daemon):
    """A connection costs no more than its own limit, and goes when its time is over."""
    daemon = start_daemon(http="127.0.0.1:0", settings={"http.request": "5s"})
    half = [
        get("A: " + "b" * 8000)[:-2],
        message(NEXT, JSON, body=padded(60000))[:-1],
        post(CHUNKED, body=chunked(b" " * 1000) * 50),
    ]
    before = daemon.rss_bytes()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(Connection(daemon.http)) for _ in range(300)]
        for number, connection in enumerate(connections):
            connection.send(half[number % 3])
        with Connection(daemon.http) as other:
            for _ in range(50):
                assert other.request(message(NEXT)).status == 200
        most = before + (512 if sanitized(daemon) else 64) * MIB
        assert daemon.rss_bytes() < most
        for connection in connections:
            expect_refused(connection, 408)
    with Client(daemon.address) as client:
        wait_until(
            lambda: client.info("clients")["connected_clients"] == "1", "their connections"
        )
        assert int(client.info("clients")["buffer_bytes"]) < MIB


def test_client_that_never_reads(start_daemon):
    """Pipelined requests whose answers nobody takes: reading stops, and in the end it is closed."""
    daemon = start_daemon(http="127.0.0.1:0", settings={"limits.write": "2s"})
    most = daemon.rss_bytes() + (512 if sanitized(daemon) else 64) * MIB
    with Connection(daemon.http, timeout=60) as deaf, Connection(daemon.http) as other:
        with contextlib.suppress(OSError):
            for _ in range(1000):
                deaf.send(message("POST /v1/oids", JSON, body=b'{"count":100000}') * 100)
                assert other.request(GET).status == 200
                assert daemon.rss_bytes() < most
            raise AssertionError("it took all")
        assert other.request(GET).status == 200


def test_who_reads_is_not_idle(start_daemon):
    """A client that takes longer than http.idle to read what it asked for gets all of it."""
    address = start_daemon(http="127.0.0.1:0", settings={"http.idle": "1s"}).http
    host, port = address.rsplit(":", 1)
    ask = message("POST /v1/oids", JSON, body=b'{"count":100000}')
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(60)
        sock.connect((host, int(port)))
        sock.sendall(ask * 3 + get("Connection: close"))
        began, received = time.monotonic(), b""
        # A part of it at a time, until the idle time is long over; then the rest.
        while data := sock.recv(4096 if time.monotonic() - began < 4 else 1 << 20):
            received += data
            if time.monotonic() - began < 4:
                time.sleep(0.004)
    assert received.count(b"HTTP/1.1 200 OK") == 4
    assert received.count(b'"count":100000') == 3


def test_an_empty_line_behind_a_body_begins_nothing(start_daemon):
    """As some old clients send it: no answer comes that nobody asked for."""
    settings = {"http.request": "100ms", "http.idle": "2s"}
    with Connection(start_daemon(http="127.0.0.1:0", settings=settings).http) as connection:
        assert connection.request(message(NEXT, JSON, body=b"{}") + b"\r\n").status == 200
        assert connection.is_closed()  # by http.idle


def test_the_last_answer_of_a_stop_says_so(start_daemon, store):
    settings = {"limits.request": "30s", "listen.threads": 1}
    daemon = start_daemon(http="127.0.0.1:0", store=store.uri, settings=settings)
    with Connection(daemon.http) as connection:
        assert connection.request(message(NEXT)).status == 200
        store.set("hang")
        connection.send(message(NEXT))
        with Client(daemon.address) as client:
            # The loop's turn that answers the first has met the request too; the second comes behind.
            for _ in range(2):
                client.call("PING")
        daemon.signal(SIGTERM)
        daemon.log.wait("finishing what is in flight")
        store.set("ok")
        answer = connection.response()
        assert answer.headers["connection"] == "close"
        assert connection.is_closed()
    daemon.end()
