"""What becomes of a request when MongoDB, or the way to it, fails: done, not done, or unknown, as
section "Outcome" of the contract tells; never a value twice. By the server's own fail points."""

import time

import pytest

from conftest import is_error, until_served
from mongo_load import REQUEST_MS, Shared, wait_for
from resp import Client, Error

TAKES = ["findAndModify"]
ONCE = {"times": 1}


@pytest.fixture
def served(shop):
    """A counter in use: a take is one findAndModify."""
    shop.client_ = shop.client()
    with shop.client_ as client:
        assert client.call("NEXT", "orders") == 1
        yield shop, client


def stored(shop, name="orders"):
    return shop.counters.find_one({"_id": name})["seq"]


# The server's codes for errors of commands that were certainly not carried out, and one that leaves
# it open.
NOT_DONE = [10107, 13435, 13436, 14, 2, 13, 40, 112]
OPEN = [91, 189, 11600, 11602, 50, 8, 6, 89]


@pytest.mark.parametrize("code", NOT_DONE)
def test_code_that_proves_nothing_was_done(served, code):
    shop, client = served
    shop.fail(ONCE, TAKES, errorCode=code)
    reply = client.call("NEXT", "orders")
    if code == 14:  # looked at, and tried again
        assert reply == 2
    else:
        is_error(reply, "TRYAGAIN")
        assert stored(shop) == 1
        assert until_served(client, "NEXT", "orders") == 2


@pytest.mark.parametrize("code", OPEN)
def test_code_that_leaves_it_open(served, code):
    shop, client = served
    shop.fail(ONCE, TAKES, errorCode=code)
    is_error(client.call("NEXT", "orders"), "UNCERTAIN")
    assert until_served(client, "NEXT", "orders") == stored(shop)


@pytest.mark.parametrize("code", [64, 91, 100, 10107])
def test_write_concern_error(served, code):
    """It was applied, and came with a value: which may roll back, and is never issued."""
    shop, client = served
    error = {"code": code, "errmsg": "waiting for replication timed out"}
    shop.fail(ONCE, TAKES, writeConcernError=error)
    is_error(client.call("NEXT", "orders"), "UNCERTAIN")
    assert stored(shop) == 2
    assert until_served(client, "NEXT", "orders") == 3


def test_cut_before_it_is_applied(served):
    shop, client = served
    shop.fail(ONCE, TAKES, closeConnection=True)
    is_error(client.call("NEXT", "orders"), "UNCERTAIN")
    assert until_served(client, "NEXT", "orders") == 2


def test_cut_of_the_insert(served):
    shop, client = served
    shop.fail(ONCE, ["insert"], closeConnection=True)
    is_error(client.call("NEXT", "bills"), "UNCERTAIN")
    assert until_served(client, "NEXT", "bills") == 1


def test_slow_within_the_time(served):
    shop, client = served
    shop.fail(ONCE, TAKES, blockConnection=True, blockTimeMS=200)
    assert client.call("NEXT", "orders") == 2


def test_slow_beyond_the_time(shop):
    """Answered in time; the late value, which the server did give, is never issued."""
    with shop.client({"limits.request": "1s"}) as client:
        before = until_served(client, "NEXT", "orders")
        shop.fail(ONCE, TAKES, blockConnection=True, blockTimeMS=5000)
        began = time.monotonic()
        is_error(client.call("NEXT", "orders"), "UNCERTAIN")
        assert time.monotonic() - began < 4.5  # 1 s, and a slow machine
        value = until_served(client, "NEXT", "orders")
        assert before < value <= stored(shop)


def test_reads_take_nothing(served):
    shop, client = served
    shop.fail(ONCE, ["find"], errorCode=91)
    is_error(client.call("GET", "orders"), "TRYAGAIN")
    assert until_served(client, "GET", "orders") == b"1"


def test_rights_lost(served):
    """What MongoDB says reaches the client."""
    shop, client = served
    shop.fail(ONCE, TAKES, errorCode=13)
    assert "failCommand" in is_error(client.call("NEXT", "orders"), "TRYAGAIN")


