"""/metrics counts exactly what happened; /readyz and /leaderz say how the daemon is."""

from functools import partial
import json
import re

import pytest

from daemon import wait_until
from metrics import Scrape, get, metric_rows
from promtool import promtool
from resp import Client, Error, encode, word


@pytest.fixture
def start(start_on):
    return partial(start_on, http="127.0.0.1:0")


@pytest.fixture
def minter(start):
    return start()


@pytest.fixture
def client(minter):
    with Client(minter.address) as client:
        yield client


def test_format(minter, client):
    client.call("NEXT", "a")
    scrape = Scrape(minter)
    told = [(family.name, family.type, family.documentation) for family in scrape.families]
    # The parser takes the end off the names of counters.
    expected = [
        (name.removesuffix("_total") if kind == "counter" else name, kind, text)
        for name, kind, text in metric_rows()
    ]
    assert told == expected
    said = promtool("check", "metrics", stdin=scrape.text)
    assert said.strip() == ""


def test_commands_are_counted_by_name(minter, client):
    before = Scrape(minter)
    for command in (["OID"], ["OID", 5], ["oid", "line"], ["OID", "RANGE", 1000], ["NEXT", "a"]):
        assert not isinstance(client.call(*command), Error)
    client.send(encode("NEXT", "a") * 100 + encode("PING") * 50)
    client.replies(150)
    client.call("MULTI")
    client.call("INCR", "a")
    client.call("INCR", "a")
    assert client.call("EXEC") == [102, 103]
    after = Scrape(minter)
    counted = after.since(before, "command_duration_seconds_count", "command")
    assert counted["OID"] == 3
    assert counted["OID RANGE"] == 1
    assert counted["NEXT"] == 101
    assert counted["PING"] == 50
    assert counted["INCR"] == 2
    assert counted["EXEC"] == 1
    assert after.since(before, "issued_total", "kind") == {"oid": 1007, "counter": 103}
    assert after.since(before, "errors_total", "word") == {}


def test_a_run_is_counted_whole(minter, client):
    """Of which blocks serve a part at once, and a commit the rest."""
    client.call("COUNTER", "CREATE", "cached", "CACHE", 10)
    client.call("NEXT", "cached")
    before = Scrape(minter)
    for _ in range(20):
        client.send(encode("NEXT", "cached") * 37)
        client.replies(37)
    after = Scrape(minter)
    assert after.since(before, "command_duration_seconds_count", "command") == {"NEXT": 740}
    assert after.since(before, "issued_total", "kind") == {"counter": 740}
    replies = after.since(before, "counters_replies_total", "source")
    assert sum(replies.values()) == 740
    assert replies.keys() == {"block", "store"}


def test_values_are_counted_by_kind(minter, client):
    client.call("COUNTER", "CREATE", "cached", "CACHE", 100)
    before = Scrape(minter)
    client.call("NEXT", "a", 10)
    client.call("INCRBY", "a", 5)
    client.call("NEXT", "cached")  # reserves a block
    client.send(encode("NEXT", "cached") * 30)
    client.replies(30)
    client.call("UUID")
    client.call("UUID", "V7", 20)
    client.call("GET", "a")
    after = Scrape(minter)
    assert after.since(before, "issued_total", "kind") == {"counter": 46, "uuid": 21}
    replies = after.since(before, "counters_replies_total", "source")
    assert replies == {"block": 30, "store": 3}


