"""idmintd --survey: what the configured collection holds, and what would become of it."""

from bson import Decimal128, Int64
from daemon import run_idmintd

DOCUMENTS = [
    {"_id": "int32", "seq": 41},
    {"_id": "int64", "seq": Int64(2**40)},
    {"_id": "double", "seq": 7.0},
    {"_id": "fraction", "seq": 7.5},
    {"_id": "text", "seq": "7"},
    {"_id": "decimal", "seq": Decimal128("7")},
    {"_id": "null", "seq": None},
    {"_id": "missing"},
    {"_id": "great", "seq": 2.0**53},
    {"_id": "end", "seq": Int64(2**63 - 1)},
    {"_id": "a name", "seq": 1},
    {"_id": 12, "seq": 1},
]


def survey(shop, **mongo):
    settings = shop.settings(**mongo)
    options = ["--store", shop.servers.uri(), "--survey"]
    for key, value in settings.items():
        options += ["--set", f"{key}={value}"]
    done = run_idmintd(*options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_shape(shop):
    shop.counters.insert_many(DOCUMENTS)
    told = survey(shop)
    place = f"{shop.name}.counters"
    assert f"{place} int32: 41 (int32), the next value is 42" in told
    assert f"{place} int64: {2**40} (int64), the next value is {2**40 + 1}" in told
    assert f"{place} double: 7 (double, converted at its first use), the next value is 8" in told
    assert f"{place} missing: has no seq; set at its first use, which gets 1" in told
    assert f"{place} end: {2**63 - 1} (int64), EXHAUSTED" in told
    for name in ("fraction", "text", "decimal", "null", "great"):
        assert any(line.startswith(f"{place} {name}: REFUSED") for line in told), name
    assert any("'a name': no name reaches it" in line for line in told)
    assert any("no string" in line for line in told)
    assert list(shop.counters.find()) == DOCUMENTS


def test_what_comes_is_as_told(shop):
    """The values that the survey tells are those that the daemon issues."""
    shop.counters.insert_many(DOCUMENTS[:3])
    told = survey(shop)
    with shop.client() as client:
        for name in ("int32", "int64", "double"):
            (line,) = [line for line in told if f" {name}: " in line]
            assert client.call("NEXT", name) == int(line.rsplit(" ", 1)[1])


def test_before(shop):
    shop.counters.insert_one({"_id": "c", "seq": 41})
    assert f"{shop.name}.counters c: 41 (int32), the next value is 41" in survey(
        shop, returns="before"
    )


def test_names_the_index_that_is_missing(shop):
    shop.counters.insert_one({"name": "c", "seq": 1})
    told = survey(shop, key="name")
    assert any("createIndex" in line for line in told)
    assert [index["key"] for index in shop.counters.list_indexes()] == [{"_id": 1}]
