"""What each path of the HTTP API does, on a running daemon; every value that one protocol issues is
seen by the other."""

import base64
from concurrent.futures import ThreadPoolExecutor
import re
import time
import uuid

from daemon import wait_until
from http_json import Api
import pytest
from resp import Client

OID = re.compile("[0-9a-f]{24}")
URN = "urn:idmint:error:"
BIG = 2**63 - 1


@pytest.fixture
def served(start_http):
    return start_http()


@pytest.fixture
def api(served):
    with Api(served[1]) as api:
        yield api


@pytest.fixture
def resp_client(served):
    with Client(served[0].address) as client:
        yield client


def tick(oid):
    return int(oid[:8] + oid[18:], 16)


# --- ObjectIds and UUIDs


def test_oids_are_issued_in_order(api, resp_client):
    first = api.ok("POST", "/v1/oids")
    assert list(first) == ["ids", "first", "last", "count"]
    assert first["count"] == 1 and first["ids"] == [first["first"]] == [first["last"]]
    assert OID.fullmatch(first["first"])
    many = api.ok("POST", "/v1/oids", {"count": 100})
    assert many["count"] == len(many["ids"]) == 100
    assert [tick(oid) for oid in many["ids"]] == list(
        range(tick(many["first"]), tick(many["last"]) + 1)
    )
    other = resp_client.call("OID").decode()
    last = api.ok("POST", "/v1/oids", {"count": "2"})
    assert first["last"] < many["first"] < many["last"] < other < last["first"] < last["last"]


def test_the_greatest_batch_of_oids(api):
    many = api.ok("POST", "/v1/oids", {"count": 100000})
    assert len(set(many["ids"])) == 100000
    assert many["ids"] == sorted(many["ids"])
    assert (many["ids"][0], many["ids"][-1]) == (many["first"], many["last"])


def test_range_of_oids(api):
    wide = api.ok("POST", "/v1/oids", {"count": 1000000, "range": True})
    assert list(wide) == ["first", "last", "count"] and wide["count"] == 1000000
    assert tick(wide["last"]) - tick(wide["first"]) == 999999
    assert wide["first"][8:18] == wide["last"][8:18]
    assert api.ok("POST", "/v1/oids")["first"] > wide["last"]


def test_oid_is_decoded(api):
    expected = {
        "id": "507f1f77bcf86cd799439011",
        "time": "2012-10-17T21:13:27Z",
        "seconds": 1350508407,
        "random": "bcf86cd799",
        "counter": 4427793,
        "legacy": {"machine": "bcf86c", "pid": 55193},
    }
    assert api.ok("GET", "/v1/oids/507f1f77bcf86cd799439011") == expected
    assert api.ok("GET", "/v1/oids/507F1F77BCF86CD799439011") == expected
    for wrong in ["507f1f77bcf86cd79943901", "507f1f77bcf86cd79943901g", "x"]:
        answer, problem = api.problem("GET", f"/v1/oids/{wrong}")
        assert answer.status == 400
        assert problem["detail"] == "an ObjectId is 24 hex digits"


@pytest.mark.parametrize(
    "at",
    [
        "1700000000",
        "2023-11-14T22:13:20Z",
        "2023-11-15T00:13:20%2B02:00",
        "2023-11-15T00:13:20+02:00",
    ],
)
def test_lowest_oid_of_a_second(api, at):
    assert api.ok("GET", f"/v1/oids?at={at}") == {"id": "6553f1000000000000000000"}


def test_time_that_is_none(api):
    answer, problem = api.problem("GET", "/v1/oids?at=yesterday")
    assert (answer.status, problem["error"]) == (400, "ERR")
    assert "unix seconds or RFC 3339" in problem["detail"]


@pytest.mark.parametrize("version", [4, 7])
@pytest.mark.parametrize("plain", [False, True])
def test_uuids(api, version, plain):
    made = api.ok("POST", "/v1/uuids", {"count": 50, "version": version, "plain": plain})
    assert made["count"] == len(set(made["uuids"])) == 50
    for text in made["uuids"]:
        assert text == (uuid.UUID(text).hex if plain else str(uuid.UUID(text)))
        assert uuid.UUID(text).version == version
    if version == 7:
        assert made["uuids"] == sorted(made["uuids"])