def test_errors_are_counted_by_word(minter, client):
    client.call("COUNTER", "CREATE", "full", "MAX", 2)
    before = Scrape(minter)
    assert word(client.call("NOSUCH")) == "ERR"
    assert word(client.call("NEXT")) == "ERR"
    assert word(client.call("NEXT", "a", 0)) == "ERR"
    assert word(client.call("DECR", "a")) == "ERR"
    assert word(client.call("HELLO", 9)) == "NOPROTO"
    client.send(encode("NEXT", "full") * 5)
    assert [word(reply) for reply in client.replies(5)[2:]] == ["EXHAUSTED"] * 3
    client.call("MULTI")
    assert word(client.call("NOSUCH")) == "ERR"
    assert word(client.call("EXEC")) == "EXECABORT"
    assert word(client.call("COUNTER", "INFO", "nowhere")) == "ERR"
    client.send(b"*1\r\n$x\r\n")
    assert word(client.reply()) == "ERR"
    after = Scrape(minter)
    counted = after.since(before, "errors_total", "word")
    assert counted == {"ERR": 7, "NOPROTO": 1, "EXHAUSTED": 3, "EXECABORT": 1}
    assert after.since(before, "issued_total", "kind") == {"counter": 2}


def test_http_is_counted(minter):
    before = Scrape(minter)
    assert get(minter, "/v1/counters/nowhere")[0] == 404
    assert get(minter, "/nowhere")[0] == 404
    assert get(minter, "/healthz")[0] == 200
    assert get(minter, "/v1/info")[0] == 200
    after = Scrape(minter)
    # One of 2xx is a scrape.
    assert after.since(before, "http_requests_total", "status") == {"2xx": 3, "4xx": 2}
    assert after.since(before, "command_duration_seconds_count", "command") == {
        "COUNTER INFO": 1,
        "INFO": 1,
    }


def test_an_outage_is_counted(minter, client, store):
    assert client.call("NEXT", "a") == 1
    before = Scrape(minter)
    assert before("store_up") == 1
    store.set("not_done")
    for _ in range(3):
        assert word(client.call("NEXT", "a")) == "TRYAGAIN"
    store.set("unknown_lost")
    for _ in range(2):
        assert word(client.call("NEXT", "a")) == "UNCERTAIN"
    down = Scrape(minter)
    assert down("store_up") == 0
    assert down.since(before, "errors_total", "word") == {"TRYAGAIN": 3, "UNCERTAIN": 2}
    assert down.since(before, "store_ops_total", "outcome") == {"not_done": 3, "unknown": 2}
    assert down.since(before, "issued_total", "kind") == {}
    store.set("ok")
    assert client.call("NEXT", "a") == 2
    up = Scrape(minter)
    assert up("store_up") == 1
    assert up.since(before, "store_ops_total", "outcome") == {
        "not_done": 3,
        "unknown": 2,
        "done": 1,
    }
    assert up("store_commit_duration_seconds_count") - before(
        "store_commit_duration_seconds_count"
    ) == 6
    assert up("store_commit_ops_sum") - before("store_commit_ops_sum") == 6


def test_a_hang_is_counted(start, store):
    minter = start(**{"limits.request": "100ms"})
    with Client(minter.address) as client, Client(minter.address) as other:
        before = Scrape(minter)
        store.set("hang")
        assert word(client.call("NEXT", "a")) == "UNCERTAIN"
        assert word(other.call("NEXT", "b")) == "TRYAGAIN"
        hung = wait_until(
            lambda: scrape if (scrape := Scrape(minter))("store_up") == 0 else None, "a hang"
        )
        assert hung.since(before, "errors_total", "word") == {"TRYAGAIN": 1, "UNCERTAIN": 1}
        # What came too late took its time, too.
        counted = hung.since(before, "command_duration_seconds_count", "command")
        assert counted == {"NEXT": 2}
        slow = hung("command_duration_seconds_bucket", command="NEXT", le="0.05")
        assert slow == before("command_duration_seconds_bucket", command="NEXT", le="0.05")
        status, _, body = get(minter, "/readyz")
        assert status == 503
        assert json.loads(body)["why"] == "the store does not answer"
        store.set("ok")
        wait_until(lambda: Scrape(minter)("store_up") == 1, "the store to answer")
        assert get(minter, "/readyz")[0] == 200


