"""HTTP against webdis in front of redis, by the same client (wrk, 50 kept connections), and what
readers of the event stream cost."""
import contextlib
import json
import os
import re
import socket
import subprocess
import time

from servers import Idmintd, Redis, Server, cpu_seconds, free_port, resident_bytes, talk

CONNECTIONS = 50
READERS = 1000


class Webdis(Server):
    def __init__(self, program, folder, redis):
        self.program, self.folder, self.redis = program, folder, redis

    def __enter__(self):
        self.port = free_port()
        path = os.path.join(self.folder, "webdis.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"redis_host": "127.0.0.1", "redis_port": self.redis.port,
                       "http_host": "127.0.0.1", "http_port": self.port, "threads": 2,
                       "daemonize": False, "verbosity": 0, "logfile": "/dev/null"}, file)
        self.process = subprocess.Popen([self.program, path], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.wait_until_connected()
        return self

    def wait_until_connected(self):
        end = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def rate(server, url, method, seconds, folder):
    """Requests a second as wrk counts them, and what of the servers' work one took."""
    script = os.path.join(folder, f"{method}.lua")
    with open(script, "w", encoding="ascii") as file:
        file.write(f'wrk.method = "{method}"\n')
    pids = [each.process.pid for each in server]
    before = sum(map(cpu_seconds, pids))
    out = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, url],
                         check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    done = int(re.search(r"(\d+) requests in", out).group(1))
    cpu_us = (sum(map(cpu_seconds, pids)) - before) / done * 1e6
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), cpu_us


def event_readers(table, mint):
    """Each reads its own stream; over some seconds, so that every one gets several events."""
    request = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    before = resident_bytes(mint.process.pid)
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(socket.create_connection(("127.0.0.1", mint.http)))
                   for _ in range(READERS)]
        for reader in readers:
            reader.sendall(request)
        for reader in readers:
            assert reader.recv(65536).startswith(b"HTTP/1.1 200")
        start, cpu = time.monotonic(), cpu_seconds(mint.process.pid)
        while time.monotonic() < start + 5:
            for reader in readers:
                assert reader.recv(65536)
        cores = (cpu_seconds(mint.process.pid) - cpu) / (time.monotonic() - start)
        held = (resident_bytes(mint.process.pid) - before) / READERS
    table.bound(f"processor of {READERS:,} readers of events", [cores], "cores", 1, at_most=True)
    table.bound("memory of a reader of events", [held], "bytes", 16384, at_most=True)


def measure(table, args, folder):
    redis = Redis(folder, appendonly=False)
    mint = Idmintd(args.idmintd, folder, http=True)
    with redis, Webdis(args.webdis, folder, redis) as webdis, mint:
        talk(mint.port, "COUNTER CREATE cached CACHE 1000")
        ours = f"http://127.0.0.1:{mint.http}"
        theirs = f"http://127.0.0.1:{webdis.port}/INCR/plain"
        for name, path in (("POST /v1/counters/x/next with CACHE 1000", "/v1/counters/cached/next"),
                           ("POST /v1/oids", "/v1/oids")):
            pairs = []
            for _ in range(args.rounds):
                pairs.append((rate([mint], ours + path, "POST", 2, folder),
                              rate([webdis, redis], theirs, "GET", 2, folder)))
            table.pairs(f"{name} / webdis and redis INCR", pairs, 1.0)
        event_readers(table, mint)