def test_uuid_without_wishes(api):
    made = api.ok("POST", "/v1/uuids")
    assert made["count"] == 1
    assert uuid.UUID(made["uuids"][0]).version == 4


# --- Counters


def test_next(api, resp_client):
    assert api.ok("POST", "/v1/counters/orders/next") == {
        "name": "orders",
        "first": 1,
        "last": 1,
        "count": 1,
        "first_str": "1",
        "last_str": "1",
    }
    assert resp_client.call("NEXT", "orders") == 2
    taken = api.ok("POST", "/v1/counters/orders/next", {"count": 10})
    assert (taken["first"], taken["last"], taken["count"]) == (3, 12, 10)
    taken = api.ok("POST", "/v1/next", {"name": "orders", "count": "5"})
    assert (taken["first"], taken["last_str"]) == (13, "17")
    assert resp_client.call("GET", "orders") == b"17"


def test_names_in_paths(api, resp_client):
    for path, name in [
        ("a%2Fb", "a/b"),
        ("a+b", "a+b"),
        ("%25", "%"),
        ("%C3%A9%22%5C", 'é"\\'),
        ("next", "next"),
        ("...", "..."),
    ]:
        assert api.ok("POST", f"/v1/counters/{path}/next")["name"] == name
        assert api.ok("POST", "/v1/next", {"name": name})["first"] == 2
        assert resp_client.call("NEXT", name) == 3
        assert api.ok("GET", f"/v1/counters/{path}")["name"] == name


def test_values_past_the_doubles(api):
    made = {"value": str(BIG - 10), "max": str(BIG)}
    api.ok("PUT", "/v1/counters/wide", made, status=201)
    taken = api.ok("POST", "/v1/counters/wide/next", {"count": 10})
    assert (taken["first"], taken["last"]) == (BIG - 9, BIG)
    assert (taken["first_str"], taken["last_str"]) == (str(BIG - 9), str(BIG))
    answer = api.get("/v1/counters/wide")
    assert f'"value":{BIG},"value_str":"{BIG}"'.encode() in answer.body
    assert answer.json["max_str"] == str(BIG)
    low = {"start": -(2**63) + 1}
    api.ok("PUT", "/v1/counters/low", low, status=201)
    assert api.ok("POST", "/v1/counters/low/next")["first_str"] == str(-(2**63) + 1)
    assert api.ok("GET", "/v1/counters/low")["start_str"] == str(-(2**63) + 1)
    api.ok("PUT", "/v1/counters/strides", {"step": str(BIG - 1), "max": str(BIG)}, status=201)
    assert api.ok("GET", "/v1/counters/strides")["step_str"] == str(BIG - 1)


def test_counter_is_created_once(api):
    answer = api.send("PUT", "/v1/counters/a%2Fb", {"start": 100, "step": 10, "cache": 5})
    assert (answer.status, answer.json) == (201, {"name": "a/b", "created": True})
    assert answer.headers["Location"] == "/v1/counters/a%2Fb"
    assert api.ok("GET", answer.headers["Location"]) == {
        "name": "a/b",
        "value": 90,
        "value_str": "90",
        "start": 100,
        "start_str": "100",
        "step": 10,
        "step_str": "10",
        "max": 2**53 - 1,
        "max_str": str(2**53 - 1),
        "cache": 5,
    }
    taken = api.ok("POST", "/v1/counters/a%2Fb/next", {"count": 2})
    assert (taken["first"], taken["last"]) == (100, 110)
    # Again: nothing is done, nothing moves.
    same = {"start": 100, "step": 10, "cache": 5}
    answer = api.send("PUT", "/v1/counters/a%2Fb", same)
    assert (answer.status, answer.json) == (200, {"name": "a/b", "created": False})
    assert answer.headers["Location"] is None
    assert api.ok("POST", "/v1/counters/a%2Fb/next")["first"] == 120
    for others in [{}, {"start": 100}, {**same, "max": 5000}, {**same, "value": 100000}]:
        answer, problem = api.problem("PUT", "/v1/counters/a%2Fb", others)
        assert (answer.status, problem["type"]) == (409, URN + "counter-exists")
    assert api.ok("GET", "/v1/counters/a%2Fb")["step"] == 10


