"""What a stop leaves in the store: a clean one hands back what was reserved, a crash skips it."""

import sqlite3
from contextlib import closing

from daemon import run_idmintd, wait_until
from history import History
from load import Connection, get, next_one, next_range, oid, oid_second
from resp import Client

CACHE = 100


def high_water(daemon):
    with closing(sqlite3.connect(f"{daemon.folder}/idmint.db")) as db:
        return db.execute("SELECT high_water_s FROM meta").fetchone()[0]


def issue(daemon, story, request):
    asker = Connection(daemon.address, story)
    operation = asker.call(request)
    asker.close()
    return operation


def test_a_clean_stop_lowers_the_high_water(start_daemon):
    daemon = start_daemon(settings={"oid.window": "1h"})
    story = History()
    first = oid_second(issue(daemon, story, oid()).last)
    daemon.stop()
    assert high_water(daemon) == first
    daemon.restart()
    second = oid_second(issue(daemon, story, oid()).last)
    assert first < second < first + 1800
    daemon.restart()  # without an id in between, it stays
    daemon.stop()
    assert high_water(daemon) == second
    daemon.restart()
    issue(daemon, story, oid())
    assert story.check() == []


def test_a_crash_skips_the_window(start_daemon):
    daemon = start_daemon(settings={"oid.window": "1h"})
    story = History()
    first = oid_second(issue(daemon, story, oid()).last)
    daemon.kill()
    saved = high_water(daemon)
    assert first < saved <= first + 3600 + 1
    daemon.restart()
    assert oid_second(issue(daemon, story, oid()).last) == saved + 1
    daemon.log.wait("ahead of the clock")
    assert story.check() == []


def test_the_high_water_can_be_reset(start_daemon):
    daemon = start_daemon(settings={"oid.window": "1h"})
    story = History()
    first = oid_second(issue(daemon, story, oid()).last)
    daemon.kill()
    store = f"sqlite:{daemon.folder}/idmint.db"
    refused = run_idmintd("--store", store, "--reset-high-water", "yes")
    assert refused.returncode == 1 and "FORCE" in refused.stderr
    assert high_water(daemon) > first + 1800
    reset = run_idmintd("--store", store, "--reset-high-water", "FORCE")
    assert reset.returncode == 0, reset
    assert first <= high_water(daemon) < first + 1800


def test_a_clean_stop_hands_blocks_back(start_daemon):
    daemon = start_daemon(settings={"counters.cache": CACHE})
    story = History(reserving=["n", "m"])
    assert issue(daemon, story, next_range("n", 3)).last == 3
    assert issue(daemon, story, next_one("m")).last == 1
    wait_until(lambda: issue(daemon, story, get("n")).last >= CACHE, "a block")
    daemon.restart()
    assert issue(daemon, story, get("n")).last == 3
    assert issue(daemon, story, next_one("n")).last == 4
    assert issue(daemon, story, next_one("m")).last == 2
    assert story.check() == []


def test_a_crash_skips_what_was_reserved(start_daemon):
    daemon = start_daemon(settings={"counters.cache": CACHE})
    story = History(reserving=["n"])
    last = issue(daemon, story, next_range("n", 3)).last
    for _ in range(3):
        daemon.kill()
        daemon.restart()
        reserved = issue(daemon, story, get("n")).last
        assert last <= reserved <= last + 2 * CACHE  # a block, and the next one
        last = issue(daemon, story, next_one("n")).last
        assert last == reserved + 1
    assert story.check() == []


def test_a_block_of_an_older_generation_is_not_handed_back(start_daemon):
    daemon = start_daemon(settings={"counters.cache": CACHE})
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 1
        assert client.call("COUNTER", "RAISE", "n", 5000) == b"5000"
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 5001
