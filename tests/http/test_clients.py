"""Clients that are slow, many, or not let in: what becomes of them, and of the others meanwhile."""

import re
import socket
import time

import pytest

from http_json import Api
from http_raw import Connection, message
from resp import Client
from resp import connect

GET = message("GET /healthz")
IDS = message("POST /v1/oids", "Content-Type: application/json", body=b'{"count":100000}')
IDS_BYTES = 2_700_000  # of one such answer, at least


def small_socket(address):
    """Its kernel takes little that its client has not read."""
    host, port = address.rsplit(":", 1)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(60)
    sock.connect((host, int(port)))
    return sock


def read_slowly(sock, seconds, bytes_a_second):
    """At that pace for so long; then all that comes up to the end."""
    began, received = time.monotonic(), b""
    while (spent := time.monotonic() - began) < seconds:
        if len(received) < spent * bytes_a_second:
            data = sock.recv(16384)
            assert data, f"closed after {len(received)} bytes"
            received += data
        else:
            time.sleep(0.01)
    while data := sock.recv(1 << 20):
        received += data
    return received


@pytest.mark.parametrize("protocol", ["http", "line"])
def test_who_reads_slowly_gets_all(protocol, start_http):
    """A part of it each second, though the socket is full all the while."""
    daemon, address = start_http(settings={"limits.write": "2s"})
    ask, end = (IDS * 3, message("GET /healthz", "Connection: close"))
    if protocol == "line":
        ask, end, address = b"OID 1000\r\n" * 300, b"QUIT\r\n", daemon.address
    with small_socket(address) as sock:
        sock.sendall(ask + end)
        received = read_slowly(sock, 7, 200_000)
    if protocol == "http":
        assert received.count(b"HTTP/1.1 200 OK") == 4
        assert len(received) > 3 * IDS_BYTES
    else:
        assert received.count(b"*1000\r\n") == 300 and received.endswith(b"+OK\r\n")


def test_who_still_reads_is_not_idle(start_http):
    """Its next request comes when it has read the answer, however long that takes."""
    settings = {"http.idle": "2s", "listen.threads": 1}
    with small_socket(start_http(settings=settings)[1]) as sock:
        sock.sendall(IDS)
        received = b""
        while len(received) < IDS_BYTES:
            received += sock.recv(16384)
            time.sleep(0.03)
        assert received.startswith(b"HTTP/1.1 200 OK")
        sock.sendall(message("GET /healthz", "Connection: close"))
        while data := sock.recv(1 << 20):
            received += data
    assert received.count(b"HTTP/1.1 200 OK") == 2


def test_work_without_bytes_takes_turns(start_http):
    """Answers to HEAD are short, but made as long ones are: others come in between."""
    _, address = start_http(settings={"listen.threads": 1})
    many = 1000
    with Connection(address) as greedy, Connection(address) as other:
        assert other.request(GET).status == 200
        greedy.send(message("HEAD /metrics") * many)
        assert greedy.response(head=True).status == 200
        text = other.request(message("GET /metrics")).body.decode()
        answered = int(re.search(r'idmint_http_requests_total\{status="2xx"\} (\d+)', text)[1])
        assert answered < many
        for _ in range(many - 1):
            assert greedy.response(head=True).status == 200


def test_the_process_is_told_when_descriptors_have_run_out(start_http):
    daemon, address = start_http(store="memory:", wrap=["prlimit", "--nofile=40:40"])
    with Connection(address) as scraper:
        assert scraper.request(GET).status == 200
        socks = [connect(daemon.address) for _ in range(60)]
        daemon.log.wait("can not accept a connection: Too many open files")
        text = scraper.request(message("GET /metrics")).body.decode()
        told = dict(re.findall(r"^idmint_process_(\w+) (\S+)$", text, re.MULTILINE))
        assert float(told["max_fds"]) == 40
        assert float(told["open_fds"]) >= 38
        assert float(told["resident_memory_bytes"]) > 1 << 20
        assert abs(float(told["start_time_seconds"]) - time.time()) < 600
        for sock in socks:
            sock.close()


def test_too_many_connections(start_http):
    daemon, address = start_http(settings={"limits.connections": 2})
    with Connection(address) as first, Connection(address) as second:
        assert first.request(GET).status == second.request(GET).status == 200
        with Connection(address) as third:
            answer = third.response()
            assert answer.status == 503 and answer.headers["retry-after"] == "1"
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["status"] == 503 and "limits.connections" in answer.json["detail"]
            assert third.is_closed()


@pytest.fixture
def guarded(start_http, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.write_text("secret\n")
    passwords.chmod(0o600)
    return start_http(settings={"auth.password_file": str(passwords), "limits.open": "3s"})


def test_who_is_not_let_in_must_go(guarded):
    daemon, address = guarded
    wrong = message("GET /v1/info", "Authorization: Bearer wrong")
    right = message("GET /v1/info", "Authorization: Bearer secret")
    with Connection(address) as silent, Connection(address) as guessing:
        with Connection(address) as good:
            assert guessing.request(wrong).status == 401
            assert good.request(right).status == 200
            assert silent.is_closed() and guessing.is_closed()
            assert good.request(right).status == 200


def test_errors_that_no_command_tells_are_counted(guarded):
    with Api(guarded[1]) as api:
        key = {"authorization": "Bearer secret"}

        def errors(word):
            text = api.get("/metrics", **key).body.decode()
            return int(re.search(rf'idmint_errors_total\{{word="{word}"\}} (\d+)', text)[1])

        before = {word: errors(word) for word in ("ERR", "NOAUTH", "WRONGPASS")}
        assert api.get("/v1/info").status == 401
        assert api.get("/v1/info", authorization="Bearer wrong").status == 401
        assert api.post("/v1/oids", {"count": 0}, **key).status == 400
        assert api.get("/v1/counters/absent", **key).status == 404  # a command's
        after = {word: errors(word) - count for word, count in before.items()}
    assert after == {"ERR": 2, "NOAUTH": 1, "WRONGPASS": 1}


@pytest.mark.parametrize(
    "method, path, header",
    [
        ("PATCH", "/v1/counters/n", "If-Match"),
        ("DELETE", "/v1/counters/n?force=true", "If-Match"),
        ("PUT", "/v1/counters/n", "If-None-Match"),
        ("POST", "/v1/counters/n/next", "If-None-Match"),
    ],
)
def test_conditions_on_changes_are_refused(method, path, header, start_http):
    with Api(start_http()[1]) as api:
        api.ok("POST", "/v1/counters/n/next")
        body = {"reset": 0, "force": True} if method == "PATCH" else {}
        body = None if method == "DELETE" else body
        answer, problem = api.problem(method, path, body, **{header: '"stale"'})
        assert answer.status == 400 and header in problem["detail"]
        assert api.ok("GET", "/v1/counters/n")["value"] == 1
