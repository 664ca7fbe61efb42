"""Many requests on one connection: order of replies, deep pipelines, bytes in any portions."""

import array
import fcntl
import termios
import threading
import time

import pytest

from daemon import DEADLINE_S
from resp import Client, Error, Simple, encode


def send_aside(client, data):
    """Sends from a thread: the daemon may read no more before its replies are read."""
    thread = threading.Thread(target=client.send, args=(data,), daemon=True)
    thread.start()
    return thread


def mixed_round(number):
    """Commands that are answered at once and such that wait for the store, and what they reply."""
    text = b"%d" % number
    return [
        (encode("INCR", "mixed"), number),
        (encode("PING", number), text),
        (encode("NEXT", "pairs", 2), [2 * number - 1, 2 * number]),
        (encode("ECHO", number), text),
        (encode("OID", "AT", number), Simple(b"%08x" % number + b"0" * 16)),
        (encode("GET", "mixed"), text),
        (encode("DECR", "mixed"), Error),
        (encode("NEXT", f"other{number}"), 1),
        (encode("COUNTER", "RAISE", "raised", 10 * number), b"%d" % (10 * number)),
        (encode("NEXT", "raised"), 10 * number + 1),
        (encode("INCRBY", "mixed", 0), number),
        (b"PING\r\n", Simple(b"PONG")),
    ]


@pytest.mark.parametrize("hello", [2, 3])
def test_replies_come_in_order(hello, client):
    client.call("HELLO", hello)
    rounds = [step for number in range(1, 301) for step in mixed_round(number)]
    send_aside(client, b"".join(command for command, _ in rounds))
    for command, expected in rounds:
        reply = client.reply()
        if expected is Error:
            assert isinstance(reply, Error), command
        else:
            assert (reply, type(reply)) == (expected, type(expected)), command


@pytest.mark.parametrize(
    "command, reply_bytes", [(encode("ECHO", "x" * 1000), 1009), (encode("OID", 300), 300 * 27 + 6)]
)
@pytest.mark.parametrize("batch", [False, True])
def test_more_replies_than_the_output_limit(command, reply_bytes, batch, start_daemon):
    """What is held back because of the limit goes on though all was sent at once."""
    daemon = start_daemon(settings={"limits.output": "4KiB"})
    with Client(daemon.address) as client:
        count = 200
        data = command * count
        expected = reply_bytes * count
        if batch:
            data = b"MULTI\r\n" + data + b"EXEC\r\n"
            expected += len("+OK\r\n" + "+QUEUED\r\n" * count + f"*{count}\r\n")
        send_aside(client, data + b"QUIT\r\n")
        received = sum(map(len, iter(lambda: client.sock.recv(65536), b"")))
        assert received == expected + len("+OK\r\n")


def test_protocol_error_behind_a_request(daemon):
    with Client(daemon.address) as client:
        client.send(encode("NEXT", "a") + b"*1\r\n!")
        assert client.reply() == 1
        assert client.reply().startswith(b"ERR Protocol error")
        assert client.sock.recv(1) == b""
    with Client(daemon.address) as client:
        assert client.info("clients")["buffer_bytes"] == "0"
    assert not daemon.log.find("limits.buffers")


def test_very_many_that_wait_for_the_clock(start_daemon):
    """Their time is over at once: a search for each would take the loop minutes."""
    daemon = start_daemon(settings={"listen.threads": 1})
    clients = [Client(daemon.address) for _ in range(150)]
    for client in clients:
        client.send(encode("OID", "RANGE", 100000) * 1024)
    for client in clients:
        for _ in range(1024):
            reply = client.reply()
            assert isinstance(reply, list) or reply.word == "TRYAGAIN"
        client.close()


def test_order_with_cached_counters(client):
    assert client.call("COUNTER", "CREATE", "cached", "CACHE", 7) == b"OK"
    send_aside(client, (encode("NEXT", "cached") + encode("NEXT", "strict") + b"PING\r\n") * 3000)
    for number in range(1, 3001):
        assert client.replies(3) == [number, number, b"PONG"]


