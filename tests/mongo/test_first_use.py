"""The first use of a name, by many at the same time: one document, no value twice."""

import threading

import pytest

from conftest import is_error  # noqa: F401
from resp import Client

CLIENTS = 64


def first_uses(daemons, name):
    """What each of the clients got, all asking at once."""
    gate = threading.Barrier(CLIENTS)
    values = []

    def ask(daemon):
        with Client(daemon.address) as client:
            gate.wait()
            values.append(client.call("NEXT", name))

    threads = [threading.Thread(target=ask, args=(daemons[i % 2],)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return values


@pytest.mark.parametrize("key", ["_id", "name"])
def test_first_use(shop, key):
    if key != "_id":
        shop.counters.create_index(key, unique=True)
    daemons = [shop.start(key=key), shop.start(key=key)]
    for i in range(10):
        values = first_uses(daemons, f"c{i}")
        assert sorted(values) == list(range(1, CLIENTS + 1))
    assert shop.counters.count_documents({}) == 10


def test_first_use_beside_home_made_code(shop):
    """An upsert of the same name from an application, as the usual recipe has it."""
    daemons = [shop.start(), shop.start()]
    taken = []

    def home_made(name):
        for _ in range(20):
            document = shop.counters.find_one_and_update(
                {"_id": name}, {"$inc": {"seq": 1}}, upsert=True, return_document=True
            )
            taken.append(document["seq"])

    for i in range(3):
        taken.clear()
        thread = threading.Thread(target=home_made, args=(f"c{i}",))
        thread.start()
        values = first_uses(daemons, f"c{i}")
        thread.join()
        assert sorted(values + taken) == list(range(1, CLIENTS + 21))
