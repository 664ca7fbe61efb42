"""The promises of order and uniqueness, over threads, connections and pipelines."""

import pytest
from history import OID, History
from load import Connection, Load, counter_mix, drive, get, next_one, scaled
from load import oid, oid_mix, oid_range, oid_second
from resp import Client

CACHED = "cached"
SETTINGS = {"listen.threads": 4}


def create_cached(address, name=CACHED, cache=50):
    with Client(address) as client:
        assert client.call("COUNTER", "CREATE", name, "CACHE", cache) == b"OK"


@pytest.mark.parametrize("depth", [1, 40])
def test_strict_counters(start_daemon, depth):
    daemon = start_daemon(settings=SETTINGS)
    story = History()
    names = ["a", "b", "c"]
    assert drive(daemon.address, story, counter_mix(*names), scaled(6000), depth=depth) == []
    assert story.check() == []
    asker = Connection(daemon.address, story)
    for name in names:
        assert story.gaps(name, asker.call(get(name)).last) == []
    asker.close()


def test_counters_that_reserve(start_daemon):
    daemon = start_daemon(settings=SETTINGS)
    create_cached(daemon.address)
    story = History(reserving=[CACHED])
    assert drive(daemon.address, story, counter_mix(CACHED), scaled(10000)) == []
    assert story.check() == []


@pytest.mark.parametrize("depth", [1, 40])
def test_objectids(start_daemon, depth):
    daemon = start_daemon(settings=SETTINGS)
    story = History()
    assert drive(daemon.address, story, oid_mix(), scaled(10000), depth=depth) == []
    assert story.check() == []


def test_all_at_once(start_daemon):
    daemon = start_daemon(settings=SETTINGS)
    create_cached(daemon.address)
    story = History(reserving=[CACHED])
    mix = oid_mix() + counter_mix("strict", CACHED)
    assert drive(daemon.address, story, mix, scaled(10000)) == []
    assert story.check() == []


@pytest.mark.parametrize("cache", [1, 50])
def test_raised_under_load(start_daemon, cache):
    """What is issued after RAISE was answered is above it, also where values were reserved."""
    daemon = start_daemon(settings=SETTINGS)
    create_cached(daemon.address, cache=cache)
    story = History(reserving=[CACHED])
    asker = Connection(daemon.address, story)
    with Load(daemon.address, story, counter_mix(CACHED)) as load:
        for _ in range(20):
            load.wait(scaled(50))
            raised = int(asker.client.call("GET", CACHED)) + 1000
            assert int(asker.client.call("COUNTER", "RAISE", CACHED, raised)) >= raised
            assert asker.call(next_one(CACHED)).first > raised
    asker.close()
    assert load.errors == []
    assert story.check() == []


def test_past_the_end(start_daemon):
    """Near MAX the waiters that fit are served, and nothing is taken for the others."""
    daemon = start_daemon(settings=SETTINGS)
    story = History()
    with Client(daemon.address) as client:
        assert client.call("COUNTER", "CREATE", "short", "MAX", 2000) == b"OK"
    errors = drive(daemon.address, story, counter_mix("short"), scaled(4000))
    assert {error.split()[0] for error in errors} == {"EXHAUSTED"}
    assert story.check() == []
    asker = Connection(daemon.address, story)
    assert story.gaps("short", asker.call(get("short")).last) == []
    asker.close()


def test_clean_restarts(start_daemon):
    daemon = start_daemon(settings=SETTINGS)
    create_cached(daemon.address)
    story = History(reserving=[CACHED])
    mix = oid_mix() + counter_mix("strict", CACHED)
    for cycle in range(5):
        with Load(daemon.address, story, mix, seed=cycle) as load:
            load.wait(scaled(500))
            daemon.restart()
    assert story.check() == []
    asker = Connection(daemon.address, story)
    assert story.gaps("strict", asker.call(get("strict")).last) == []
    asker.close()


def test_borrowed_seconds(start_daemon):
    """Ranges that use up whole seconds: later ones are borrowed, and waited for past the lead."""
    daemon = start_daemon(settings={**SETTINGS, "limits.request": "30s"})
    story = History()
    asker = Connection(daemon.address, story)
    first = asker.call(oid())
    for _ in range(4):
        asker.call(oid_range(1 << 24))
    last = asker.call(oid())
    asker.close()
    assert asker.errors == []
    assert oid_second(last.last) - oid_second(first.last) >= 4
    assert story.check() == []
    assert story.count("done") == 6 and story.by_key()[OID]
