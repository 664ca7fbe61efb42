"""SIGTERM and SIGINT drain, SIGHUP reloads."""

import contextlib
import re
import signal
import threading

import pytest

from daemon import wait_until
from resp import Client, Closed, encode


class Load(threading.Thread):
    """Draws from two counters and ids in pipelines until the daemon closes; keeps what it got."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.client = Client(address)
        self.got = {"strict": [], "cached": [], "ids": []}
        self.started = threading.Event()
        self.start()

    def run(self):
        one = encode("NEXT", "strict") + encode("NEXT", "cached") + encode("OID")
        with contextlib.suppress(Closed, ConnectionError):
            while True:
                self.client.send(one * 20)
                for _ in range(20):
                    for name in ("strict", "cached", "ids"):
                        reply = self.client.reply()
                        assert not hasattr(reply, "word"), reply
                        self.got[name].append(reply)
                self.started.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_under_load(number, daemon):
    """Exit status 0; what was acknowledged is unique, also against what comes after the start."""
    with Client(daemon.address) as client:
        assert client.call("COUNTER", "CREATE", "cached", "CACHE", 1000) == b"OK"
    got = {"strict": [], "cached": [], "ids": []}
    for _ in range(3):
        loads = [Load(daemon.address) for _ in range(6)]
        for load in loads:
            assert load.started.wait(60)
        daemon.stop(number)
        for load in loads:
            load.join(60)
            assert not load.is_alive()
            for name, values in load.got.items():
                assert values == sorted(set(values))
        for name, values in got.items():
            fresh = sum((load.got[name] for load in loads), [])
            assert len(set(fresh)) == len(fresh)
            assert not values or min(fresh) > max(values)
            values += fresh
        daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "strict") > max(got["strict"])
        assert client.call("NEXT", "cached") > max(got["cached"])
        assert client.call("OID") > max(got["ids"])


def test_stop_answers_what_is_in_flight(daemon):
    """Requests that were read before the signal are answered, then the connection ends."""
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 1
        client.send(encode("NEXT", "orders") * 500)
        first = client.reply()
        daemon.signal(signal.SIGTERM)
        values = [first]
        with contextlib.suppress(Closed, ConnectionError):
            while True:
                values.append(client.reply())
        assert values == list(range(2, 2 + len(values)))
    assert daemon.end() == 0
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") > values[-1]


def test_stop_within_a_batch(daemon):
    """A batch that was begun is carried out to its end."""
    with Client(daemon.address) as client:
        client.send(encode("MULTI") + (encode("INCR", "a") + encode("GET", "a")) * 500)
        assert len(client.replies(1001)) == 1001
        client.send(encode("EXEC"))
        assert client.token().count == 1000
        daemon.signal(signal.SIGTERM)
        for number in range(1, 501):
            assert client.replies(2) == [number, b"%d" % number]
    assert daemon.end() == 0


def test_stop_with_a_client_that_never_reads(daemon):
    with Client(daemon.address) as deaf, Client(daemon.address) as other:
        thread = threading.Thread(target=send_all, args=(deaf, encode("OID", 10000) * 1000))
        thread.start()
        wait_until(lambda: int(other.info("clients")["buffer_bytes"]) > 0, "a full socket")
        daemon.stop()
        deaf.close()
        thread.join()


def send_all(client, data):
    with contextlib.suppress(OSError):
        client.send(data)


def test_stop_hands_back_what_was_reserved(daemon):
    with Client(daemon.address) as client:
        assert client.call("COUNTER", "CREATE", "cached", "CACHE", 1000) == b"OK"
        assert client.call("NEXT", "cached", 10) == [1, 10]
        # The next values are reserved aside.
        wait_until(lambda: int(client.call("GET", "cached")) >= 1000, "a reserved block")
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("GET", "cached") == b"10"
        assert client.call("NEXT", "cached") == 11


def test_stop_twice(daemon):
    """A second signal may end it at once, as kill -9 would; nothing is lost by that either."""
    load = Load(daemon.address)
    assert load.started.wait(60)
    daemon.signal(signal.SIGTERM)
    daemon.signal(signal.SIGTERM)
    assert daemon.end() in (0, -signal.SIGTERM)
    load.join(60)
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "strict") > load.got["strict"][-1]
        assert client.call("OID") > load.got["ids"][-1]


def test_stop_without_clients_or_requests(daemon):
    daemon.stop()
    daemon.log.wait("stopped")


@pytest.fixture
def reload(start_daemon, tmp_path):
    """A daemon with a file; the function writes the file anew, sends SIGHUP and gives the log."""
    path = tmp_path / "idmintd.conf"
    path.write_text("[limits]\nidle = 1h\n")
    daemon = start_daemon("-c", str(path))

    def reload(text):
        before = len(daemon.log.lines)
        path.write_text(text)
        daemon.signal(signal.SIGHUP)
        daemon.log.wait("reloaded", before)
        return "\n".join(daemon.log.lines[before:])

    reload.daemon = daemon
    return reload


def setting(client, name):
    return client.call("CONFIG", "GET", name)[1].decode()


def test_reload(reload):
    with Client(reload.daemon.address) as client:
        assert setting(client, "limits.idle") == "1h"
        assert "configuration reloaded" in reload("[limits]\nidle = 2h\noutput = 2MiB\n")
        assert setting(client, "limits.idle") == "2h"
        assert setting(client, "limits.output") == "2MiB"
        assert client.call("INCR", "orders") == 1
        assert "configuration reloaded" in reload("")
        assert setting(client, "limits.idle") == "0"


def test_reload_names_what_needs_a_start(reload):
    with Client(reload.daemon.address) as client:
        before = setting(client, "listen.threads")
        said = reload("[listen]\nthreads = 7\n[limits]\nidle = 3h\n")
        assert "listen.threads has changed; that takes effect at the next start" in said
        assert setting(client, "listen.threads") == before
        assert setting(client, "limits.idle") == "3h"


def test_reload_names_counters(reload):
    """Each time, as long as they are not as they were at the start."""
    changed = r"\[counter NAME\] has changed; that takes effect at the next start"
    with Client(reload.daemon.address) as client:
        for start in (5, 5, 6):
            assert re.search(changed, reload(f"[counter a]\nstart = {start}\n"))
        assert client.call("NEXT", "a") == 1
        assert not re.search(changed, reload(""))


@pytest.mark.parametrize(
    "text, why",
    [
        ("[limits]\nidle = 5\n", "idle"),
        ("[limits]\nnosuch = 5s\n", "nosuch"),
        ("[nosuch]\nidle = 5s\n", "nosuch"),
        ("idle\n", ""),
        ("[auth]\npassword_file = /nonexistent/passwords\n", "/nonexistent/passwords"),
    ],
)
def test_reload_of_a_wrong_file_changes_nothing(text, why, reload):
    with Client(reload.daemon.address) as client:
        said = reload(text)
        assert "not reloaded, all stays as it was" in said and why in said
        assert setting(client, "limits.idle") == "1h"
        assert client.call("PING") == b"PONG"


def test_reload_of_passwords(start_daemon, tmp_path):
    passwords = tmp_path / "passwords"
    passwords.touch(0o600)
    passwords.write_text("old-word\n")
    daemon = start_daemon(settings={"auth.password_file": passwords})
    with Client(daemon.address) as early:
        assert early.call("AUTH", "old-word") == b"OK"
        passwords.write_text("new-word\n")
        daemon.signal(signal.SIGHUP)
        daemon.log.wait("configuration reloaded")
        assert early.call("PING") == b"PONG"
        with Client(daemon.address) as late:
            assert late.call("AUTH", "old-word").word == "WRONGPASS"
            assert late.call("AUTH", "new-word") == b"OK"


def test_many_reloads_under_load(reload):
    load = Load(reload.daemon.address)
    assert load.started.wait(60)
    for number in range(1, 21):
        reload(f"[limits]\nidle = {number}h\noutput = {number + 4}KiB\n")
    reload.daemon.stop()
    load.join(60)
    assert all(values == sorted(set(values)) for values in load.got.values())