def test_ready(minter, client, store):
    status, headers, body = get(minter, "/readyz")
    told = json.loads(body)
    assert status == 200
    assert headers["Content-Type"] == "application/json"
    assert told.keys() == {"ready", "store", "answered_ms_ago"}
    assert told["ready"] is True
    assert told["store"] == "memory"
    store.set("not_done")
    client.call("NEXT", "a")
    status, _, body = get(minter, "/readyz")
    told = json.loads(body)
    assert status == 503
    assert told["ready"] is False
    assert told["why"] == "a fault by script"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", told["since"])
    assert told["for_ms"] >= 0
    store.set("ok")
    client.call("NEXT", "a")
    assert get(minter, "/readyz")[0] == 200


def test_readiness_comes_and_goes_without_clients(start, store):
    minter = start(**{"oid.window": "1s"})
    store.set("not_done")
    wait_until(lambda: get(minter, "/readyz")[0] == 503, "not ready")
    store.set("ok")
    wait_until(lambda: get(minter, "/readyz")[0] == 200, "ready")


def test_leads(minter):
    status, _, body = get(minter, "/leaderz")
    assert status == 200
    assert json.loads(body) == {"leads": True, "leader": None, "lease": False}
    scrape = Scrape(minter)
    assert scrape("leads") == 1
    # The last second of it counts whole.
    assert 3500 < scrape("oid_window_seconds") <= scrape("oid_window_size_seconds") + 1 == 3601


def test_info_tells_the_same(minter, client):
    client.send(encode("NEXT", "a") * 7)
    client.replies(7)
    scrape = Scrape(minter)
    info = client.info()
    assert int(info["store_commits"]) == scrape("store_commit_ops_count")
    assert int(info["store_ops"]) == scrape("store_commit_ops_sum")
    assert int(info["store_answers"]) == scrape("store_up") == 1
    assert int(info["counters_in_memory"]) == scrape("counters_in_memory") == 1
    assert int(info["counters_flushes"]) == scrape("counters_flushes_total")
    assert int(info["maxclients"]) == scrape("connections_limit")
    assert int(info["counters_headroom_percent"]) == 100 * scrape("counters_headroom_ratio") == 99
    assert info["store"] == "memory"
    [(_, labels)] = [key for key in scrape.samples if key[0] == "idmint_build_info"]
    assert dict(labels) == {
        "version": info["idmint_version"],
        "store": info["store"],
        "engine": info["store_engine"],
    }


def test_connections_and_descriptors(minter, client):
    def scrape_of(connections):
        """Other scrapes' connections may not be gone yet."""
        scrape = Scrape(minter)
        return scrape if scrape("connections") == connections else None

    # The client's, and the scrape's own.
    before = wait_until(lambda: scrape_of(2), "two connections")
    others = [Client(minter.address) for _ in range(20)]
    for other in others:
        other.call("PING")
    opened = Scrape(minter)("connections_opened_total") - before("connections_opened_total")
    assert opened == 21
    after = wait_until(lambda: scrape_of(22), "22 connections")
    # A connection that has gone keeps its descriptor for a turn.
    assert abs(after("process_open_fds") - before("process_open_fds") - 20) <= 1
    for other in others:
        other.close()
    wait_until(lambda: scrape_of(2), "two connections again")


def test_headroom_is_one_gauge_without_names(minter, client):
    client.call("COUNTER", "CREATE", "name-of-a-customer", "MAX", 101)
    client.call("NEXT", "name-of-a-customer", 93)
    scrape = Scrape(minter)
    assert scrape("counters_headroom_ratio") == 0.08
    assert "customer" not in scrape.text


def test_the_process(minter, client):
    scrape = Scrape(minter)
    assert scrape("process_resident_memory_bytes") == pytest.approx(minter.rss_bytes(), rel=0.2)
    assert scrape("process_start_time_seconds") == Scrape(minter)("process_start_time_seconds")
    assert 0 < scrape("process_cpu_seconds_total") < 60
    assert scrape("process_max_fds") > scrape("process_open_fds") > 5
