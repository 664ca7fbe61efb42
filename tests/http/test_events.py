"""Live rates as server-sent events, as they come over the wire: their numbers, what a reader that comes
back gets, and what becomes of one that does not read. (What stands in them: test_rates.c.)"""

import json
import socket

from daemon import wait_until
from http_json import Api
from metrics import Scrape
import resp


class Reader:
    """One event stream."""

    def __init__(self, address, *headers, receive_bytes=None):
        self.sock = socket.socket()
        if receive_bytes:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.sock.settimeout(60)
        host, port = address.rsplit(":", 1)
        self.sock.connect((host, int(port)))
        head = ["GET /v1/events HTTP/1.1", "Host: localhost", *headers, "", ""]
        self.sock.sendall("\r\n".join(head).encode())
        self.stream = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.sock.close()

    def head(self):
        status = self.stream.readline()
        lines = iter(self.stream.readline, b"\r\n")
        return status, dict(line.decode().rstrip().lower().split(": ", 1) for line in lines)

    def event(self):
        """The next one: its number and its data. Heartbeats are read over."""
        number = data = None
        while line := self.stream.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                number = int(value)
            elif name == "data":
                data = json.loads(value)
            elif name == "" and data is not None:
                return number, data
        raise AssertionError("the stream ended")


def test_events_come_one_after_the_other(start_http):
    daemon, address = start_http()
    with Reader(address) as reader:
        status, headers = reader.head()
        assert status.startswith(b"HTTP/1.1 200 ")
        assert headers["content-type"] == "text/event-stream"
        assert headers["connection"] == "close" and "content-length" not in headers
        first, _ = reader.event()
        with resp.Client(daemon.address) as client:
            client.call("OID", "1000")
        numbers, issued = [first], 0
        while issued == 0:
            number, data = reader.event()
            numbers.append(number)
            issued = data["oids"]
        assert numbers == list(range(first, first + len(numbers)))
        assert data["store"] is True and data["leads"] is True and data["connections"] >= 1


def test_who_comes_back_gets_what_was_missed(start_http):
    _, address = start_http()
    with Reader(address) as reader:
        reader.head()
        first, _, last = [reader.event()[0] for _ in range(3)]
    with Reader(address, f"Last-Event-ID: {last - 2}") as again:
        again.head()
        assert [again.event()[0] for _ in range(3)] == [last - 1, last, last + 1]
    # None of this start's, or none at all: all that is kept.
    for number in [str(first - 1000), str(last + 1000), "-5", "x", "99999999999999999999"]:
        with Reader(address, f"Last-Event-ID: {number}") as other:
            other.head()
            assert other.event()[0] == first


def test_who_comes_back_after_a_restart_gets_all_of_the_new_start(start_http):
    daemon, address = start_http()
    with Reader(address) as reader:
        reader.head()
        before, data = reader.event()
        assert data["time"] - 5 <= before <= data["time"]  # a unix second
    daemon.stop()
    daemon.restart()
    with Reader(daemon.http) as reader:
        reader.head()
        numbers = [reader.event()[0] for _ in range(3)]
    assert before < numbers[0]
    with Reader(daemon.http, f"Last-Event-ID: {before}") as again:
        again.head()
        assert [again.event()[0] for _ in range(3)] == numbers


def test_who_does_not_read_is_dropped(start_http):
    """And nobody else: what the kernel holds for such a reader is looked at, too."""
    daemon, address = start_http(settings={"limits.write": "1s"})
    with Reader(address) as good, Reader(address, receive_bytes=1):
        good.head()
        daemon.log.wait(r"reads? .*\(limits\.write\); closed")
        number, _ = good.event()
        later = number
        while later < number + 5:
            later, _ = good.event()


def test_readers_that_are_gone_cost_nothing(start_http):
    daemon, address = start_http()
    readers = [Reader(address) for _ in range(50)]
    for reader in readers:
        reader.head()
    assert Scrape(daemon)("connections") >= 50
    for reader in readers:
        with reader:
            pass
    wait_until(lambda: Scrape(daemon)("connections") == 1, "the readers' connections to be closed")


def test_a_stop_ends_the_streams(start_http):
    daemon, address = start_http()
    with Reader(address) as reader:
        reader.head()
        daemon.stop()
        while reader.stream.readline():
            pass


def test_head_of_an_endless_answer_has_no_length(start_http):
    with Api(start_http()[1]) as api:
        answer = api.send("HEAD", "/v1/events")
        assert answer.status == 200 and answer.headers["Content-Length"] is None
        assert answer.headers["Content-Type"] == "text/event-stream"