def test_ids_do_not_notice(served):
    shop, client = served
    until_served(client, "OID")
    shop.fail("alwaysOn", TAKES, blockConnection=True, blockTimeMS=800)
    takers = [Client(client_address(shop)) for _ in range(4)]
    for taker in takers:
        taker.send(b"NEXT orders\r\n")
    for _ in range(200):
        began = time.monotonic()
        assert not isinstance(client.call("OID"), Error)
        assert time.monotonic() - began < 0.5
    shop.servers.primary().failpoint_off()
    for taker in takers:
        taker.reply()
        taker.close()


def client_address(shop):
    host, port = shop.client_.sock.getpeername()[:2]
    return f"{host}:{port}"


def under_load(shop, faults):
    """Two daemons and two home-made writers at once; faults() meanwhile; then all goes on. One
    daemon has several takes of the counter under way, the other gathers all for one."""
    settings = {"limits.request": f"{REQUEST_MS}ms"}
    daemons = [shop.start(settings, flights=flights) for flights in (1, 3)]
    with Shared(shop, daemons) as load:
        faults(lambda: load.count("done"))
    for daemon in daemons:
        with Client(daemon.address) as client:
            until_served(client, "NEXT", "orders")
    return load


def test_fail_points_under_load(shop):
    def faults(progress):
        error = {"code": 64, "errmsg": "timed out"}
        for fault in (
            {"closeConnection": True},
            {"errorCode": 91},
            {"errorCode": 10107},
            {"writeConcernError": error},
            {"blockConnection": True, "blockTimeMS": 1200},
        ):
            shop.fail({"activationProbability": 0.3}, TAKES, **fault)
            wait_for(progress, 30)
        shop.servers.primary().failpoint_off()
        wait_for(progress, 100)

    load = under_load(shop, faults)
    assert load.count("unknown") and load.count("not_done")


def test_step_down_under_load(shop3):
    def faults(progress):
        for _ in range(2):
            wait_for(progress, 100)
            shop3.servers.step_down(seconds=5)
            shop3.servers.primary()
            wait_for(progress, 100)

    under_load(shop3, faults)


def test_primary_hangs_under_load(shop3):
    def faults(progress):
        wait_for(progress, 100)
        hung = shop3.servers.primary()
        hung.pause()
        try:
            shop3.servers.primary(other_than=hung)
            wait_for(progress, 100)
        finally:
            hung.resume()
        wait_for(progress, 100)

    under_load(shop3, faults)


def test_primary_killed_under_load(shop3):
    def faults(progress):
        wait_for(progress, 100)
        killed = shop3.servers.primary()
        killed.kill()
        shop3.servers.primary(other_than=killed)
        wait_for(progress, 100)
        killed.start()
        wait_for(progress, 100)

    under_load(shop3, faults)


def test_hung_server_is_told_in_time(shop3):
    with shop3.client({"limits.request": "1s"}) as client:
        value = until_served(client, "NEXT", "orders")
        until_served(client, "OID")
        hung = shop3.servers.primary()
        hung.pause()
        try:
            for _ in range(3):
                began = time.monotonic()
                reply = client.call("NEXT", "orders")
                assert isinstance(reply, Error) and reply.word in ("TRYAGAIN", "UNCERTAIN")
                assert time.monotonic() - began < 6
                assert not isinstance(client.call("OID"), Error)
        finally:
            hung.resume()
        assert until_served(client, "NEXT", "orders") > value


def test_no_majority(shop3):
    """A primary that no other one hears acknowledges nothing."""
    with shop3.client({"limits.request": "1s"}) as client:
        value = until_served(client, "NEXT", "orders")
        others = shop3.servers.secondaries()
        for member in others:
            member.pause()
        try:
            is_error(client.call("NEXT", "orders"), "UNCERTAIN")
        finally:
            for member in others:
                member.resume()
        assert until_served(client, "NEXT", "orders") > value + 1
