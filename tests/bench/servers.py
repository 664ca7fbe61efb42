"""The servers that are measured: started on free loopback ports, ended by pid."""
import contextlib
import os
import re
import socket
import subprocess
import time

START_SECONDS = 20


def talk(port, *lines):
    """Send plain lines over one connection, and return the first line of each reply."""
    with socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS) as sock:
        stream = sock.makefile("rwb")
        replies = []
        for line in lines:
            stream.write(line.encode() + b"\r\n")
            stream.flush()
            replies.append(stream.readline().decode().rstrip())
        return replies


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


def cpu_seconds(pid):
    """What it has used so far, of all its threads."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Server:
    process = None
    port = 0

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(START_SECONDS)

    def wait_until_it_answers(self):
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                if talk(self.port, "PING") == ["+PONG"]:
                    return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise


class Redis(Server):
    def __init__(self, folder, appendonly):
        self.folder = os.path.join(folder, f"redis-{'aof' if appendonly else 'plain'}")
        self.options = ["--appendonly", "yes", "--appendfsync", "always"] if appendonly else []

    def __enter__(self):
        os.makedirs(self.folder)
        self.port = free_port()
        # Debian ships the server's program in redis-tools; it looks at the name it is called by.
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
             "--dir", self.folder, *self.options],
            executable="/usr/bin/redis-check-rdb", stdout=subprocess.DEVNULL)
        self.wait_until_it_answers()
        return self


class Idmintd(Server):
    def __init__(self, program, folder, *options, store=None, http=False):
        self.program, self.folder, self.options, self.store = program, folder, options, store
        self.http = free_port() if http else 0

    def __enter__(self):
        self.port = free_port()
        folder = os.path.join(self.folder, f"idmint-{self.port}")
        os.makedirs(folder)
        self.process = subprocess.Popen(
            [self.program, "--listen", f"127.0.0.1:{self.port}", "--http",
             f"127.0.0.1:{self.http}" if self.http else "", "--store",
             self.store or f"sqlite:{folder}/idmint.db", *self.options],
            stderr=subprocess.DEVNULL)
        self.wait_until_it_answers()
        return self

    @contextlib.contextmanager
    def idle_connections(self, count):
        with contextlib.ExitStack() as stack:
            socks = [stack.enter_context(socket.create_connection(("127.0.0.1", self.port)))
                     for _ in range(count)]
            for sock in socks:  # each has been served, and is idle again
                sock.sendall(b"PING\r\n")
                assert sock.recv(64) == b"+PONG\r\n"
            yield socks

    def make_counters(self, count, at_once=1000):
        with socket.create_connection(("127.0.0.1", self.port)) as sock:
            stream = sock.makefile("rb")
            for start in range(0, count, at_once):
                sock.sendall(b"".join(b"NEXT counter:%07d\r\n" % i
                                      for i in range(start, start + at_once)))
                for _ in range(at_once):
                    assert stream.readline() == b":1\r\n"