@pytest.mark.parametrize(
    "options",
    [{"step": 0}, {"start": 5, "max": 4}, {"cache": 0}, {"value": -1}, {"max": 7, "value": 8}],
)
def test_options_that_make_no_counter(api, options):
    answer, problem = api.problem("PUT", "/v1/counters/odd", options)
    assert (answer.status, problem["error"]) == (400, "ERR")
    assert api.get("/v1/counters/odd").status == 404


def test_counter_is_moved(api):
    api.ok("POST", "/v1/counters/c/next")
    moved = api.ok("PATCH", "/v1/counters/c", {"raise": 500})
    assert moved == {"name": "c", "value": 500, "value_str": "500"}
    assert api.ok("PATCH", "/v1/counters/c", {"raise": "7"})["value"] == 500
    assert api.ok("POST", "/v1/counters/c/next")["first"] == 501
    answer, problem = api.problem("PATCH", "/v1/counters/c", {"reset": 7})
    assert answer.status == 400 and "values be issued again" in problem["detail"]
    moved = api.ok("PATCH", "/v1/counters/c", {"reset": 7, "force": True})
    assert moved == {"name": "c", "value": 7, "value_str": "7"}
    assert api.ok("POST", "/v1/counters/c/next")["first"] == 8


def test_sync_needs_a_store_with_collections(api):
    sync = {"sync": {"collection": "shop.orders", "field": "number"}}
    answer, problem = api.problem("PATCH", "/v1/counters/c", sync)
    assert answer.status == 400
    assert "no collections" in problem["detail"]


def test_counter_is_dropped(api):
    api.ok("POST", "/v1/counters/c/next", {"count": 5})
    for query in ["", "?force=false"]:
        answer, problem = api.problem("DELETE", f"/v1/counters/c{query}")
        assert answer.status == 400 and "?force=true" in problem["detail"]
    answer = api.send("DELETE", "/v1/counters/c?force=true")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["Content-Length"] is None and answer.headers["Content-Type"] is None
    answer, problem = api.problem("DELETE", "/v1/counters/c?force=true")
    assert (answer.status, problem["type"]) == (404, URN + "unknown-counter")
    assert api.ok("POST", "/v1/counters/c/next")["first"] == 1


def test_counters_are_listed(api):
    names = [f"list/{i:02}" for i in range(25)]
    for name in [*names, "other"]:
        api.ok("POST", "/v1/next", {"name": name})
    seen, after = [], ""
    while after is not None:
        page = api.ok("GET", f"/v1/counters?prefix=list/&after={after}&limit=10")
        seen += [counter["name"] for counter in page["counters"]]
        after = page["next"]
    assert seen == names
    assert api.ok("GET", "/v1/counters?prefix=oth") == {
        "counters": [api.ok("GET", "/v1/counters/other")],
        "next": None,
    }
    assert len(api.ok("GET", "/v1/counters")["counters"]) == 26


def test_reading_takes_nothing(api, resp_client):
    api.ok("POST", "/v1/counters/c/next")
    before = resp_client.call("OID").decode()
    for path in [
        "/v1/counters/c",
        "/v1/counters/new",
        "/v1/counters",
        "/v1/info",
        f"/v1/oids/{before}",
        "/v1/oids?at=1",
        "/metrics",
        "/readyz",
        "/",
        "/v1/counters/c/next",
        "/v1/next",
        "/v1/oids",
        "/v1/uuids",
    ]:
        for method in ["GET", "HEAD"]:
            assert api.send(method, path).status in (200, 400, 404, 405)
    after = resp_client.call("OID").decode()
    assert tick(after) & 0xFFFFFF == (tick(before) + 1) & 0xFFFFFF
    assert resp_client.call("GET", "c") == b"1"
    assert resp_client.call("EXISTS", "new") == 0


def test_counter_that_is_not_there(start_http):
    daemon, address = start_http(settings={"counters.auto_create": "no"})
    with Api(address) as api:
        for method, path, body in [
            ("GET", "/v1/counters/none", None),
            ("POST", "/v1/counters/none/next", None),
            ("PATCH", "/v1/counters/none", {"raise": 5}),
            ("DELETE", "/v1/counters/none?force=true", None),
        ]:
            answer, problem = api.problem(method, path, body)
            assert (answer.status, problem["type"]) == (404, URN + "unknown-counter")
            assert problem["error"] == "ERR" and problem["hint"]


