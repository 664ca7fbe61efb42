"""Connections: where they come in, how many, who must go, how they are listed and killed."""

import os
import re
import select
import signal
import socket
import stat
import time

import pytest

from daemon import DEADLINE_S, run_idmintd, wait_until
from resp import Client, Closed, connect, encode


def password_file(folder, *lines):
    path = folder / "passwords"
    path.touch(0o600)
    path.write_text("\n".join(lines) + "\n")
    return path


# --- Where


def test_unix_socket(start_daemon, tmp_path):
    path = tmp_path / "socket"
    daemon = start_daemon(listen=f"unix:{path}")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    with Client(daemon.address) as client:
        assert client.call("INCR", "orders") == 1
        assert b"addr=unix" in client.call("CLIENT", "LIST")
    daemon.stop()
    assert not path.exists()


def test_unix_socket_mode(start_daemon, tmp_path):
    path = tmp_path / "socket"
    start_daemon(listen=f"unix:{path}", settings={"listen.unix_mode": "0777"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o777


def test_unix_socket_left_over_by_a_killed_daemon(start_daemon, tmp_path):
    daemon = start_daemon(listen=f"unix:{tmp_path}/socket")
    daemon.kill()
    assert (tmp_path / "socket").exists()
    daemon.start()
    with Client(daemon.address) as client:
        assert client.call("PING") == b"PONG"


def test_unix_socket_of_a_daemon_that_runs(start_daemon, tmp_path):
    daemon = start_daemon(listen=f"unix:{tmp_path}/socket")
    second = run_idmintd("--listen", daemon.address, "--store", "memory:")
    assert second.returncode != 0 and "Address already in use" in second.stderr
    with Client(daemon.address) as client:
        assert client.call("PING") == b"PONG"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


def test_several_addresses(start_daemon, tmp_path):
    wanted = ["127.0.0.1:0", f"unix:{tmp_path}/a", "127.0.0.1:0", f"unix:{tmp_path}/b"]
    if has_ipv6():
        wanted.append("[::1]:0")
    daemon = start_daemon(listen=", ".join(wanted))
    assert len(set(daemon.addresses)) == len(wanted)
    for number, address in enumerate(daemon.addresses, 1):
        with Client(address) as client:
            assert client.call("INCR", "orders") == number


def test_port_in_use(daemon):
    second = run_idmintd("--listen", daemon.address, "--store", "memory:")
    assert second.returncode != 0
    assert f"can not listen on {daemon.address}: Address already in use" in second.stderr


# 0 is a name to the configuration, and 0.0.0.0 to the resolver.
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "0:0"])
def test_beyond_loopback_only_with_a_credential(address, start_daemon, tmp_path):
    if address.startswith("[") and not has_ipv6():
        address = "0.0.0.0:0"
    refused = run_idmintd("--listen", address, "--store", "memory:")
    assert refused.returncode != 0
    assert "password_file" in refused.stderr and "allow_open" in refused.stderr
    with_password = {"auth.password_file": password_file(tmp_path, "open-sesame")}
    for settings in (with_password, {"auth.allow_open": "yes"}):
        start_daemon(listen=address, store="memory:", settings=settings).stop()


def test_a_browser_is_closed_and_logged(daemon):
    for number, text in enumerate([b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"Host: x\r\nPING\r\n"]):
        with Client(daemon.address) as client:
            before = len(daemon.log.lines)
            client.send(text)
            client.expect_end()
            line = daemon.log.wait("speaks HTTP to the line protocol's port", before).string
            own = "%s:%d" % client.sock.getsockname()
            assert own in line and "warning" in line


# --- How many


def test_connections_limit(start_daemon):
    daemon = start_daemon(settings={"limits.connections": 3})
    clients = [Client(daemon.address) for _ in range(3)]
    assert [client.call("PING") for client in clients] == [b"PONG"] * 3
    with Client(daemon.address) as refused:
        assert refused.reply() == b"ERR max number of clients reached"
        refused.expect_end()
    assert clients[0].info("stats")["rejected_connections"] == "1"
    clients.pop().close()
    wait_until(lambda: clients[0].info("clients")["connected_clients"] == "2", "a free place")
    with Client(daemon.address) as client:
        assert client.call("INCR", "orders") == 1
    for client in clients:
        client.close()


def test_descriptors_run_out(start_daemon):
    """Accepting pauses; who is in is served; who waits is let in when others go."""
    daemon = start_daemon(store="memory:", wrap=["prlimit", "--nofile=40:40"])
    daemon.log.wait("only 40 descriptors may be opened")
    begun = time.monotonic()
    socks = [connect(daemon.address) for _ in range(60)]
    for sock in socks:
        sock.sendall(b"PING\r\n")
    daemon.log.wait("can not accept a connection: Too many open files")
    served = select.select(socks, [], [], DEADLINE_S)[0]
    assert 0 < len(served) < 40
    for sock in served:
        assert sock.recv(100) == b"+PONG\r\n"
        sock.sendall(b"INCR orders\r\n")
        assert sock.recv(100).startswith(b":")
    for sock in served:
        sock.close()
        socks.remove(sock)
    while socks:
        ready = select.select(socks, [], [], DEADLINE_S)[0]
        assert ready
        for sock in ready:
            assert sock.recv(100) == b"+PONG\r\n"
            sock.close()
            socks.remove(sock)
    # It tries again every 100 ms, not all the time.
    tries = sum("can not accept a connection" in line for line in daemon.log.lines)
    assert tries <= (time.monotonic() - begun) / 0.09 + 1


