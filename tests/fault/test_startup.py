"""Starts that must fail: a status that tells so, one line that names the thing, nothing left."""

import os
import socket
import sqlite3

import pytest
from daemon import run_idmintd
from resp import Client

ANY_PORT = ("--listen", "127.0.0.1:0")
MEMORY = ("--store", "memory:")


def refused(*options, parts, env=None, wrap=()):
    """The one line that says why."""
    result = run_idmintd(*options, env=env, wrap=wrap)
    assert result.returncode == 1, result
    assert result.stdout == "", result
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result
    for part in parts:
        assert part in lines[0], result
    return lines[0]


@pytest.mark.parametrize(
    "options, parts",
    [
        (["--set", "oid.windw=3s"], ["windw"]),
        (["--set", "nosuch.key=1"], ["nosuch"]),
        (["--set", "novalue"], ["novalue"]),
        (["--set", "oid.window=3"], ["window = 3:", "unit"]),
        (["--set", "oid.window=3sec"], ["window", "3sec"]),
        (["--set", "oid.window=2h"], ["window", "2h"]),
        (["--set", "limits.output=1MB"], ["output", "1MB"]),
        (["--set", "limits.connections=-1"], ["connections", "-1"]),
        (["--set", "limits.connections=99999999999999999999"], ["connections"]),
        (["--set", "log.level=loud"], ["level", "loud"]),
        (["--set", "counters.step=0"], ["step", "0"]),
        (["--set", "counters.start=5", "--set", "counters.max=4"], ["counters"]),
        (["argument"], ["argument"]),
        (["--store", "nosuch:store"], ["nosuch"]),
        (["--store", "sqlite:"], ["sqlite"]),
        (["--listen", "nowhere"], ["nowhere"]),
        (["--listen", "127.0.0.1:65536"], ["65536"]),
        (["--listen", "127.0.0.1:x"], ["127.0.0.1:x"]),
        (["--listen", "unix:" + "/x" * 60], ["/x/x/x"]),
        (["--listen", "0.0.0.0:0"], ["0.0.0.0", "password_file", "allow_open"]),
        (["--listen", "[::]:0"], ["::", "password_file", "allow_open"]),
        (["--listen", "127.0.0.1:0,0.0.0.0:0"], ["0.0.0.0", "password_file"]),
        (["--set", "auth.password_file=/nonexistent/passwords"], ["/nonexistent/passwords"]),
        (["-c", "/nonexistent/idmintd.conf"], ["/nonexistent/idmintd.conf"]),
    ],
)
def test_options(options, parts):
    refused(*ANY_PORT, *MEMORY, *options, parts=parts)


def test_an_unknown_option():
    """getopt's line, and where to read on."""
    result = run_idmintd(*ANY_PORT, *MEMORY, "--nosuchoption")
    assert result.returncode == 1 and result.stdout == "", result
    first, second = result.stderr.splitlines()
    assert "nosuchoption" in first and "--help" in second


def test_environment():
    refused(*MEMORY, parts=["WINDOW", "soon"], env={"IDMINT_OID_WINDOW": "soon"})
    refused(*MEMORY, parts=["IDMINT_OID_WINDOWS"], env={"IDMINT_OID_WINDOWS": "3s"})


def test_a_file_names_its_line(tmp_path):
    path = tmp_path / "idmintd.conf"
    path.write_text("[oid]\nwindow = 3s\n\n[limits]\nidel = 5m\n")
    refused("-c", str(path), *MEMORY, parts=[f"{path}:5", "idel"])
    path.write_text("[oid]\nwindow = 3 weeks\n")
    refused("-c", str(path), *MEMORY, parts=[f"{path}:2", "3 weeks"])


def test_checking_is_not_starting(tmp_path):
    checked = run_idmintd("--check-config", "--store", f"sqlite:{tmp_path}/idmint.db")
    assert (checked.returncode, checked.stderr) == (0, "")
    assert os.listdir(tmp_path) == []
    refused("--check-config", "--set", "oid.window=x", parts=["window"])


def test_an_open_address(start_daemon):
    daemon = start_daemon(listen="0.0.0.0:0", settings={"auth.allow_open": "yes"})
    with Client(f"127.0.0.1:{daemon.port}") as client:
        assert client.call("PING") == b"PONG"