def test_etag(api):
    api.ok("POST", "/v1/counters/c/next")
    first = api.get("/v1/counters/c")
    tag = first.headers["ETag"]
    assert re.fullmatch('"[0-9a-f]{16}"', tag)
    for header in [tag, "W/" + tag, f'"x", {tag}', "*"]:
        same = api.get("/v1/counters/c", If_None_Match=header)
        assert (same.status, same.body, same.headers["ETag"]) == (304, b"", tag)
        assert same.headers["Content-Type"] is None
    api.ok("POST", "/v1/counters/c/next")
    changed = api.get("/v1/counters/c", If_None_Match=tag)
    assert changed.status == 200 and changed.json["value"] == 2
    assert changed.headers["ETag"] != tag


def test_max_is_reached(api):
    api.ok("PUT", "/v1/counters/short", {"max": 3}, status=201)
    api.ok("POST", "/v1/counters/short/next", {"count": 2})
    answer, problem = api.problem("POST", "/v1/counters/short/next", {"count": 2})
    assert (answer.status, problem["type"]) == (409, URN + "exhausted")
    assert answer.headers["Retry-After"] is None
    assert problem["error"] == "EXHAUSTED" and problem["detail"] and problem["hint"]
    assert api.ok("POST", "/v1/counters/short/next")["first"] == 3


def test_no_value_is_issued_twice(served):
    def take(worker):
        with Api(served[1]) as api:
            return [api.ok("POST", "/v1/counters/many/next")["first"] for _ in range(50)]

    with ThreadPoolExecutor(8) as workers:
        taken = [value for values in workers.map(take, range(8)) for value in values]
    assert sorted(taken) == list(range(1, 401))


# --- How requests are taken


def test_connection_is_kept(api):
    local = api.http.sock.getsockname()
    for _ in range(3):
        api.ok("POST", "/v1/oids")
        api.problem("GET", "/nowhere")
        api.problem("POST", "/v1/oids", {"count": 0})
        assert api.http.sock.getsockname() == local


def test_head_is_get_without_body(api):
    api.ok("POST", "/v1/counters/c/next")
    for path in ["/v1/counters/c", "/v1/info", "/healthz", "/openapi.yaml", "/v1/oids?at=1", "/"]:
        whole, head = api.get(path), api.send("HEAD", path)
        assert head.status == whole.status == 200 and head.body == b""
        assert head.type == whole.type
        if path != "/v1/info":
            assert head.headers["Content-Length"] == str(len(whole.body))
    assert api.send("HEAD", "/v1/counters/none").status == 404
    tags = {api.send(method, "/v1/counters/c").headers["ETag"] for method in ("GET", "HEAD")}
    assert len(tags) == 1 and None not in tags


@pytest.mark.parametrize(
    "method, path, allow",
    [
        ("GET", "/v1/counters/c/next", "POST"),
        ("DELETE", "/v1/oids", "GET, HEAD, POST"),
        ("POST", "/v1/counters/c", "GET, HEAD, PUT, PATCH, DELETE"),
        ("POST", "/v1/counters", "GET, HEAD"),
        ("PUT", "/healthz", "GET, HEAD"),
        ("OPTIONS", "/v1/uuids", "POST"),
    ],
)
def test_method_that_is_not_allowed(api, method, path, allow):
    answer, problem = api.problem(method, path)
    assert (answer.status, answer.headers["Allow"]) == (405, allow)
    assert (problem["type"], problem["title"]) == ("about:blank", "Method Not Allowed")
    assert "error" not in problem


def test_method_that_is_unknown(api):
    assert api.problem("BREW", "/v1/oids")[0].status == 501


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/oid", "/v1/oids/", "/v1/counters/a/b", "//", "/v1/../v1/info", "/V1/info"]
)
def test_path_that_is_unknown(api, path):
    answer, problem = api.problem("GET", path)
    assert (answer.status, problem["title"]) == (404, "Not Found")


