"""A network that is cut: between a daemon and MongoDB, and within the replica set. Each request ends
in time as one of the three, no value comes twice, what needs no store does not notice, and all goes
on when the network is whole again, without a restart."""

import time

import pytest

from conftest import Shop, is_error, until_served
from cutting_proxy import AFTER, BEFORE, FORWARD, HOLD, RESET, CutSet
from daemon import wait_until
from mongo_load import REQUEST_MS, SLACK_S, Shared
from resp import Client, Error

DAEMONS = ["first", "second"]
TAKE = ("findAndModify", "counters")
RENEWAL = ("findAndModify", "idmint_state")


class CutShop(Shop):
    """The network knows its daemons by name."""

    def start_as(self, name, settings=None, **mongo):
        uri = self.servers.uri(options=f"&appName={name}")
        merged = {**self.settings(**mongo), "limits.request": f"{REQUEST_MS}ms", **(settings or {})}
        return self.start_daemon(store=uri, settings=merged)

    def pair(self, **mongo):
        """Two daemons; the first leads."""
        first = self.start_as("first", **mongo)
        with Client(first.address) as client:
            until_served(client, "OID")
        return [first, self.start_as("second", **mongo)]

    def stored(self):
        return self.counters.find_one({"_id": "orders"})["seq"]

    def mend(self):
        """The network is whole, and so is the set."""
        self.servers.heal()

        def whole():
            states = self.servers.primary().admin("replSetGetStatus")["members"]
            return sorted(state["stateStr"] for state in states) == WHOLE

        wait_until(whole, "the set is whole")


WHOLE = ["PRIMARY", "SECONDARY", "SECONDARY"]


@pytest.fixture(scope="module")
def cut_set(tmp_path_factory):
    with CutSet(tmp_path_factory.mktemp("cut")) as servers:
        yield servers


@pytest.fixture
def shop(cut_set, start_daemon):
    shop = CutShop(cut_set, start_daemon)
    shop.mend()
    yield shop
    shop.mend()
    shop.mongo.close()


@pytest.mark.parametrize("when, stored", [(BEFORE, 1), (AFTER, 2)])
def test_cut_off_in_the_middle_of_a_take(shop, when, stored):
    """What became of it can not be known; it is never issued, nor is anything else lost."""
    daemon = shop.start_as("first", {"limits.request": "20s"})
    with Client(daemon.address) as client:
        assert until_served(client, "NEXT", "orders") == 1
        cut = shop.servers.cut("first", shop.servers.primary(), when, *TAKE)
        is_error(client.call("NEXT", "orders"), "UNCERTAIN")
        assert cut.made == 1
        assert shop.stored() == stored
        assert until_served(client, "NEXT", "orders") == stored + 1


def test_a_take_that_arrives_too_late(shop):
    """It is carried out after its client was told that nothing is known of it."""
    with Client(shop.start_as("first").address) as client:
        before = until_served(client, "NEXT", "orders")
        until_served(client, "OID")
        primary = shop.servers.primary()
        shop.servers.way("first", primary, HOLD)
        began = time.monotonic()
        is_error(client.call("NEXT", "orders"), "UNCERTAIN")
        assert time.monotonic() - began < REQUEST_MS / 1000 + SLACK_S
        assert client.call("PING") == b"PONG"
        assert not isinstance(client.call("OID"), Error)
        assert shop.stored() == before
        shop.servers.way("first", primary, FORWARD)
        wait_until(lambda: shop.stored() > before, "the late take is carried out")
        assert until_served(client, "NEXT", "orders") > before + 1


@pytest.mark.parametrize("mode", [RESET, HOLD])
def test_a_daemon_is_cut_off_from_the_primary(shop, mode):
    with Shared(shop, shop.pair(lease="12s", window="12s")) as load:
        for daemon in range(2):
            load.served(50, daemon)
        primary = shop.servers.primary()
        before = load.watches[0].ids()
        shop.servers.way("first", primary, mode)
        load.refused(20, daemon=0)
        load.served(50, daemon=1)
        # 3.5 s and a renewal that fails: the window is saved ahead.
        wait_until(lambda: load.watches[0].ids() >= before + 350, "ids are issued meanwhile")
        shop.servers.way("first", primary, FORWARD)
        for daemon in range(2):
            load.served(50, daemon)
    assert not load.watches[0].share.count("not_done")


def test_cut_off_now_and_then(shop):
    """In the middle of takes, and of the lease's renewals. The lease is long: each cut costs a
    second, and who has lost it renews no more."""
    with Shared(shop, shop.pair(lease="20s", window="20s")) as load:
        load.served(50, daemon=0)
        primary = shop.servers.primary()
        cuts = []
        for when in (BEFORE, AFTER):
            cuts.append(shop.servers.cut("first", primary, when, *TAKE, times=2))
            cuts.append(shop.servers.cut("first", primary, when, *RENEWAL))
        wait_until(lambda: not any(cut.left for cut in cuts), "all cuts are made")
        load.served(50, daemon=0)
        load.ids(50)
    assert load.count("unknown") >= 4


def test_the_primary_is_cut_off_from_the_others(shop):
    """All reach both sides: on one a primary that no majority follows, on the other soon a new
    one."""
    with Shared(shop, shop.pair()) as load:
        load.served(50)
        old = shop.servers.primary()
        shop.servers.part([old], shop.servers.secondaries(), RESET)
        shop.servers.primary(other_than=old)
        for daemon in range(2):
            load.served(50, daemon)
        shop.mend()
        for daemon in range(2):
            load.served(50, daemon)
        load.ids(50)


def test_the_leader_is_on_the_side_of_the_few(shop):
    """It reaches only a primary that no majority follows, where it can neither take nor renew; the
    other one takes over from it, and what both have issued is in order."""
    with Shared(shop, shop.pair(lease="4s", window="20s")) as load:
        load.served(50, daemon=0)
        load.ids(50)
        old = shop.servers.primary()
        others = shop.servers.secondaries()
        for member in others:
            shop.servers.way("first", member, RESET)
        shop.servers.part([old], others, RESET)
        load.refused(20, daemon=0)
        load.served(50, daemon=1)
        load.ids(50, daemon=1)
        done = load.watches[0].ids()
        load.served(50, daemon=1)
        assert load.watches[0].ids() == done
        shop.mend()
        load.served(50, daemon=0)
