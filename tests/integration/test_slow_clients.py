"""Clients that do not read, or go away: memory stays bounded, others are served."""

import contextlib
import re
import socket
import struct
import threading

import pytest

from daemon import wait_until
from faultio import FaultIO
from resp import Client, Error, encode

MIB = 1 << 20


def sanitized(daemon):
    with open(f"/proc/{daemon.pid}/maps") as maps:
        return re.search(r"lib[at]san", maps.read()) is not None


def send_until_dropped(client, data):
    """The daemon reads no more at some point, and closes in the end."""

    def send():
        with contextlib.suppress(OSError):
            client.send(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def test_client_that_never_reads(start_daemon):
    daemon = start_daemon(settings={"limits.write": "2s"})
    rss_most = daemon.rss_bytes() + (512 if sanitized(daemon) else 64) * MIB
    with Client(daemon.address, timeout=120) as deaf, Client(daemon.address) as other:
        # Replies of 2 GB, were they all made.
        sender = send_until_dropped(deaf, encode("OID", 10000) * 8000)
        seen = 0
        while not daemon.log.find(r"reads none of its replies \(limits.write\); closed"):
            assert other.call("INCR", "served") > 0
            buffer_bytes = int(other.info("clients")["buffer_bytes"])
            seen = max(seen, buffer_bytes)
            assert buffer_bytes < 4 * MIB
            assert daemon.rss_bytes() < rss_most
        sender.join()
        assert seen > 0
        wait_until(
            lambda: other.info("clients")["connected_clients"] == "1", "the client's connection"
        )
        assert int(other.info("clients")["buffer_bytes"]) < MIB


def test_client_that_reads_late_gets_all(daemon):
    with Client(daemon.address) as late, Client(daemon.address) as other:
        sender = send_until_dropped(late, encode("OID", 1000) * 1000 + encode("INCR", "late"))
        # All that the output limit and the kernel take has been written by then.
        wait_until(lambda: int(other.info("clients")["buffer_bytes"]) > MIB // 2, "full buffers")
        ids = [id for _ in range(1000) for id in late.reply()]
        assert len(ids) == len(set(ids)) == 1000000 and ids == sorted(ids)
        assert late.reply() == 1
        sender.join()


@pytest.mark.parametrize("kind", ["tcp", "unix"])
def test_client_that_reads_when_it_has_time(kind, start_daemon, tmp_path):
    """What the kernel keeps for it costs the daemon nothing, and is no sign that it has gone."""
    listen = "127.0.0.1:0" if kind == "tcp" else f"unix:{tmp_path}/socket"
    daemon = start_daemon(listen=listen, settings={"limits.write": "1s"})
    with Client(daemon.address) as late, Client(daemon.address) as other:
        late.send(b"NEXT a\r\n" * 100)
        seen = other.info("server")["uptime_in_seconds"]
        # Some sweeps more than the limit.
        wait_until(
            lambda: int(other.info("server")["uptime_in_seconds"]) > int(seen) + 3, "time goes by"
        )
        assert [late.reply() for _ in range(100)] == list(range(1, 101))
        assert late.call("NEXT", "a") == 101


def test_replies_that_come_all_at_once(start_daemon):
    """300 requests wait for the clock, then all can be answered: 81 MB."""
    settings = {"limits.buffers": "16MiB", "oid.lead": "1s", "limits.request": "1m"}
    daemon = start_daemon(settings=settings)
    with Client(daemon.address) as late, Client(daemon.address) as other:
        late.send(encode("OID", "RANGE", 1 << 24) * 3 + encode("OID", 10000) * 300)
        wait_until(lambda: int(other.info("clients")["buffer_bytes"]) > MIB // 2, "full buffers")
        assert other.call("INCR", "served") == 1
        assert int(other.info("clients")["buffer_bytes"]) < 4 * MIB
        assert all(len(reply) == 2 for reply in late.replies(3))
        last = b""
        for _ in range(300):
            ids = late.reply()
            assert len(ids) == 10000 and last < ids[0] < ids[-1]
            last = ids[-1]
        assert late.call("PING") == b"PONG"
    assert not daemon.log.find("limits.buffers")


def test_all_buffers_together(start_daemon):
    """Beyond limits.buffers those who hold much must go; those who hold little stay."""
    settings = {"limits.buffers": "8MiB", "limits.output": "1MiB", "limits.write": "1h"}
    daemon = start_daemon(settings=settings)
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(Client(daemon.address))
        for _ in range(20):
            deaf = stack.enter_context(Client(daemon.address, timeout=120))
            send_until_dropped(deaf, encode("OID", 10000) * 500)
        daemon.log.wait(r"all buffers together reach limits.buffers; closing it")
        for number in range(1, 101):
            assert other.call("INCR", "served") == number
            assert int(other.info("clients")["buffer_bytes"]) < 16 * MIB


def reset(client):
    """Closes at once, with what was not read thrown away."""
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.parametrize("close", [reset, Client.close])
def test_client_gone_in_mid_reply(close, daemon):
    with Client(daemon.address) as other:
        for _ in range(5):
            gone = Client(daemon.address)
            gone.send(encode("OID", 100000) * 20)
            assert gone.sock.recv(1) == b"*"
            close(gone)
        wait_until(lambda: other.info("clients")["connected_clients"] == "1", "all gone")
        assert other.call("PING") == b"PONG"
        assert int(other.info("clients")["buffer_bytes"]) < MIB


@pytest.mark.parametrize("close", [reset, Client.close])
def test_client_gone_while_the_store_works(close, daemon):
    """What was taken for it is lost and never issued again."""
    with Client(daemon.address) as other:
        last = 0
        for _ in range(20):
            gone = Client(daemon.address)
            gone.send(encode("INCR", "gone") * 500 + encode("SETNX", "gone2", 5) * 10)
            close(gone)
            value = other.call("INCR", "gone")
            assert value > last
            last = value
        wait_until(lambda: other.info("clients")["connected_clients"] == "1", "all gone")
        assert last <= 20 * 500 + 20


def test_output_of_an_open_batch_is_bounded(daemon):
    """MULTI holds what it is sent: up to its limit."""
    with Client(daemon.address) as client:
        assert client.call("MULTI") == b"OK"
        client.send(encode("OID", 100000) * 12000)
        replies = client.replies(12000)
        refused = [reply for reply in replies if isinstance(reply, Error)]
        assert refused and b"too big" in refused[0]
        assert client.call("EXEC").word == "EXECABORT"


def test_batch_of_many_big_replies(start_daemon):
    """EXEC of 300 times 270 KB keeps to the output limit too, and is answered whole."""
    daemon = start_daemon(store="memory:")
    rss_most = daemon.rss_bytes() + (512 if sanitized(daemon) else 64) * MIB
    with Client(daemon.address) as client:
        client.send(encode("MULTI") + encode("OID", 10000) * 300)
        assert len(client.replies(301)) == 301
        client.send(encode("EXEC") + encode("INCR", "behind"))
        head = client.token()
        assert head.count == 300
        last = b""
        for _ in range(300):
            ids = client.reply()
            assert len(ids) == 10000 and last < ids[0] < ids[-1]
            last = ids[-1]
            assert daemon.rss_bytes() < rss_most
        assert client.reply() == 1


@pytest.mark.parametrize(
    "held",
    [
        encode("MULTI") + encode("ECHO", b"x" * 60000) * 4,
        b"*5\r\n$6\r\nEXISTS\r\n" + b"$60000\r\n%s\r\n" % (b"x" * 60000) * 3,
    ],
    ids=["an open batch", "half a command"],
)
def test_what_is_sent_and_not_carried_out_is_bounded(held, start_daemon):
    daemon = start_daemon(settings={"limits.buffers": "4MiB"}, store="memory:")
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(Client(daemon.address))
        clients = [stack.enter_context(Client(daemon.address)) for _ in range(60)]
        for client in clients:
            send_until_dropped(client, held).join()
            assert int(other.info("clients")["buffer_bytes"]) < 8 * MIB
        daemon.log.wait(r"all buffers together reach limits.buffers; closing it")
        assert other.call("INCR", "served") == 1
        wait_until(
            lambda: int(other.info("clients")["connected_clients"]) < len(clients), "some to go"
        )


@pytest.mark.parametrize(
    "commands",
    [
        b"".join(encode("NEXT", f"name{number}") + b"PING\r\n" for number in range(1024)),
        encode("MGET", *(f"name{number}" for number in range(1000))),
    ],
    ids=["takes", "reads"],
)
def test_requests_that_wait_are_counted(commands, start_daemon, tmp_path):
    """A disk that hangs makes them pile up; who has many when the budget is used up must go."""
    disk = FaultIO(tmp_path / "disk")
    daemon = start_daemon(
        settings={"limits.buffers": "4MiB", "limits.request": "60s"}, env=disk.env
    )
    clients = [Client(daemon.address) for _ in range(60)]
    with Client(daemon.address) as first, contextlib.ExitStack() as stack:
        disk.begin("sync-hang")
        first.send(encode("NEXT", "a"))
        disk.wait_event("sync")
        for client in clients:
            stack.enter_context(client)
            with contextlib.suppress(OSError):
                client.send(commands)
        daemon.log.wait("all buffers together reach limits.buffers")
        with Client(daemon.address) as other:
            assert other.call("PING") == b"PONG"
            assert int(other.info("clients")["buffer_bytes"]) < 6 * MIB
        disk.end("sync-hang")
        assert first.reply() == 1
