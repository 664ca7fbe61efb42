"""A small RESP client of the tests' own: the daemon's parser is not what checks the daemon."""

import socket


class Simple(bytes):
    """A simple string, apart from a bulk string of the same bytes."""


class Error(bytes):
    """An error reply; a value, not an exception."""

    @property
    def word(self):
        return self.split(b" ", 1)[0].decode()


def word(reply):
    """The word of a reply that has to be an error."""
    assert isinstance(reply, Error), reply
    return reply.word


class Head:
    """The head of an array or map: kind b"*" or b"%", and how many elements or pairs follow."""

    def __init__(self, kind, count):
        self.kind, self.count = kind, count

    def __repr__(self):
        return f"{self.kind.decode()}{self.count}"


class Null:
    """A null; `wire` tells RESP2's $-1 from RESP3's _."""

    def __init__(self, wire):
        self.wire = wire


class Closed(Exception):
    """The daemon closed the connection."""


def encode(*args):
    """A command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(args)]
    for arg in args:
        data = arg if isinstance(arg, bytes) else str(arg).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def connect(address, timeout=30):
    """A socket to host:port, [v6]:port or unix:PATH."""
    if address.startswith("unix:"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(timeout)
        sock.connect(address[5:])
        return sock
    host, port = address.rsplit(":", 1)
    sock = socket.create_connection((host.strip("[]"), int(port)), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


class Client:
    def __init__(self, address, timeout=30):
        self.sock = connect(address, timeout)
        self.buffer = b""
        self.at = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def _fill(self):
        data = self.sock.recv(262144)
        if not data:
            raise Closed
        self.buffer = self.buffer[self.at :] + data
        self.at = 0

    def _take(self, size):
        while len(self.buffer) - self.at < size:
            self._fill()
        data = self.buffer[self.at : self.at + size]
        self.at += size
        return data

    def _line(self):
        while (end := self.buffer.find(b"\r\n", self.at)) < 0:
            self._fill()
        line = self.buffer[self.at : end]
        self.at = end + 2
        return line

    def token(self):
        """One scalar, or one head of an array or map; its elements are the next tokens."""
        line = self._line()
        kind, text = line[:1], line[1:]
        if kind == b"+":
            return Simple(text)
        if kind == b"-":
            return Error(text)
        if kind == b":":
            return int(text)
        if kind == b"$" and text == b"-1":
            return Null(b"$-1")
        if kind == b"$":
            data = self._take(int(text) + 2)
            assert data.endswith(b"\r\n"), data
            return data[:-2]
        if kind == b"_" and text == b"":
            return Null(b"_")
        if kind in (b"*", b"%"):
            return Head(kind, int(text))
        raise AssertionError(f"no RESP reply: {line!r}")

    def reply(self):
        """A whole reply: bytes, Simple, Error, int, None, list or dict."""
        token = self.token()
        if isinstance(token, Null):
            return None
        if not isinstance(token, Head):
            return token
        if token.kind == b"*":
            return [self.reply() for _ in range(token.count)]
        return {self.reply(): self.reply() for _ in range(token.count)}

    def replies(self, count):
        return [self.reply() for _ in range(count)]

    def call(self, *args):
        self.send(encode(*args))
        return self.reply()

    def expect_end(self):
        """Nothing more comes, then end of file (or, where bytes of ours were not read, a reset)."""
        assert self.buffer[self.at :] == b""
        try:
            rest = self.sock.recv(4096)
        except ConnectionResetError:
            rest = b""
        assert rest == b""

    def info(self, *sections):
        """INFO's fields as text."""
        text = self.call("INFO", *sections).decode()
        lines = [line for line in text.split("\r\n") if ":" in line]
        return dict(line.split(":", 1) for line in lines)
