"""COUNTER SYNC: a counter goes on after the greatest value of a field."""

from bson import Decimal128, Int64
import pytest
from resp import Error


def sync(client, shop, name="c", collection="orders", field="number"):
    return client.call("COUNTER", "SYNC", name, f"{shop.name}.{collection}", field)


@pytest.mark.parametrize("greatest", [41, Int64(2**40), 41.0])
def test_goes_on_after_the_greatest(shop, greatest):
    shop.database["orders"].create_index("number")
    shop.database["orders"].insert_many([{"number": 3}, {"number": greatest}, {"other": 99}])
    with shop.client() as client:
        assert client.call("NEXT", "c") == 1
        assert sync(client, shop) == b"%d" % int(greatest)
        assert client.call("NEXT", "c") == int(greatest) + 1
        # Forward only.
        client.call("COUNTER", "RAISE", "c", str(2**50))
        assert sync(client, shop) == b"%d" % 2**50


def test_by_id_and_of_a_counter_that_is_not_there(shop):
    shop.database["orders"].insert_many([{"_id": 7}, {"_id": 12}])
    with shop.client() as client:
        assert sync(client, shop, name="fresh", field="_id") == b"12"
        assert client.call("NEXT", "fresh") == 13


@pytest.mark.parametrize(
    ("value", "what"),
    [("text", "string"), (1.5, "double"), (Decimal128("9"), "Decimal128"), (float("inf"), "double")],
)
def test_refuses_what_is_no_integer(shop, value, what):
    shop.database["orders"].create_index("number")
    shop.database["orders"].insert_many([{"number": 1}, {"number": value}])
    with shop.client() as client:
        reply = sync(client, shop)
        assert isinstance(reply, Error) and reply.word == "WRONGTYPE"
        assert what.encode() in reply
        assert client.call("NEXT", "c") == 1


def test_refuses_without_an_index_or_a_value(shop):
    shop.database["orders"].insert_one({"number": 5})
    with shop.client() as client:
        reply = sync(client, shop)
        assert isinstance(reply, Error) and b'createIndex({"number":1})' in reply
        shop.database["orders"].create_index("number")
        assert sync(client, shop) == b"5"
        assert b"no collection" in sync(client, shop, collection="nowhere")
        assert b"has a" in sync(client, shop, collection="nowhere", field="_id")
        assert b"database.collection" in client.call("COUNTER", "SYNC", "c", "orders", "number")


def test_not_on_other_stores(client):
    reply = client.call("COUNTER", "SYNC", "c", "a.b", "n")
    assert isinstance(reply, Error) and b"COUNTER RAISE" in reply