def test_media_types(api):
    for accepted in ["application/json", "application/JSON; charset=utf-8"]:
        assert api.post("/v1/oids", b'{"count":2}', Content_Type=accepted).json["count"] == 2
    assert api.post("/v1/oids", b'{"count":2}').json["count"] == 2  # none
    assert api.post("/v1/oids", b"", Content_Type="text/plain").status == 200  # no body
    form = "application/x-www-form-urlencoded"
    for refused in ["text/plain", form, "multipart/form-data; boundary=x"]:
        answer, problem = api.problem("POST", "/v1/oids", b'{"count":2}', Content_Type=refused)
        assert (answer.status, problem["title"]) == (415, "Unsupported Media Type")


@pytest.mark.parametrize(
    "body, detail",
    [
        (b'{"count":1.5}', "count must be an integer of 64 bits"),
        (b'{"count":9223372036854775808}', "a number is out of range"),
        (b'{"count":1,"count":2}', "duplicate object key"),
        (b'{"cuont":1}', "unknown member 'cuont'; there are: count, range"),
        (b'{"count":', "invalid JSON"),
        (b"[1]", "the body must be a JSON object"),
        (b"\xff", "invalid JSON"),
        (b"[" * 60000, "more than 4 levels"),
    ],
)
def test_body_that_is_wrong(api, body, detail):
    answer, problem = api.problem("POST", "/v1/oids", body, Content_Type="application/json")
    assert (answer.status, problem["type"]) == (400, URN + "err")
    assert detail in problem["detail"]


def test_body_that_is_too_large(start_http):
    daemon, address = start_http(settings={"http.body": "1KiB"})
    with Api(address) as api:
        answer = api.post("/v1/oids", b'{"count":2' + b" " * 900 + b"}")
        assert answer.status == 200
    with Api(address) as api:
        answer, problem = api.problem("POST", "/v1/oids", b'{"count":2' + b" " * 1100 + b"}")
        assert (answer.status, problem["title"]) == (413, "Content Too Large")


def test_idempotency_key_is_refused(api):
    answer, problem = api.problem("POST", "/v1/oids", Idempotency_Key="8e03978e")
    assert answer.status == 400
    assert "not supported yet" in problem["detail"]


def test_answers_are_not_stored(api):
    for path in ["/v1/info", "/v1/counters", "/nowhere", "/healthz"]:
        assert api.get(path).headers["Cache-Control"] == "no-store"
    assert api.post("/v1/oids").headers["Cache-Control"] == "no-store"


def test_info(api):
    info = api.ok("GET", "/v1/info")
    assert info["server"]["redis_version"] and info["server"]["uptime_in_seconds"] >= 0
    assert info["store"]["store"] == "sqlite"
    assert set(info) >= {"server", "clients", "stats", "store", "replication", "oid", "counters"}


def test_documents(api):
    answer = api.get("/openapi.yaml")
    assert answer.body.startswith(b"openapi: 3.1")
    assert answer.type == "application/yaml"
    page = api.get("/")
    assert page.type == "text/html" and b"<!DOCTYPE html>" in page.body


# --- Credentials


