"""idmintd on MongoDB against clients that count for themselves: one three-member replica set, the same
write concern, in turn."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from servers import Idmintd, talk  # noqa: E402

CLIENTS = 50


def direct(args, uri, threads, documents=1):
    """Operations a second, and the mean time of one in seconds."""
    out = subprocess.run([args.direct, uri, str(threads), "4", str(documents)], check=True,
                         capture_output=True, text=True).stdout.split()
    return float(out[0]), float(out[1]) / 1e6


def rate(mint, command, clients=CLIENTS, pipeline=1, requests=20_000, spread=0):
    argv = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(mint.port), "--csv", "-c", str(clients),
            "-P", str(pipeline), "-n", str(requests)]
    argv += ["-r", str(spread)] if spread else []
    out = subprocess.run(argv + command.split(), check=True, capture_output=True, text=True).stdout
    return float(out.strip().splitlines()[-1].split(",")[1].strip('"'))


def measure(table, args, folder):
    from mongod import ReplicaSet  # needs pymongo

    with ReplicaSet(os.path.join(folder, "set"), 3, fast=False) as servers:
        uri = servers.uri()
        with Idmintd(args.idmintd, folder, store=uri) as mint, \
                Idmintd(args.idmintd, folder) as embedded:
            for each in (mint, embedded):
                talk(each.port, "COUNTER CREATE cached CACHE 1000")
            compare(table, args, uri, mint, embedded)


def compare(table, args, uri, mint, embedded):
    rows = {name: ([], []) for name in ("one", "limit", "piped", "many", "cached", "alone")}

    def add(name, ours, theirs):
        rows[name][0].append(ours)
        rows[name][1].append(theirs)

    for _ in range(args.rounds):
        _, alone_s = direct(args, uri, 1)
        fifty, _ = direct(args, uri, CLIENTS)
        one = rate(mint, "NEXT one", requests=int(15_000 * args.scale))
        add("one", one, fifty)
        add("limit", one, CLIENTS / alone_s)
        add("piped", rate(mint, "NEXT one", pipeline=16, requests=int(250_000 * args.scale)), fifty)
        add("many", rate(mint, "NEXT many:__rand_int__", pipeline=16, spread=100,
                         requests=int(80_000 * args.scale)), fifty)
        add("cached", rate(mint, "NEXT cached", requests=int(100_000 * args.scale)),
            rate(embedded, "NEXT cached", requests=int(100_000 * args.scale)))
        add("alone", 1 / alone_s, rate(mint, "NEXT alone", clients=1,
                                       requests=int(400 * args.scale)))
    table.row("NEXT, 50 clients / 50 x findAndModify", *rows["one"], 8)
    table.row("the same / 50 by the time of one findAndModify", *rows["limit"], 0.9)
    table.row("NEXT, pipeline 16 / 50 x findAndModify", *rows["piped"], 100)
    table.row("NEXT over 100 counters, pipeline 16 / 50 x the same", *rows["many"], 20)
    table.row("NEXT with CACHE 1000 / the same on SQLite", *rows["cached"], 0.9)
    table.bound("time of a lone NEXT by that of a findAndModify",
                [a / b for a, b in zip(*rows["alone"])], "", 1.3, at_most=True)
