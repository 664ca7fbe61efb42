"""The commands that are not takes, alone and with two daemons on one database."""

from conftest import is_error, long, same
from resp import Client


def fields(client, name):
    reply = client.call("COUNTER", "INFO", name)
    return {reply[i].decode(): int(reply[i + 1]) for i in range(2, len(reply), 2)}


def test_create(shop):
    with shop.client() as client:
        options = ["START", 100, "STEP", 10, "MAX", 130, "CACHE", 1]
        assert client.call("COUNTER", "CREATE", "orders", *options) == b"OK"
        is_error(client.call("COUNTER", "CREATE", "orders"), "ERR")
        assert client.call("NEXT", "orders", 2) == [100, 110]
        is_error(client.call("NEXT", "orders", 3), "EXHAUSTED")
        assert client.call("NEXT", "orders", 2) == [120, 130]
        is_error(client.call("NEXT", "orders"), "EXHAUSTED")
        told = fields(client, "orders")
    assert (told["start"], told["step"], told["max"], told["value"]) == (100, 10, 130, 130)
    assert shop.counters.find_one() == {"_id": "orders", "seq": 130}
    # Options are idmint's own data, in a place of their own.
    assert shop.state.find_one({"_id": "counter/orders"})["step"] == 10


def test_create_where_a_document_is(shop):
    shop.counters.insert_one({"_id": "orders", "seq": 41})
    with shop.client() as client:
        is_error(client.call("COUNTER", "CREATE", "orders", "STEP", 5), "ERR")
        assert client.call("NEXT", "orders") == 42
    assert shop.state.find_one({"_id": "counter/orders"}) is None


def test_options_outlive_the_daemon(shop):
    daemon = shop.start()
    with Client(daemon.address) as client:
        client.call("COUNTER", "CREATE", "orders", "STEP", 5, "CACHE", 10)
        assert client.call("NEXT", "orders") == 1
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 6  # the block's rest was handed back
        assert fields(client, "orders")["cache"] == 10


def test_raise_reset_drop(shop):
    shop.counters.insert_one({"_id": "orders", "seq": 41, "note": "kept"})
    with shop.client() as client:
        client.call("COUNTER", "RAISE", "orders", 30)
        assert client.call("NEXT", "orders") == 42
        client.call("COUNTER", "RAISE", "orders", 2**40)
        same(shop.counters.find_one(), {"_id": "orders", "seq": long(2**40), "note": "kept"})
        generation = fields(client, "orders")["generation"]
        assert client.call("COUNTER", "RESET", "orders", 5, "FORCE") == b"OK"
        assert fields(client, "orders")["generation"] > generation
        assert client.call("NEXT", "orders") == 6
        assert client.call("COUNTER", "DROP", "orders", "FORCE") == b"OK"
        assert shop.counters.count_documents({}) == 0
        is_error(client.call("COUNTER", "DROP", "orders", "FORCE"), "ERR")
        assert client.call("NEXT", "orders") == 1
        assert fields(client, "orders")["generation"] > generation + 1


def test_list(shop):
    names = [f"n{i:04}" for i in range(1500)]
    shop.counters.insert_many(
        [{"_id": name, "seq": i} for i, name in enumerate(names)]
        + [{"_id": "text", "seq": "x"}, {"_id": 5, "seq": 1}, {"_id": "with space", "seq": 1}]
    )
    own = {"counter n0005x.collection": "other", "counter n0007.collection": "other"}
    shop.database["other"].insert_one({"_id": "n0005x", "seq": 77})
    with shop.client(own) as client:
        client.call("COUNTER", "CREATE", "o", "STEP", 7)
        listed, after = [], []
        while True:
            page = client.call("COUNTER", "LIST", *after)
            listed += page[1]
            if not page[0]:
                break
            after = ["AFTER", page[0]]
    told = [row[0].decode() for row in listed]
    # n0007 is said to stand in another collection, and is not there.
    assert told == sorted(set(names) - {"n0007"} | {"n0005x", "o"})
    by_name = {row[0].decode(): row for row in listed}
    assert by_name["n0005x"][1] in (77, b"77")
    assert by_name["o"][3] in (7, b"7")


def test_two_daemons_one_counter(shop):
    one, two = shop.client(), shop.client()
    with one, two:
        values = [client.call("NEXT", "orders") for _ in range(20) for client in (one, two)]
    assert values == list(range(1, 41))


def test_reset_elsewhere(shop):
    """A strict counter that another daemon sets back by command is no counter that went back."""
    one, two = shop.client(), shop.client()
    with one, two:
        assert two.call("NEXT", "orders", 50) == [1, 50]
        assert one.call("COUNTER", "RESET", "orders", 10, "FORCE") == b"OK"
        assert two.call("NEXT", "orders") == 11
        assert one.call("COUNTER", "DROP", "orders", "FORCE") == b"OK"
        assert two.call("NEXT", "orders") == 1


def test_blocks_of_two_daemons(shop):
    options = {"counters.cache": 10}
    one, two = shop.client(options), shop.client(options)
    with one, two:
        values = [client.call("NEXT", "orders") for _ in range(200) for client in (one, two)]
    assert len(set(values)) == 400
    assert values[0::2] == sorted(values[0::2]) and values[1::2] == sorted(values[1::2])


def test_same_create_from_two_daemons(shop):
    """One is told OK, and the options are that one's."""
    one, two = shop.client(), shop.client()
    with one, two:
        for i in range(20):
            for client, step in ((one, 3), (two, 5)):
                client.send(b"COUNTER CREATE c%d STEP %d\r\n" % (i, step))
            replies = one.reply(), two.reply()
            assert sorted(bytes(reply)[:2] for reply in replies) == [b"ER", b"OK"]
            step = 3 if replies[0] == b"OK" else 5
            assert fields(one, f"c{i}")["step"] == step