@pytest.mark.parametrize(
    "commands, check",
    [
        ([b"PING\r\n"], lambda replies: set(replies) == {b"PONG"}),
        ([encode("INCR", "deep")], lambda replies: replies == list(range(1, 100001))),
        ([encode("OID")], lambda replies: sorted(set(replies)) == replies),
        (
            [encode("INCR", f"deep{number}") for number in range(1000)],
            lambda replies: replies == [1 + i // 1000 for i in range(100000)],
        ),
        (
            [encode("INCR", "deep"), encode("GET", "deep"), b"PING\r\n", encode("OID")],
            lambda replies: replies[0::4] == [int(value) for value in replies[1::4]]
            and replies[0::4] == list(range(1, 25001)),
        ),
    ],
    ids=["ping", "one counter", "ids", "many counters", "mixed"],
)
def test_100000_requests_in_one_write(commands, check, client):
    sender = send_aside(client, b"".join(commands) * (100000 // len(commands)))
    replies = client.replies(100000)
    sender.join(DEADLINE_S)
    assert check(replies)
    client.half_close()
    client.expect_end()


def test_replies_beyond_the_output_limit(start_daemon):
    daemon = start_daemon(settings={"limits.output": "4KiB"})
    with Client(daemon.address) as client:
        send_aside(client, encode("OID", 10000) * 100 + encode("NEXT", "big", 5) + b"PING\r\n")
        ids = [id for _ in range(100) for id in client.reply()]
        assert len(ids) == 1000000
        assert all(before < after for before, after in zip(ids, ids[1:]))
        assert client.replies(2) == [[1, 5], b"PONG"]


def test_the_greatest_replies(client):
    ids = client.call("OID", 100000)
    assert len(ids) == 100000 and ids == sorted(set(ids))
    line = client.call("OID", 100000, "LINE").split(b" ")
    assert len(line) == 100000 and line == sorted(set(line)) and ids[-1] < line[0]
    uuids = client.call("UUID", "V7", 100000)
    assert len(uuids) == 100000 and uuids == sorted(set(uuids))


@pytest.mark.parametrize("request_bytes", [encode("OID", 10000), encode("INCR", "half")])
def test_half_close(request_bytes, client):
    """Who has sent all and says so gets all replies, then the end."""
    client.send(request_bytes * 200)
    client.half_close()
    replies = client.replies(200)
    client.expect_end()
    assert all(len(r) == 10000 if isinstance(r, list) else r for r in replies)
    assert isinstance(replies[0], list) or replies == list(range(1, 201))


def test_half_close_behind_a_batch(client):
    """EXEC whose replies wait for the reader is carried out to its end all the same."""
    batch = encode("MULTI") + encode("OID", 10000) * 50 + encode("INCR", "half") + encode("EXEC")
    client.send(batch + encode("INCR", "half"))
    client.half_close()
    assert len(client.replies(52)) == 52
    replies = client.reply()
    assert len(replies) == 51 and replies[-1] == 1
    ids = sum(replies[:-1], [])
    assert len(ids) == 500000 and ids == sorted(set(ids))
    assert client.reply() == 2
    client.expect_end()


def test_half_close_within_a_command(client):
    client.send(encode("INCR", "half") + b"*2\r\n$4\r\nINCR\r\n$4\r\nha")
    client.half_close()
    assert client.reply() == 1
    client.expect_end()


def test_nothing_behind_quit_is_carried_out(daemon):
    with Client(daemon.address) as client, Client(daemon.address) as other:
        client.send(encode("INCR", "before") + b"QUIT\r\n" + encode("INCR", "behind"))
        assert client.replies(2) == [1, b"OK"]
        client.expect_end()
        assert other.call("EXISTS", "before", "behind") == 1


PORTIONS = (
    encode("INCR", "portions")
    + b"PING\r\n"
    + encode("MULTI")
    + encode("INCR", "portions")
    + b'ECHO "a b"\n'
    + encode("EXEC")
    + b"*0\r\n\r\n"
    + encode("ECHO", b"\r\n*1\r\n")
    + encode("GET", "portions")
)


def check_portions(client, number):
    assert client.replies(5) == [2 * number - 1, b"PONG", b"OK", b"QUEUED", b"QUEUED"]
    assert client.replies(3) == [[2 * number, b"a b"], b"\r\n*1\r\n", b"%d" % (2 * number)]


def wait_until_read(sock):
    """A Unix socket tells when the other side has taken all bytes out."""
    left = array.array("i", [1])
    end = time.monotonic() + DEADLINE_S
    while left[0] != 0:
        assert time.monotonic() < end
        fcntl.ioctl(sock, termios.TIOCOUTQ, left)
        time.sleep(0)


@pytest.fixture
def unix_client(start_daemon, tmp_path):
    daemon = start_daemon(listen=f"unix:{tmp_path}/socket", store="memory:")
    with Client(daemon.address) as client:
        yield client


def test_split_at_every_byte(unix_client):
    for at in range(1, len(PORTIONS)):
        unix_client.send(PORTIONS[:at])
        wait_until_read(unix_client.sock)
        unix_client.send(PORTIONS[at:])
        check_portions(unix_client, at)


def test_byte_by_byte(unix_client):
    for at in range(len(PORTIONS)):
        unix_client.send(PORTIONS[at : at + 1])
        wait_until_read(unix_client.sock)
    check_portions(unix_client, 1)


def test_many_connections_one_counter(daemon):
    """Values are unique, and rise in each connection."""
    taken = [[] for _ in range(16)]

    def take(values):
        with Client(daemon.address) as client:
            for _ in range(20):
                client.send(encode("NEXT", "shared") * 10)
                values += client.replies(10)

    threads = [threading.Thread(target=take, args=(values,)) for values in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(values == sorted(values) for values in taken)
    assert sorted(sum(taken, [])) == list(range(1, 3201))
