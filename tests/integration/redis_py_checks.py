"""What the redis Python library must be able to do, run by test_redis_py.py with each of its
versions: CHECK ADDRESS [PASSWORD]. Everything in the library's default settings."""

import asyncio
import sys
import threading

import redis
import redis.asyncio

HOST, PORT = sys.argv[2].rsplit(":", 1)
PLACE = {"host": HOST, "port": int(PORT)}


def fails(word, call, *args, **keywords):
    try:
        call(*args, **keywords)
    except redis.ResponseError as error:
        assert word in str(error), error
    else:
        raise AssertionError(f"{call} did not fail")


def check_counters():
    r = redis.Redis(**PLACE)
    assert [r.incr("orders") for _ in range(3)] == [1, 2, 3]
    assert r.incr("orders", 5) == 8
    assert r.incrby("orders", 2) == 10
    assert r.get("orders") == b"10"
    assert r.get("none") is None
    assert r.mget("orders", "none") == [b"10", None]
    assert r.mget(["orders"]) == [b"10"]
    assert r.exists("orders") == 1
    assert r.exists("orders", "none", "orders") == 2
    assert r.type("orders") == b"string"
    assert r.type("none") == b"none"
    assert r.set("made", 41, nx=True) is True
    assert r.set("made", 99, nx=True) is None
    assert r.incr("made") == 42
    assert r.setnx("made", 1) in (False, 0)
    assert r.setnx("made-too", 1) in (True, 1)
    assert int(r["orders"]) == 10
    assert "orders" in r


def check_refusals():
    r = redis.Redis(**PLACE)
    r.incr("orders")
    fails("COUNTER RAISE", r.set, "orders", 5)
    fails("COUNTER RESET", r.decr, "orders")
    fails("COUNTER DROP", r.delete, "orders")
    fails("NEXT", r.incrbyfloat, "orders", 1.5)
    fails("forward", r.incrby, "orders", -1)
    fails("unknown command", r.lpush, "list", 1)
    fails("EXHAUSTED", exhaust, r)
    assert r.get("orders") == b"1"


def exhaust(r):
    r.execute_command("COUNTER CREATE", "full", "MAX", 1)
    r.incr("full")
    r.incr("full")


def check_own_commands():
    r = redis.Redis(**PLACE, decode_responses=True)
    ids = [r.execute_command("OID"), *r.execute_command("OID", 3)]
    assert ids == sorted(set(ids)) and all(len(id) == 24 for id in ids)
    assert len(r.execute_command("OID", 3, "LINE").split(" ")) == 3
    first, count = r.execute_command("OID RANGE", 100)
    assert len(first) == 24 and count == "100"
    parts = r.execute_command("OID DECODE", "6553f1003f2a91c8d4003039")
    if isinstance(parts, list):
        parts = dict(zip(parts[::2], parts[1::2]))
    assert parts["seconds"] == "1700000000"
    assert r.execute_command("NEXT", "own") == 1
    assert r.execute_command("NEXT", "own", 3) == [2, 4]
    assert r.execute_command("NEXT", "own", "STRING") == "5"
    assert r.execute_command("NEXT", "own", 2, "LINE") == "6 7"
    assert r.execute_command("COUNTER RAISE", "own", 100) == "100"
    after, rows = r.execute_command("COUNTER LIST", "PREFIX", "own")
    assert after == "" and rows[0][:2] == ["own", "100"]
    assert len(r.execute_command("UUID", "V7")) == 36


def check_server():
    r = redis.Redis(**PLACE)
    assert r.ping() is True
    assert r.echo("hello") == b"hello"
    seconds, micros = r.time()
    assert seconds > 1600000000 and 0 <= micros < 1000000
    info = r.info()
    assert info["role"] == "master" and info["connected_clients"] >= 1
    assert r.info("replication")["role"] == "master"
    assert r.config_get("limits.request") == {"limits.request": "1500ms"}
    assert r.config_get("save") == {"save": ""}
    assert r.command_count() == len(r.command()) > 40
    assert r.command()["incr"]["arity"] == 2


def check_clients():
    r = redis.Redis(**PLACE, client_name="checker")
    number = r.client_id()
    assert r.client_getname() in (b"checker", "checker")
    assert r.client_setname("checked") in (True, b"OK")
    me = [client for client in r.client_list() if client["name"] == "checked"]
    assert [int(client["id"]) for client in me] == [number]
    other = redis.Redis(**PLACE, single_connection_client=True)
    assert r.client_kill_filter(_id=str(other.client_id())) == 1
    try:
        other.ping()
    except redis.ConnectionError:
        pass  # older versions tell it before they connect again
    assert other.ping() is True
    assert r.client_kill_filter(_id="123456789") == 0


