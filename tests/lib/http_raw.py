"""HTTP by the byte: what is sent is sent as it is, and answers are read as strictly as RFC 9112
has it. No library between: it would mend what these tests are about."""

import json
import re

import resp

STATUS_LINE = re.compile(rb"HTTP/1\.1 ([1-5][0-9][0-9]) [ -~]*")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([ -~\t]*)")
BODILESS = (204, 304)


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body!r}>"


class Closed(Exception):
    """The connection was closed where an answer could have begun."""


class Connection:
    def __init__(self, address, timeout=30):
        self.sock = resp.connect(address, timeout)
        self.got = b""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        """False at the end. A reset is no end: the peer threw away what it had to say."""
        data = self.sock.recv(65536)
        self.got += data
        return bool(data)

    def _line(self):
        while b"\r\n" not in self.got:
            if not self._more():
                if self.got == b"":
                    raise Closed
                raise AssertionError(f"closed in mid line: {self.got!r}")
        line, self.got = self.got.split(b"\r\n", 1)
        return line

    def _take(self, size):
        while len(self.got) < size:
            assert self._more(), f"closed in mid body: {self.got!r}"
        body, self.got = self.got[:size], self.got[size:]
        return body

    def _chunked(self):
        body = b""
        while size := int(self._line(), 16):
            body += self._take(size)
            assert self._line() == b""
        assert self._line() == b""
        return body

    def response(self, head=False):
        """One answer; `head`: to HEAD."""
        line = self._line()
        match = STATUS_LINE.fullmatch(line)
        assert match, f"no status line: {line!r}"
        status, headers = int(match.group(1)), {}
        while line := self._line():
            match = HEADER.fullmatch(line)
            assert match, f"no header: {line!r}"
            name = match.group(1).decode().lower()
            # RFC 9110, 11.6.1: one for each way to show who one is.
            assert name not in headers or name == "www-authenticate", f"{name} twice"
            headers[name] = match.group(2).decode()
        assert not {"content-length", "transfer-encoding"} <= headers.keys()
        if head or status in BODILESS or status < 200:
            return Response(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Response(status, headers, self._chunked())
        return Response(status, headers, self._take(int(headers["content-length"])))

    def request(self, data, head=False):
        self.send(data)
        return self.response(head)

    def is_closed(self):
        """True once the peer has closed and nothing more came."""
        try:
            return self.got == b"" and self.sock.recv(1) == b""
        except ConnectionResetError:
            return True

    def rest(self):
        """Every answer up to the end of the connection."""
        answers = []
        while True:
            try:
                answers.append(self.response())
            except Closed:
                return answers


def message(line, *headers, body=None, host="127.0.0.1"):
    """A request in good form but for what is asked for: text, with the body's length."""
    lines = [f"{line} HTTP/1.1", f"Host: {host}", *headers]
    data = "\r\n".join(lines).encode("latin-1")
    if body is None:
        return data + b"\r\n\r\n"
    return data + b"\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