def test_password_files(tmp_path):
    path = tmp_path / "passwords"
    path.write_text("secret word for tests\n")
    path.chmod(0o644)
    option = ("--set", f"auth.password_file={path}")
    refused(*ANY_PORT, *MEMORY, *option, parts=[str(path), "chmod"])
    path.chmod(0o600)
    path.write_text("")
    line = refused(*ANY_PORT, *MEMORY, *option, parts=[str(path)])
    assert "secret" not in line


# --- The store's file ---


def store_at(path):
    return (*ANY_PORT, "--store", f"sqlite:{path}")


def test_a_folder_that_is_not_there(tmp_path):
    path = tmp_path / "none" / "idmint.db"
    refused(*store_at(path), parts=[str(path), "directory does not exist"])


def test_a_folder_in_place_of_the_file(tmp_path):
    refused(*store_at(tmp_path), parts=[str(tmp_path), "directory"])


# Root writes everywhere, unless this is taken from it.
PLAIN = ["setpriv", "--inh-caps=-dac_override", "--bounding-set=-dac_override"]
UNPRIVILEGED = PLAIN if os.getuid() == 0 else []


def test_a_folder_that_is_not_writable(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o555)
    path = folder / "idmint.db"
    refused(*store_at(path), parts=[str(path), "Permission denied"], wrap=UNPRIVILEGED)
    assert os.listdir(folder) == []


def test_a_file_that_is_not_writable(tmp_path):
    path = tmp_path / "idmint.db"
    make_store(path)
    path.chmod(0o444)
    before = path.read_bytes()
    refused(*store_at(path), parts=[str(path), "writable"], wrap=UNPRIVILEGED)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["idmint.db"]


def make_store(path):
    """As the daemon makes it."""
    made = run_idmintd("--store", f"sqlite:{path}", "--reset-high-water", "FORCE")
    assert made.returncode == 0, made


def assert_untouched(path, before):
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_file_of_something_else(tmp_path):
    path = tmp_path / "idmint.db"
    path.write_bytes(b"Dear diary, no store is kept in this file.\n" * 100)
    before = path.read_bytes()
    refused(*store_at(path), parts=[str(path), "no SQLite database"])
    assert_untouched(path, before)


def test_a_database_of_something_else(tmp_path):
    path = tmp_path / "idmint.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE recipe (name TEXT)")
    db.close()
    before = path.read_bytes()
    refused(*store_at(path), parts=[str(path), "another program's database"])
    assert_untouched(path, before)


def test_a_newer_schema(tmp_path):
    path = tmp_path / "idmint.db"
    make_store(path)
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    refused(*store_at(path), parts=[str(path), "newer idmintd", "schema 2"])


def test_a_damaged_file(tmp_path):
    path = tmp_path / "idmint.db"
    make_store(path)
    page = 2048
    damaged = bytearray(path.read_bytes())
    damaged[page:] = b"\xff" * (len(damaged) - page)
    path.write_bytes(damaged)
    refused(*store_at(path), parts=[str(path), "damaged"])
    path.write_bytes(damaged[: page + 100])
    refused(*store_at(path), parts=[str(path), "damaged"])


def test_a_store_in_use(start_daemon):
    daemon = start_daemon()
    path = f"{daemon.folder}/idmint.db"
    refused(*store_at(path), parts=[path, "in use"])
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 1
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 2


# --- Addresses ---


def test_a_port_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused("--listen", address, *MEMORY, parts=[address, "in use"])
        # What it had opened before is closed and gone.
        path = tmp_path / "socket"
        refused("--listen", f"unix:{path},{address}", *MEMORY, parts=[address, "in use"])
        assert os.listdir(tmp_path) == []


def test_a_socket_that_is_served(start_daemon, tmp_path):
    path = tmp_path / "socket"
    daemon = start_daemon(listen=f"unix:{path}")
    refused("--listen", f"unix:{path}", *MEMORY, parts=[str(path), "in use"])
    with Client(daemon.address) as client:
        assert client.call("PING") == b"PONG"
    daemon.kill()  # what it leaves behind is no hindrance
    assert path.exists()
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("PING") == b"PONG"
    daemon.stop()
    assert not path.exists()


def test_a_socket_where_something_else_is(tmp_path):
    path = tmp_path / "socket"
    path.write_text("precious")
    refused("--listen", f"unix:{path}", *MEMORY, parts=[str(path)])
    assert path.read_text() == "precious"
