"""What holds where a store is shared, on a store that only says so: memory:?shared=yes."""

import time

from resp import Client, encode

SHARED = "memory:?shared=yes&workers=4&flights=3"


def test_leads_alone(start_daemon):
    daemon = start_daemon("--store", SHARED)
    with Client(daemon.address) as client:
        assert len(client.call("OID")) == 24
        info = client.call("INFO", "replication").decode()
        assert "role:master" in info and "lease:1" in info.splitlines()
        assert f"leader_address:{daemon.address}" in info


def test_a_raise_is_answered_when_all_blocks_are_over(start_daemon):
    """Other daemons may issue from blocks reserved before it for as long as blocks are used."""
    daemon = start_daemon("--store", SHARED, settings={"counters.block": "700ms"})
    with Client(daemon.address) as client, Client(daemon.address) as other:
        client.call("COUNTER", "CREATE", "cached", "CACHE", "10")
        client.call("NEXT", "cached")
        start = time.monotonic()
        client.send(encode("COUNTER", "RAISE", "cached", "1000"))
        client.send(encode("NEXT", "cached"))
        assert other.call("PING") == b"PONG"
        assert client.reply() == b"1000"
        assert time.monotonic() - start >= 0.7
        # More where the machine is so slow that the next block is over, too.
        assert client.reply() > 1000
        # Nobody reserves ahead of a strict counter: nothing to wait for, however long blocks last.
        client.call("NEXT", "strict")
        assert client.call("COUNTER", "RAISE", "strict", "50") == b"50"


def test_a_client_that_goes_before_its_time(start_daemon):
    daemon = start_daemon("--store", SHARED, settings={"counters.block": "1h"})
    with Client(daemon.address) as client:
        client.call("COUNTER", "CREATE", "cached", "CACHE", "10")
        client.send(encode("COUNTER", "RAISE", "cached", "1000"))
        with Client(daemon.address) as other:
            while other.call("GET", "cached") != b"1000":
                pass
    with Client(daemon.address) as client:
        assert client.call("NEXT", "cached") == 1001


def test_pipelined_takes_keep_their_order(start_daemon):
    daemon = start_daemon("--store", SHARED)
    clients = [Client(daemon.address) for _ in range(8)]
    last = [0] * len(clients)
    for _ in range(50):
        for client in clients:
            for count in (1, 2, 1, 3):  # no run of equal commands, which would be one take
                client.send(encode("NEXT", "n", str(count)))
        for i, client in enumerate(clients):
            for _ in range(4):
                first, end = client.reply()
                assert first > last[i]
                last[i] = end
    for client in clients:
        client.close()
