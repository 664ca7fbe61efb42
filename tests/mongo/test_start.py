"""What a start asks of MongoDB, and what it says when it does not get it."""

import pytest

from conftest import until_served
from daemon import run_idmintd
from fake_mongod import FakeMongod
from mongod import Mongod, ReplicaSet
from resp import Client

PASSWORD = "pass word/@:%?"
ENCODED = "".join(f"%{byte:02X}" for byte in PASSWORD.encode())
PATIENT = {"limits.request": "20s"}


def check(uri, *settings, **keywords):
    options = [part for setting in settings for part in ("--set", setting)]
    return run_idmintd("--check-store", "--store", uri, *options, **keywords)


def test_check_store(shop):
    told = check(shop.servers.uri())
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("store ok: MongoDB 6.0.5, replica set, id ")


def test_nothing_is_left_by_the_check(shop):
    settings = [f"{key}={value}" for key, value in shop.settings().items()]
    assert check(shop.servers.uri(), *settings).returncode == 0
    assert shop.database.list_collection_names() == []
    assert [document["_id"] for document in shop.state.find()] == ["store"]


@pytest.mark.parametrize(
    "uri, word",
    [
        ("mongodb://user:secret@host:port", "not a MongoDB URI"),
        ("mongodb://user:sec@ret@host", "not a MongoDB URI"),
        ("mongodb://", "not a MongoDB URI"),
        ("mongodb://127.0.0.1:1/?replicaSet=secret", "MongoDB: "),
    ],
)
def test_uri_that_does_not_do(uri, word):
    told = check(uri)
    assert told.returncode != 0 and word in told.stderr
    assert "secret" not in told.stderr and "ret@host" not in told.stderr


def test_match_that_does_not_do(shop):
    def start(match):
        settings = [f"{key}={value}" for key, value in shop.settings().items()]
        return check(shop.servers.uri(), *settings, f"counter orders.match={match}").stderr

    assert "[counter orders] match" in start("{")
    assert "names the field" in start('{"seq": 5}')
    assert "no document" in start("{}")
    shop.counters.insert_many([{"seq": 1}, {"seq": 2}])
    assert "several documents" in start("{}")


def test_standalone_is_told(tmp_path, start_daemon):
    server = Mongod(tmp_path / "server").start()
    try:
        daemon = start_daemon(store=f"mongodb://{server.address}/", settings=PATIENT)
        daemon.log.wait("standalone")
        with Client(daemon.address) as client:
            assert client.call("NEXT", "orders") == 1
            assert client.call("GET", "orders") == b"1"
        daemon.stop()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A replica set that asks for passwords."""
    folder = tmp_path_factory.mktemp("guarded")
    key = folder / "key"
    key.write_text("a" * 64)
    key.chmod(0o600)
    with ReplicaSet(folder, options=["--keyFile", str(key)]) as servers:
        with servers.members[0].client() as client:
            client.admin.command("createUser", "root", pwd="root", roles=["root"])
        with servers.client(username="root", password="root") as client:
            grants = [{"role": "readWrite", "db": db} for db in ("shop", "idmint")]
            client.admin.command("createUser", "minter", pwd=PASSWORD, roles=grants)
            reads = [{"role": "read", "db": "shop"}, {"role": "readWrite", "db": "idmint"}]
            client.admin.command("createUser", "reader", pwd=PASSWORD, roles=reads)
        yield servers


def uri_for(servers, user):
    return servers.uri(options="&authSource=admin").replace("mongodb://", f"mongodb://{user}@")


def test_password_from_a_file(guarded, tmp_path, start_daemon):
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    settings = {"mongo.password_file": file, "mongo.database": "shop", **PATIENT}
    daemon = start_daemon(store=uri_for(guarded, "minter"), settings=settings)
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 1
        assert PASSWORD not in client.call("INFO").decode()
        told = str(client.call("CONFIG", "GET", "*"))
        assert PASSWORD not in told and "minter" not in told
    daemon.stop()
    assert PASSWORD not in daemon.log.text()


def test_password_in_the_uri(guarded):
    told = check(uri_for(guarded, f"minter:{ENCODED}"), "mongo.database=shop")
    assert told.returncode == 0, told.stderr


def test_password_in_the_uri_is_never_told(guarded, start_daemon):
    uri = uri_for(guarded, f"minter:{ENCODED}")
    settings = {"mongo.database": "shop", "log.level": "debug", "limits.request": "1s"}
    daemon = start_daemon(store=uri, settings=settings)
    with Client(daemon.address) as client:
        until_served(client, "NEXT", "orders")
        told = [client.call("INFO", "everything"), client.call("CONFIG", "GET", "*")]
        told += [client.call("CLIENT", "LIST"), client.call("HELP")]
        guarded.members[0].pause()
        try:
            told.append(client.call("NEXT", "orders"))
        finally:
            guarded.members[0].resume()
    daemon.stop()
    asked = ["--store", uri, "--set", "mongo.database=shop"]
    checked = [run_idmintd("--check-config", *asked), run_idmintd("--check-store", *asked)]
    wrong = run_idmintd("--check-store", "--store", uri_for(guarded, f"other:{ENCODED}"))
    assert wrong.returncode != 0
    told += [(run.stdout, run.stderr) for run in [*checked, wrong]] + [daemon.log.text()]
    for secret in (PASSWORD, ENCODED):
        assert secret not in str(told)


@pytest.mark.parametrize("password", ["wrong", ""])
def test_wrong_password(guarded, tmp_path, password):
    file = tmp_path / "password"
    file.write_text(password)
    told = check(uri_for(guarded, "minter"), f"mongo.password_file={file}")
    assert told.returncode != 0
    assert ("Authentication failed" if password else "is empty") in told.stderr


def test_password_without_a_user(guarded, tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    told = check(guarded.uri(), f"mongo.password_file={file}")
    assert told.returncode != 0 and "names no user" in told.stderr


def test_rights_are_asked_for(guarded, tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    password = f"mongo.password_file={file}"
    told = check(uri_for(guarded, "reader"), password, "mongo.database=shop")
    assert told.returncode != 0 and "may not update in shop.counters" in told.stderr
    told = check(uri_for(guarded, "reader"), password, "mongo.database=other")
    assert told.returncode != 0 and "may not find in other.counters" in told.stderr
    told = check(uri_for(guarded, "minter"), password, "mongo.state_database=other")
    assert told.returncode != 0 and "other.idmint_state" in told.stderr


def test_server_as_it_should_be():
    with FakeMongod() as server:
        told = check(server.uri)
    assert told.returncode == 0, told.stderr


def test_find_and_modify_that_is_not_atomic():
    with FakeMongod(atomic=False) as server:
        told = check(server.uri)
    assert told.returncode != 0 and "findAndModify is not atomic" in told.stderr


def test_version_too_old():
    with FakeMongod(wire_version=7, version="4.0.28") as server:
        told = check(server.uri)
    assert told.returncode != 0
    # Newer drivers refuse it themselves.
    assert "4.0.28, standalone: the version is too old" in told.stderr or "wire" in told.stderr
