#!/usr/bin/env python3
"""Speed and memory of idmintd against Debian's redis-server.

One run, one client (redis-benchmark), idmintd and its peer in turn, several rounds; each line is a
ratio: the median over the rounds, and their spread. Absolute numbers depend on the machine; ratios
of one run do so less. Everything listens on loopback and is ended at the end.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

import http_bench
import mongo
from servers import Idmintd, Redis, cpu_seconds, resident_bytes, talk

PIPELINES = (1, 16, 128)
CONNECTIONS = 50


def rate(server, pipeline, command, scale, spread=0):
    """Requests a second as redis-benchmark counts them, and the server's own work for one: the
    processor's microseconds. Where the client is what is busy, only the second tells servers apart."""
    requests = int((60_000 if pipeline == 1 else 600_000) * scale)
    argv = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(server.port), "--csv",
            "-c", str(CONNECTIONS), "-P", str(pipeline), "-n", str(requests)]
    if spread:
        argv += ["-r", str(spread)]
    before = cpu_seconds(server.process.pid)
    out = subprocess.run(argv + command.split(), check=True, capture_output=True, text=True).stdout
    cpu_us = (cpu_seconds(server.process.pid) - before) / requests * 1e6
    return float(out.strip().splitlines()[-1].split(",")[1].strip('"')), cpu_us


class Table:
    def __init__(self):
        self.missed = 0
        print(f"{'measure':52} {'idmintd':>12} {'peer':>12} {'ratio':>7} {'spread':>13} {'reach':>6}"
              f" {'cpu us':>7} {'peer':>7}")

    def row(self, name, ours, peers, reach, work=None):
        """work: the microseconds of processor a request, ours and the peer's, where known."""
        ratios = [a / b for a, b in zip(ours, peers)]
        ratio = statistics.median(ratios)
        ok = ratio >= reach
        self.missed += not ok
        print(f"{name:52} {statistics.median(ours):12,.0f} {statistics.median(peers):12,.0f} "
              f"{ratio:7.2f} {min(ratios):5.2f} ..{max(ratios):5.2f} {reach:6.2f}"
              f"{' {:7.2f} {:7.2f}'.format(*work) if work else ''}"
              f"{'' if ok else '  not reached'}", flush=True)

    def pairs(self, name, pairs, reach):
        """Of each round ours and the peer's: rate and work."""
        rates, work = zip(*[zip(*pair) for pair in pairs])
        self.row(name, *zip(*rates), reach, [statistics.median(us) for us in zip(*work)])

    def bound(self, name, values, unit, reach, at_most):
        value = statistics.median(values)
        ok = value <= reach if at_most else value >= reach
        self.missed += not ok
        print(f"{name:52} {value:12,.1f} {unit:>20} {min(values):12,.1f} ..{max(values):,.1f}"
              f" {'<=' if at_most else '>='} {reach:,}"
              f"{'' if ok else '  not reached'}", flush=True)


def against(table, name, ours, peer, reach, rounds):
    ours(), peer()  # warm up
    table.pairs(name, [(ours(), peer()) for _ in range(rounds)], reach)


def speed(table, args, folder):
    plain = Redis(folder, appendonly=False)
    durable = Redis(folder, appendonly=True)
    mint = Idmintd(args.idmintd, folder)
    with plain, durable, mint:
        talk(mint.port, "COUNTER CREATE cached CACHE 1000")
        cached = dict(zip(PIPELINES, (1.0, 1.3, 1.5)))
        for p in PIPELINES:
            against(table, f"INCR with CACHE 1000, pipeline {p} / redis INCR",
                    lambda: rate(mint, p, "INCR cached", args.scale),
                    lambda: rate(plain, p, "INCR plain", args.scale), cached[p], args.rounds)
        for p in PIPELINES:
            against(table, f"INCR strict, pipeline {p} / redis appendfsync always",
                    lambda: rate(mint, p, "INCR strict", args.scale),
                    lambda: rate(durable, p, "INCR plain", args.scale), 2.0, args.rounds)
        for p in PIPELINES:
            against(table, f"OID, pipeline {p} / redis PING",
                    lambda: rate(mint, p, "OID", args.scale),
                    lambda: rate(plain, p, "PING", args.scale), cached[p], args.rounds)
        for p in PIPELINES:
            against(table, f"strict INCR, pipeline {p}: 1,000 counters / one",
                    lambda: rate(mint, p, "INCR many:__rand_int__", args.scale, spread=1000),
                    lambda: rate(mint, p, "INCR strict", args.scale), 0.8, args.rounds)


def ids(table, args, folder):
    """A daemon of its own each time: one that was drawn from has used up its lead on the clock, and
    can only give what the format holds in a second, 16,777,216."""
    for name, how in (("range", "expanded from OID RANGE"), ("text", "decoded from OID 1000")):
        rates = []
        for _ in range(args.rounds):
            with Idmintd(args.idmintd, folder) as mint:
                out = subprocess.run([args.idmint, "--addr", f"127.0.0.1:{mint.port}", "--json",
                                      "bench", name, "--seconds", "3", "--connections", "1"],
                                     check=True, capture_output=True, text=True).stdout
            rates.append(json.loads(out)["values_per_second"] / 1e6)
        table.bound(f"ObjectIds over one connection, {how}", rates, "million a second", 16.7,
                    at_most=False)


def memory(table, args, folder):
    with Idmintd(args.idmintd, folder, "--set", "limits.connections=20000") as mint:
        count = 10_000
        talk(mint.port, "PING")
        before = resident_bytes(mint.process.pid)
        with mint.idle_connections(count):
            held = resident_bytes(mint.process.pid) - before
        table.bound(f"memory of an idle connection ({count:,} of them)", [held / count], "bytes", 4096,
                    at_most=True)
    with Idmintd(args.idmintd, folder, "--set", "counters.in_memory=2000000") as mint:
        count, name_bytes = 1_000_000, len("counter:0000000")
        before = resident_bytes(mint.process.pid)
        mint.make_counters(count)
        held = resident_bytes(mint.process.pid) - before
        table.bound(f"memory of a counter, less its name ({count:,} of them)",
                    [held / count - name_bytes], "bytes", 150, at_most=True)


PARTS = {"speed": speed, "ids": ids, "memory": memory, "http": http_bench.measure,
         "mongo": mongo.measure}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idmintd", default="build-bench/daemon/idmintd")
    parser.add_argument("--idmint", default="build-bench/client/idmint")
    parser.add_argument("--direct", default="build-bench/tests/mongo_direct")
    parser.add_argument("--webdis", default="build-webdis/usr/bin/webdis")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measure")
    parser.add_argument("--scale", type=float, default=1.0, help="requests of a round, as a factor")
    parser.add_argument("parts", nargs="*", default=list(PARTS),
                        help=f"{', '.join(PARTS)} (default: all)")
    args = parser.parse_args()
    table = Table()
    for part in args.parts:
        with tempfile.TemporaryDirectory(prefix="idmint-bench-") as folder:
            PARTS[part](table, args, folder)
    print(f"{table.missed} of the measures not reached" if table.missed else "all reached")
    return 0


if __name__ == "__main__":
    sys.exit(main())
