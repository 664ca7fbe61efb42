"""Outages of the store, by the memory store's fault file: each request ends within its deadline in
one of the three outcomes, the rest of the daemon goes on, and all comes back by itself."""

import pytest
from daemon import wait_until
from history import OID, History
from load import Connection, Load, counter_mix, get, next_one, next_range, oid, oid_mix, scaled
from load import oid_second
from resp import Client, Error, encode, word


@pytest.fixture
def asker(start_on):
    daemon = start_on()
    story = History()
    connection = Connection(daemon.address, story)
    connection.story = story
    yield connection
    connection.close()


def test_not_done(asker, store):
    assert asker.call(next_one("n")).last == 1
    store.set("not_done")
    for request in (next_one("n"), next_range("n", 100), next_one("new")):
        assert asker.call(request).outcome == "not_done"
    assert {error.split()[0] for error in asker.errors} == {"TRYAGAIN"}
    store.set("ok")
    assert asker.call(next_one("n")).last == 2
    assert asker.call(next_one("new")).last == 1


@pytest.mark.parametrize("outcome, following", [("unknown_applied", 7), ("unknown_lost", 2)])
def test_unknown(asker, store, outcome, following):
    """What may have been taken is lost, or was not taken; it is never issued."""
    assert asker.call(next_one("n")).last == 1
    store.set(outcome)
    assert asker.call(next_range("n", 5)).outcome == "unknown"
    assert [error.split()[0] for error in asker.errors] == ["UNCERTAIN"]
    store.set("ok")
    assert asker.call(next_one("n")).last == following
    assert asker.story.check() == []
    assert asker.story.gaps("n", following) == []


@pytest.mark.parametrize(
    "fault, expected",
    [("not_done", "TRYAGAIN"), ("unknown_applied", "UNCERTAIN"), ("unknown_lost", "UNCERTAIN")],
)
def test_orders(start_on, store, fault, expected):
    daemon = start_on()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 1
        store.set(fault)
        assert word(client.call("COUNTER", "RAISE", "n", 10)) == expected
        assert word(client.call("COUNTER", "CREATE", "m")) == expected
        assert word(client.call("COUNTER", "RESET", "n", 0, "FORCE")) == expected
        assert word(client.call("SETNX", "k", 5)) == expected
        if fault != "not_done":  # a commit that only reads has no such outcome
            store.set("ok")
        assert client.call("PING") == b"PONG"
        store.set("ok")
        assert client.call("COUNTER", "RAISE", "n", 100) == b"100"
        assert client.call("NEXT", "n") == 101


def test_a_store_that_hangs(start_on, store):
    daemon = start_on(**{"limits.request": "1s", "listen.threads": 2})
    with Client(daemon.address) as first, Client(daemon.address) as second:
        assert first.call("NEXT", "n") == 1
        store.set("hang")
        assert word(first.call("NEXT", "n")) == "UNCERTAIN"  # its commit is under way
        second.send(encode("NEXT", "n") + encode("NEXT", "m") + encode("GET", "n"))
        for _ in range(4):  # two for each loop thread
            with Client(daemon.address) as other:
                assert other.call("PING") == b"PONG"
                assert not isinstance(other.call("OID"), Error)
                assert not isinstance(other.call("UUID", "V7"), Error)
        assert [word(reply) for reply in second.replies(3)] == ["TRYAGAIN"] * 3
        store.set("ok")
        while isinstance(reply := second.call("NEXT", "n"), Error):
            assert reply.word == "TRYAGAIN"
        assert reply == 3  # 2 is the one whose outcome was unknown
        assert second.call("NEXT", "m") == 1
        assert first.call("GET", "n") == b"3"


def test_reserved_values_last_through_an_outage(start_on, store):
    daemon = start_on(**{"limits.request": "500ms"})
    story = History(reserving=["n"])
    asker = Connection(daemon.address, story)
    assert asker.client.call("COUNTER", "CREATE", "n", "CACHE", 100) == b"OK"
    asker.call(next_one("n"))
    wait_until(lambda: int(asker.client.call("GET", "n")) >= 100, "a block")
    reserved = int(asker.client.call("GET", "n"))
    store.set("hang")
    while asker.call(next_one("n")).outcome == "done":
        pass
    assert story.count("done") >= reserved
    store.set("ok")
    while asker.call(next_one("n")).outcome != "done":
        pass
    asker.close()
    assert story.check() == []


@pytest.mark.parametrize("fault", ["hang", "not_done", "unknown_applied", "unknown_lost"])
def test_oids_through_an_outage(start_on, store, fault):
    """They flow as far as the saved window reaches, then TRYAGAIN, then flow again."""
    daemon = start_on(**{"oid.window": "2s", "limits.request": "100ms"})
    story = History()
    asker = Connection(daemon.address, story)
    first = asker.call(oid())
    store.set(fault)
    assert asker.call(oid()).outcome == "done"
    while not asker.errors:
        asker.call(oid())
    assert asker.errors[0].startswith("TRYAGAIN")
    last = max(operation.last for operation in story.by_key()[OID] if operation.last)
    # The window at the start, and at most the one renewal that was under way.
    assert oid_second(last) <= oid_second(first.last) + 2 * 2
    assert asker.client.call("PING") == b"PONG"
    store.set("ok")
    while asker.call(oid()).outcome != "done":
        pass
    asker.close()
    assert story.check() == []


def test_outages_under_load(start_on, store):
    daemon = start_on(**{"oid.window": "3s", "limits.request": "100ms", "listen.threads": 4})
    with Client(daemon.address) as client:
        assert client.call("COUNTER", "CREATE", "cached", "CACHE", 30) == b"OK"
    story = History(reserving=["cached"])
    mix = oid_mix() + counter_mix("strict", "cached")
    with Load(daemon.address, story, mix) as load:
        for fault in ["not_done", "unknown_applied", "hang", "unknown_lost", "ok"] * 3:
            store.set(fault)
            load.wait(scaled(300))
        store.set("ok")
        done = story.count("done")
        while story.count("done") == done:
            load.wait(1)
    assert {error.split()[0] for error in load.errors} == {"TRYAGAIN", "UNCERTAIN"}
    asker = Connection(daemon.address, story)
    assert story.gaps("strict", asker.call(get("strict")).last) == []
    asker.close()
    assert story.check() == []