def check_pipelines():
    r = redis.Redis(**PLACE)
    with r.pipeline(transaction=False) as pipe:
        for _ in range(1000):
            pipe.incr("piped").get("piped").ping().execute_command("OID")
        replies = pipe.execute()
    assert replies[0::4] == list(range(1, 1001))
    assert [int(value) for value in replies[1::4]] == list(range(1, 1001))
    ids = replies[3::4]
    assert ids == sorted(set(ids))
    with r.pipeline(transaction=True) as pipe:
        pipe.incr("batch").incr("batch").set("batch-set", 4, nx=True).get("batch")
        assert pipe.execute() == [1, 2, True, b"2"]
        pipe.incr("batch").decr("batch").incr("batch")
        replies = pipe.execute(raise_on_error=False)
    assert replies[0] == 3 and replies[2] == 4
    assert isinstance(replies[1], redis.ResponseError)
    with r.pipeline(transaction=True) as pipe:
        pipe.incr("dropped").execute_command("NOSUCH")
        fails("unknown command", pipe.execute)
    assert r.exists("dropped") == 0


def check_decoded():
    r = redis.Redis(**PLACE, decode_responses=True)
    r.incr("decoded")
    assert r.get("decoded") == "1" and r.mget("decoded", "none") == ["1", None]
    assert r.type("decoded") == "string"


def check_resp3():
    r = redis.Redis(**PLACE, protocol=3, decode_responses=True, client_name="three")
    assert r.incr("three") == 1
    assert r.get("three") == "1" and r.get("none") is None
    assert r.mget("three", "none") == ["1", None]
    assert r.set("three", 9, nx=True) is None
    assert r.config_get("databases") == {"databases": "1"}
    assert r.execute_command("OID DECODE", "6553f1003f2a91c8d4003039")["seconds"] == "1700000000"
    assert r.client_getname() == "three"
    assert r.info("replication")["role"] == "master"
    with r.pipeline(transaction=True) as pipe:
        assert pipe.incr("three").get("three").get("none").execute() == [2, "2", None]


def check_resp2():
    r = redis.Redis(**PLACE, protocol=2)
    assert r.incr("two") == 1 and r.get("none") is None


def check_url():
    r = redis.from_url(f"redis://{HOST}:{PORT}/0", health_check_interval=1)
    assert r.ping() and r.incr("url") == 1
    fails("DB index", redis.from_url(f"redis://{HOST}:{PORT}/1").ping)


def check_blocking_pool():
    pool = redis.BlockingConnectionPool(**PLACE, max_connections=4, timeout=60)
    r = redis.Redis(connection_pool=pool, health_check_interval=30)
    taken = []

    def take():
        taken.extend([r.incr("pooled") for _ in range(50)])

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 401))
    assert len(r.client_list()) <= 4


def check_asyncio():
    async def take():
        r = redis.asyncio.Redis(**PLACE)
        values = await asyncio.gather(*(r.incr("async") for _ in range(100)))
        async with r.pipeline(transaction=True) as pipe:
            values += await pipe.incr("async").incr("async").execute()
        await r.close()
        return values

    assert sorted(asyncio.run(take())) == list(range(1, 103))


def check_password():
    password = sys.argv[3]
    r = redis.Redis(**PLACE, password=password)
    assert r.ping() and r.incr("secret") == 1
    by_name = redis.Redis(**PLACE, username="writer", password="their-word")
    assert by_name.incr("secret") == 2
    assert redis.from_url(f"redis://:{password}@{HOST}:{PORT}").incr("secret") == 3
    for wrong in (redis.Redis(**PLACE), redis.Redis(**PLACE, password="wrong")):
        try:
            wrong.ping()
        except redis.RedisError as error:
            assert isinstance(error, redis.AuthenticationError) or "WRONGPASS" in str(error)
            continue
        raise AssertionError("let in")


def check_password_resp3():
    r = redis.Redis(**PLACE, password=sys.argv[3], protocol=3)
    assert r.incr("secret3") == 1


def check_restart():
    """The test restarts the daemon at the same address when told so."""
    pool = redis.BlockingConnectionPool(**PLACE, max_connections=2)
    r = redis.Redis(connection_pool=pool)
    before = [r.incr("restarted") for _ in range(10)]
    print("restart", flush=True)
    sys.stdin.readline()
    after = [r.incr("restarted") for _ in range(10)]
    assert before + after == list(range(1, 21))


globals()[f"check_{sys.argv[1]}"]()
print("done")
