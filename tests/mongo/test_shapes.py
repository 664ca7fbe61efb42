"""Documents that others have made: each is counted on as it is, and MongoDB itself is asked what it
holds afterwards."""

from bson import Decimal128, Int64, ObjectId
from conftest import is_error, long, same
import pytest

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1
MAX = str(INT64_MAX)
SPRING = {"_class": "com.example.Sequence", "collName": "orders", "seqId": long(41)}
PLUGIN = {"id": "orders", "reference_value": None, "seq": 41}
OLD_PLUGIN = {"model": "orders", "field": "number", "count": 41}


SHAPES = {
    "seq": ({"_id": "orders", "seq": 41}, {}, {}, {"seq": 42}),
    "next": ({"_id": "orders", "next": 42}, {"field": "next", "returns": "before"}, {}, {"next": 43}),
    "counter": ({"_id": "orders", "counter": 41}, {"field": "counter"}, {}, {"counter": 42}),
    "spring": (SPRING, {"key": "collName", "field": "seqId"}, {}, {"seqId": long(42)}),
    "mongoose-sequence": (
        PLUGIN,
        {},
        {"match": '{"id": "orders", "reference_value": null}'},
        {"seq": 42},
    ),
    "mongoose-auto-increment": (
        OLD_PLUGIN,
        {"field": "count"},
        {"match": '{"model": "orders", "field": "number"}'},
        {"count": 42},
    ),
    "only document": ({"_id": ObjectId(), "last": 41}, {"field": "last"}, {"match": "{}"}, {"last": 42}),
    "name with spaces": ({"_id": "my orders", "seq": 41}, {}, {"match": '{"_id": "my orders"}'}, {"seq": 42}),
    "nested": ({"_id": "orders", "a": {"b": 41}}, {"field": "a.b"}, {}, {"a": {"b": 42}}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shape(shop, shape):
    document, mongo, counter, change = SHAPES[shape]
    shop.counters.insert_one(document)
    own = {f"counter orders.{key}": value for key, value in counter.items()}
    with shop.client(own, **mongo) as client:
        assert client.call("NEXT", "orders") == 42
        same(shop.counters.find_one(), {**document, **change})
        assert client.call("NEXT", "orders", 8) == [43, 50]
        assert client.call("GET", "orders") == b"50"
    assert shop.counters.count_documents({}) == 1


def test_another_collection_for_one_counter(shop):
    shop.database["sequence"].insert_one({"_id": "bills", "n": 7})
    own = {"counter bills.collection": "sequence", "counter bills.field": "n"}
    with shop.client(own) as client:
        assert client.call("NEXT", "bills") == 8
        assert client.call("NEXT", "orders") == 1
        names = client.call("COUNTER", "LIST")[1]
        assert b"bills" in str(names).encode() and b"orders" in str(names).encode()
    assert shop.database["sequence"].find_one() == {"_id": "bills", "n": 8}
    assert shop.counters.find_one() == {"_id": "orders", "seq": 1}


# What the field holds; what NEXT gives; what the field holds then.
VALUES = {
    "int32": (41, 42, 42),
    "int64": (long(41), 42, long(42)),
    "negative": (-5, -4, -4),
    "double": (41.0, 42, long(42)),
    "int32's end": (INT32_MAX, INT32_MAX + 1, long(INT32_MAX + 1)),
    "past 2^53": (long(2**53 + 1), 2**53 + 2, long(2**53 + 2)),
    "one before int64's end": (long(INT64_MAX - 1), INT64_MAX, long(INT64_MAX)),
    "int64's end": (long(INT64_MAX), "EXHAUSTED", long(INT64_MAX)),
    "double past 2^53": (float(2**53), "WRONGTYPE", float(2**53)),
    "fraction": (41.5, "WRONGTYPE", 41.5),
    "infinite": (float("inf"), "WRONGTYPE", float("inf")),
    "string": ("41", "WRONGTYPE", "41"),
    "null": (None, "WRONGTYPE", None),
    "Decimal128": (Decimal128("41"), "WRONGTYPE", Decimal128("41")),
    "array": ([1, 2], "WRONGTYPE", [1, 2]),
    "document": ({"n": 1}, "WRONGTYPE", {"n": 1}),
}


@pytest.mark.parametrize("returns", ["after", "before"])
@pytest.mark.parametrize("kind", VALUES)
def test_value(shop, kind, returns):
    value, given, after = VALUES[kind]
    shop.counters.insert_one({"_id": "orders", "seq": value})
    with shop.client({"counters.max": MAX}, returns=returns) as client:
        reply = client.call("NEXT", "orders")
    if isinstance(given, str):
        is_error(reply, given)
    else:
        assert reply == given - (returns == "before")
    same(shop.counters.find_one(), {"_id": "orders", "seq": after})


def test_wrong_type_says_what_it_is(shop):
    shop.counters.insert_one({"_id": "orders", "seq": "41"})
    with shop.client() as client:
        assert "a string" in is_error(client.call("NEXT", "orders"), "WRONGTYPE")
        assert "a string" in is_error(client.call("COUNTER", "RAISE", "orders", 50), "WRONGTYPE")
        shop.counters.update_one({}, {"$set": {"seq": 41}})
        assert client.call("NEXT", "orders") == 42  # mended by hand: no restart


def test_field_missing(shop):
    shop.counters.insert_one({"_id": "orders", "note": "kept"})
    with shop.client() as client:
        assert client.call("NEXT", "orders", 3) == [1, 3]
    assert shop.counters.find_one() == {"_id": "orders", "note": "kept", "seq": 3}


def test_absent(shop):
    with shop.client() as client:
        assert client.call("NEXT", "orders") == 1
        same(shop.counters.find_one(), {"_id": "orders", "seq": 1})
        assert client.call("GET", "bills") is None
    assert shop.counters.count_documents({}) == 1


def test_absent_holding_the_next(shop):
    with shop.client({"counters.start": 100, "counters.step": 10}, returns="before") as client:
        assert client.call("NEXT", "orders") == 100
        same(shop.counters.find_one(), {"_id": "orders", "seq": 110})
        assert client.call("NEXT", "orders") == 110


def test_int64_asked_for(shop):
    shop.counters.insert_one({"_id": "orders", "seq": 41})
    with shop.client(type="int64") as client:
        assert client.call("NEXT", "orders") == 42
        assert client.call("NEXT", "bills") == 1
    same(shop.counters.find_one({"_id": "orders"}), {"_id": "orders", "seq": long(42)})
    same(shop.counters.find_one({"_id": "bills"}), {"_id": "bills", "seq": long(1)})


def test_no_creation(shop):
    with shop.client({"counters.auto_create": "no"}) as client:
        is_error(client.call("NEXT", "orders"), "ERR")
    assert shop.counters.count_documents({}) == 0


def test_old_shell_goes_on(shop):
    """`$inc: 1` of the old shell adds a double, and the field becomes one, each time."""
    shop.counters.insert_one({"_id": "orders", "seq": 0})
    seen = []
    with shop.client() as client:
        for _ in range(5):
            document = shop.counters.find_one_and_update({}, {"$inc": {"seq": 1.0}}, new=True)
            seen.append(int(document["seq"] if document else 0))
            seen.append(client.call("NEXT", "orders"))
    assert type(shop.counters.find_one()["seq"]) is Int64
    assert seen[1::2] == [2, 4, 6, 8, 10]


def test_key_without_index(shop):
    """Two documents could be made; the error names the command that prevents it."""
    with shop.client(key="name") as client:
        text = is_error(client.call("NEXT", "orders"), "ERR")
        assert "createIndex" in text and '"name"' in text
        assert shop.counters.count_documents({}) == 0
        shop.counters.create_index("name", unique=True)
        assert client.call("NEXT", "orders") == 1
    document = shop.counters.find_one({}, {"_id": 0})
    assert document == {"name": "orders", "seq": 1}


def test_index_is_made(shop):
    with shop.client(key="name", create_index="yes") as client:
        assert client.call("NEXT", "orders") == 1
    assert any(index.get("unique") for index in shop.counters.index_information().values())


def test_partial_index_does_not_do(shop):
    shop.counters.create_index("name", unique=True, partialFilterExpression={"seq": {"$gt": 5}})
    with shop.client(key="name") as client:
        is_error(client.call("NEXT", "orders"), "ERR")


def test_two_documents(shop):
    shop.counters.insert_many([{"name": "orders", "seq": 1}, {"name": "orders", "seq": 5}])
    with shop.client(key="name") as client:
        assert "several documents" in is_error(client.call("NEXT", "orders"), "ERR")
    assert [document["seq"] for document in shop.counters.find()] == [1, 5]


def test_set_back_by_hand(shop):
    """What was issued is not issued again, whoever lowers the document, until someone says so."""
    with shop.client() as client:
        assert client.call("NEXT", "orders", 10) == [1, 10]
        shop.counters.update_one({}, {"$set": {"seq": 3}})
        is_error(client.call("NEXT", "orders"), "BACKWARD")
        is_error(client.call("NEXT", "orders"), "BACKWARD")
        assert client.call("COUNTER", "RAISE", "orders", 10) in (10, b"10")
        assert client.call("NEXT", "orders") == 11
