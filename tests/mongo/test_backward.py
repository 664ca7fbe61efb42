"""A counter whose document went back, by a restore or by hand, stops: also where the daemon was
started since, by floors that it saves lazily among its own documents."""

import threading
import time

import pytest

from conftest import is_error, until_served
from daemon import wait_until
from resp import Client, Error


def floor(shop, name="orders"):
    return (shop.state.find_one({"_id": f"counter/{name}"}) or {}).get("floor")


def saved(shop, value):
    wait_until(lambda: floor(shop) == value, "the floor is saved")


def store(shop, value):
    shop.counters.update_one({"_id": "orders"}, {"$set": {"seq": value}})


@pytest.fixture
def used(shop):
    """50 values of a counter were issued."""
    daemon = shop.start()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders", 50) == [1, 50]
    return shop, daemon


def test_restored_while_it_runs(used):
    shop, daemon = used
    store(shop, 10)
    with Client(daemon.address) as client:
        is_error(client.call("NEXT", "orders"), "BACKWARD")
        assert client.call("COUNTER", "RAISE", "orders", 50) == b"50"
        assert client.call("NEXT", "orders") == 51


def test_restored_while_it_was_stopped(used):
    shop, daemon = used
    daemon.stop()
    assert floor(shop) == 50
    store(shop, 10)
    for _ in range(2):  # it is no matter of one start
        daemon.restart()
        with Client(daemon.address) as client:
            assert "went back" in is_error(client.call("NEXT", "orders"), "BACKWARD")
            is_error(client.call("NEXT", "orders"), "BACKWARD")
    with Client(daemon.address) as client:
        assert client.call("COUNTER", "RAISE", "orders", 50) == b"50"
        assert client.call("NEXT", "orders") == 51
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 52


def test_deleted_while_it_was_killed(used):
    shop, daemon = used
    saved(shop, 50)
    daemon.kill()
    shop.counters.delete_one({"_id": "orders"})
    daemon.restart()
    with Client(daemon.address) as client:
        is_error(client.call("NEXT", "orders"), "BACKWARD")
        assert client.call("COUNTER", "RESET", "orders", 5, "FORCE") == b"OK"
        assert client.call("NEXT", "orders") == 6
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 7


def test_another_daemon_knows_it_too(used):
    shop, _ = used
    saved(shop, 50)
    store(shop, 10)
    with shop.client() as client:
        is_error(client.call("NEXT", "orders"), "BACKWARD")


def test_value_to_be_issued_next(shop):
    daemon = shop.start(returns="before")
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders", 50) == [1, 50]
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 51
    daemon.stop()
    store(shop, 51)
    daemon.restart()
    with Client(daemon.address) as client:
        is_error(client.call("NEXT", "orders"), "BACKWARD")


def draw(daemon, count):
    """So many values, in order; the last one."""
    with Client(daemon.address) as client:
        values = [client.call("NEXT", "orders") for _ in range(count)]
    assert values == sorted(set(values))
    return values[-1]


def test_what_was_only_reserved_makes_no_floor(shop):
    daemon = shop.start({"counters.cache": 10})
    last = draw(daemon, 14)
    daemon.stop()  # what is left of the block is handed back
    handed_back = shop.counters.find_one()["seq"]
    assert last <= floor(shop) <= handed_back
    daemon.restart()
    last = draw(daemon, 25)
    wait_until(lambda: floor(shop) > handed_back, "the floor is saved")
    daemon.kill()
    daemon.restart()  # what is left is lost
    assert draw(daemon, 1) > last
    daemon.kill()
    store(shop, handed_back)
    daemon.restart()
    with Client(daemon.address) as client:
        is_error(client.call("NEXT", "orders"), "BACKWARD")


def test_saving_that_fails_is_done_later(used):
    shop, _ = used
    member = shop.servers.primary()
    namespace = f"{shop.name}_state.idmint_state"
    member.failpoint({"times": 1}, ["update"], namespace=namespace, errorCode=91)
    saved(shop, 50)


def test_it_costs_no_operation_a_flush(shop):
    state = shop.state.database
    state.command("profile", 2)
    began = time.monotonic()
    with shop.client() as client:
        for value in range(1, 201):
            assert client.call("NEXT", "orders") == value
        saved(shop, 200)
    took_s = time.monotonic() - began
    state.command("profile", 0)
    updates = state["system.profile"].count_documents({"op": "update", "ns": shop.state.full_name})
    assert 1 <= updates <= took_s / 2 + 1


def test_drop_and_reset_beside_takes(shop):
    """What is issued while a command sets the counter back makes no floor for what comes then."""
    daemon = shop.start()
    stop = threading.Event()

    def take():
        with Client(daemon.address) as client:
            while not stop.is_set():
                reply = client.call("NEXT", "orders", 10)
                assert not isinstance(reply, Error) or reply.word == "BACKWARD", reply

    takers = [threading.Thread(target=take) for _ in range(4)]
    for taker in takers:
        taker.start()
    with Client(daemon.address) as client:
        try:
            for _ in range(15):
                until_served(client, "NEXT", "orders", 100)
                assert client.call("COUNTER", "RESET", "orders", 5, "FORCE") == b"OK"
                until_served(client, "NEXT", "orders", 100)
                assert client.call("COUNTER", "DROP", "orders", "FORCE") == b"OK"
        finally:
            stop.set()
            for taker in takers:
                taker.join()
        assert not isinstance(client.call("NEXT", "orders"), Error)
    daemon.restart()
    with Client(daemon.address) as client:
        assert not isinstance(client.call("NEXT", "orders"), Error)