# --- Who must go


def busy_until_closed(busy, silent):
    """Keeps one connection busy until the daemon has closed the other."""
    end = time.monotonic() + DEADLINE_S
    while not select.select([silent.sock], [], [], 0.05)[0]:
        assert time.monotonic() < end
        assert busy.call("PING") == b"PONG"
    silent.expect_end()
    assert busy.call("PING") == b"PONG"


def test_idle_connection(start_daemon):
    daemon = start_daemon(settings={"limits.idle": "1s"})
    with Client(daemon.address) as busy, Client(daemon.address) as silent:
        assert silent.call("PING") == b"PONG"
        busy_until_closed(busy, silent)
        assert daemon.log.wait(r"is idle \(limits.idle\); closed")


@pytest.mark.parametrize("said", [b"", b"*2\r\n$4\r\nAUTH\r\n", encode("AUTH", "wrong")])
def test_connection_without_authentication(said, start_daemon, tmp_path):
    settings = {
        "limits.open": "500ms",
        "auth.password_file": password_file(tmp_path, "open-sesame"),
    }
    daemon = start_daemon(settings=settings)
    with Client(daemon.address) as busy:
        assert busy.call("AUTH", "open-sesame") == b"OK"
        with Client(daemon.address) as silent:
            silent.send(said)
            if said.endswith(b"wrong\r\n"):
                assert silent.reply().word == "WRONGPASS"
            busy_until_closed(busy, silent)
            assert daemon.log.wait(r"has not authenticated \(limits.open\); closed")


def test_no_time_limit_to_authenticate_without_a_password(start_daemon):
    daemon = start_daemon(settings={"limits.open": "100ms", "limits.idle": "2s"})
    with Client(daemon.address) as busy, Client(daemon.address) as silent:
        busy_until_closed(busy, silent)
        daemon.log.wait("is idle")
        assert not daemon.log.find("has not authenticated")


# --- CLIENT LIST, CLIENT KILL


def listed(client):
    rows = client.call("CLIENT", "LIST").decode().strip().split("\n")
    fields = [dict(field.split("=", 1) for field in row.split(" ")) for row in rows]
    return {int(row["id"]): row for row in fields}


def test_client_list(daemon):
    with Client(daemon.address) as one, Client(daemon.address) as other:
        one.call("CLIENT", "SETNAME", "first")
        other.call("HELLO", 3, "SETNAME", "second")
        rows = listed(one)
        assert len(rows) == 2
        for client, name in ((one, "first"), (other, "second")):
            row = rows[client.call("CLIENT", "ID")]
            assert (row["name"], row["addr"]) == (name, "%s:%d" % client.sock.getsockname())
        other.call("RESET")
        assert sorted(row["name"] for row in listed(one).values()) == ["", "first"]
    with Client(daemon.address) as last:
        wait_until(lambda: len(listed(last)) == 1, "the others to be gone")


def test_client_kill(daemon):
    with Client(daemon.address) as killer:
        victims = [Client(daemon.address) for _ in range(3)]
        number = victims[0].call("CLIENT", "ID")
        addresses = ["%s:%d" % victim.sock.getsockname() for victim in victims]
        assert [victim.call("PING") for victim in victims] == [b"PONG"] * 3
        assert killer.call("CLIENT", "KILL", "ID", number) == 1
        victims[0].expect_end()
        assert killer.call("CLIENT", "KILL", "ADDR", addresses[1]) == 1
        victims[1].expect_end()
        assert killer.call("CLIENT", "KILL", addresses[2]) == b"OK"
        victims[2].expect_end()
        wait_until(lambda: len(listed(killer)) == 1, "the killed to be gone")
        assert killer.call("CLIENT", "KILL", addresses[2]) == b"ERR No such client"


def test_client_kills_itself(daemon):
    with Client(daemon.address) as client:
        client.send(encode("CLIENT", "KILL", "ID", client.call("CLIENT", "ID")))
        assert client.reply() == 1
        client.expect_end()


def test_numbers_are_not_used_again(daemon):
    seen = []
    for _ in range(50):
        with Client(daemon.address) as client:
            seen.append(client.call("CLIENT", "ID"))
    assert seen == sorted(set(seen))


def test_kill_of_oneself_comes_behind_what_was_asked_before(daemon):
    with Client(daemon.address) as client:
        own = client.call("CLIENT", "ID")
        client.send(encode("NEXT", "a") + encode("CLIENT", "KILL", "ID", own) + encode("NEXT", "a"))
        assert client.replies(2) == [1, 1]
        with pytest.raises((Closed, ConnectionResetError)):
            client.reply()
    with Client(daemon.address) as client:
        assert client.call("GET", "a") == b"1"