@pytest.fixture
def guarded(start_http, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.write_text("default:secret\n")
    passwords.chmod(0o600)
    return start_http(settings={"auth.password_file": str(passwords)})[1]


def test_credentials(guarded):
    basic = base64.b64encode(b"default:secret").decode()
    wrong = base64.b64encode(b"default:wrong").decode()
    with Api(guarded) as api:
        assert api.get("/healthz").status == 200
        nameless = base64.b64encode(b":secret").decode()
        for good in ["Bearer secret", f"Basic {basic}", f"basic {basic}", f"Basic {nameless}"]:
            assert api.post("/v1/oids", Authorization=good).status == 200
        for path in ["/v1/info", "/", "/metrics", "/openapi.yaml", "/nowhere"]:
            answer, problem = api.problem("GET", path)
            assert (answer.status, problem["type"]) == (401, URN + "noauth")
            assert "Basic" in ",".join(answer.headers.get_all("WWW-Authenticate"))
        for bad in ["Bearer wrong", f"Basic {wrong}"]:
            answer, problem = api.problem("POST", "/v1/oids", Authorization=bad)
            assert (answer.status, problem["type"]) == (401, URN + "wrongpass")


def test_long_credentials(start_http, tmp_path):
    passwords = tmp_path / "passwords"
    pair = "bob:" + 1020 * "q"
    passwords.write_text(pair + "\n")
    passwords.chmod(0o600)
    with Api(start_http(settings={"auth.password_file": str(passwords)})[1]) as api:
        basic = base64.b64encode(pair.encode()).decode()
        for good in [f"Bearer {pair}", f"Basic {basic}"]:
            assert api.post("/v1/oids", Authorization=good).status == 200


# --- Pages of other sites


def test_a_listed_site_may_read(start_http, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.write_text("secret\n")
    passwords.chmod(0o600)
    settings = {"http.origins": "https://app.test", "auth.password_file": str(passwords)}
    with Api(start_http(settings=settings)[1]) as api:
        asked = api.send("OPTIONS", "/v1/oids", Origin="https://app.test")
        assert asked.status == 204
        assert asked.headers["Access-Control-Allow-Origin"] == "https://app.test"
        assert "POST" in asked.headers["Access-Control-Allow-Methods"]
        assert "Authorization" in asked.headers["Access-Control-Allow-Headers"]
        good = {"Authorization": "Bearer secret", "Origin": "https://app.test"}
        answer = api.post("/v1/oids", **good)
        assert answer.status == 200
        assert answer.headers["Access-Control-Allow-Origin"] == "https://app.test"
        assert api.post("/v1/oids", Origin="https://app.test").status == 401
        for method in ["OPTIONS", "POST"]:
            answer = api.send(method, "/v1/oids", **{**good, "Origin": "https://other.test"})
            assert answer.status == 403
            assert answer.headers["Access-Control-Allow-Origin"] is None
        # What was allowed to one is not told the next.
        answer = api.post("/v1/oids", Authorization="Bearer secret")
        assert answer.headers["Access-Control-Allow-Origin"] is None


# --- When the store fails


@pytest.fixture
def frail(start_on):
    """The API of a daemon on a store that may fail."""
    with Api(start_on(http="127.0.0.1:0").http) as api:
        yield api


def test_store_refuses(frail, store):
    frail.ok("POST", "/v1/counters/c/next")
    store.set("not_done")
    for method, path, body in [
        ("POST", "/v1/counters/c/next", None),
        ("PUT", "/v1/counters/d", {}),
        ("PATCH", "/v1/counters/c", {"raise": 9}),
        ("GET", "/v1/counters/c", None),
        ("GET", "/v1/counters", None),
    ]:
        answer, problem = frail.problem(method, path, body)
        assert (answer.status, problem["type"]) == (503, URN + "tryagain"), path
        assert answer.headers["Retry-After"] == "1"
        assert problem["error"] == "TRYAGAIN"
    wait_until(lambda: frail.get("/readyz").status == 503, "/readyz says it")
    ready = frail.get("/readyz")
    assert ready.type == "application/json" and ready.json["ready"] is False and ready.json["why"]
    assert frail.get("/healthz").status == 200
    frail.ok("POST", "/v1/oids")  # goes on, within its window
    store.set("ok")
    assert frail.ok("POST", "/v1/counters/c/next")["first"] == 2
    wait_until(lambda: frail.get("/readyz").status == 200, "/readyz says it")


def test_outcome_is_not_known(frail, store):
    assert frail.ok("POST", "/v1/counters/c/next")["first"] == 1
    store.set("unknown_applied")
    answer, problem = frail.problem("POST", "/v1/counters/c/next")
    assert (answer.status, problem["type"]) == (504, URN + "uncertain")
    assert answer.headers["Retry-After"] is None
    store.set("ok")
    assert frail.ok("POST", "/v1/counters/c/next")["first"] == 3  # a gap, no duplicate


def test_store_hangs(start_on, store):
    """Each request ends within its deadline, and the connection goes on."""
    daemon = start_on(http="127.0.0.1:0", **{"limits.request": "200ms"})
    with Api(daemon.http) as api:
        store.set("hang")
        began = time.monotonic()
        answer, problem = api.problem("POST", "/v1/counters/c/next")
        assert answer.status in (503, 504) and problem["error"] in ("TRYAGAIN", "UNCERTAIN")
        assert time.monotonic() - began < 3
        assert api.ok("GET", "/v1/oids?at=1")
        store.set("ok")
        wait_until(lambda: api.post("/v1/counters/c/next").status == 200, "it goes on")
