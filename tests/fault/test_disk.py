"""A disk that fails, is full, or does not answer; below the store that keeps its file there."""

import os
import subprocess

import pytest
from faultio import FaultIO
from history import History
from load import Connection, Load, counter_mix, get, next_one, oid, oid_mix, scaled
from resp import Client, Error, encode

# The high water is saved once, at the start: what the disk sees then is the test's own.
QUIET = {"oid.window": "1h"}


@pytest.fixture
def disk(tmp_path):
    return FaultIO(tmp_path / "faultio")


@pytest.fixture
def start_on(start_daemon, disk):
    def start(**keywords):
        keywords.setdefault("settings", QUIET)
        return start_daemon(env=disk.env, **keywords)

    return start


def assert_error(reply, word, *parts):
    assert isinstance(reply, Error) and reply.word == word, reply
    assert all(part in reply.decode() for part in parts), reply


@pytest.mark.parametrize("trigger", ["sync-eio", "sync-enospc", "write-eio"])
def test_a_disk_that_can_not_be_trusted(start_on, disk, trigger):
    """What is on it after that nobody knows: nothing more is issued until a restart."""
    daemon = start_on()
    with Client(daemon.address) as client:
        assert [client.call("NEXT", "n") for _ in range(3)] == [1, 2, 3]
        disk.begin(trigger)
        reply = client.call("NEXT", "n")
        assert reply.word in ("UNCERTAIN", "TRYAGAIN"), reply
        assert_error(client.call("NEXT", "n"), "TRYAGAIN", "restart")
        disk.end(trigger)
        assert_error(client.call("NEXT", "n"), "TRYAGAIN", "restart")
        assert_error(client.call("NEXT", "other"), "TRYAGAIN", "restart")
        assert client.call("PING") == b"PONG"
        assert not isinstance(client.call("OID"), Error)  # its window is open
    daemon.log.wait("error: store: .*stopped; check the disk, then restart idmintd")
    daemon.restart()
    with Client(daemon.address) as client:
        assert client.call("GET", "n") in (b"3", b"4")
        assert client.call("NEXT", "n") in (4, 5)


@pytest.mark.parametrize("trigger", ["sync-eio", "write-eio"])
def test_a_disk_that_fails_under_load(start_on, disk, trigger):
    daemon = start_on(settings={"oid.window": "2s"})
    story = History()
    mix = oid_mix() + counter_mix("a", "b")
    for cycle in range(5):
        with Load(daemon.address, story, mix, seed=cycle) as load:
            load.wait(scaled(200))
            disk.begin(trigger)
            daemon.log.wait("error: store: ")
            load.wait(1)
            disk.end(trigger)
            daemon.kill()
        daemon.restart()
    asker = Connection(daemon.address, story)
    for name in ("a", "b"):
        assert story.gaps(name, asker.call(get(name)).last) == []
    asker.close()
    assert story.check() == []


def test_a_full_disk(start_on, disk):
    """Nothing is taken while it is full; it goes on by itself when there is room again."""
    daemon = start_on()
    with Client(daemon.address) as client:
        assert client.call("NEXT", "n") == 1
        for expected in (2, 3):
            disk.begin("write-enospc")
            assert_error(client.call("NEXT", "n"), "TRYAGAIN", "disk is full")
            assert_error(client.call("NEXT", "new"), "TRYAGAIN", "disk is full")
            assert client.call("GET", "n") == b"%d" % (expected - 1)
            # That it can be read says nothing of its being full.
            assert client.info("store")["store_answers"] == "0"
            assert not isinstance(client.call("OID"), Error)
            disk.end("write-enospc")
            assert client.call("NEXT", "n") == expected
            assert client.info("store")["store_answers"] == "1"
        assert client.call("EXISTS", "new") == 0
        daemon.log.wait("store: answers again")


def test_a_full_disk_under_load(start_on, disk):
    daemon = start_on()
    story = History()
    names = ["a", "b"]
    with Load(daemon.address, story, counter_mix(*names)) as load:
        for _ in range(5):
            load.wait(scaled(200))
            before = story.count("not_done")
            disk.begin("write-enospc")
            while story.count("not_done") == before:
                load.wait(1)
            disk.end("write-enospc")
            after = story.count("done")
            while story.count("done") == after:
                load.wait(1)
    assert {error.split()[0] for error in load.errors} == {"TRYAGAIN"}
    asker = Connection(daemon.address, story)
    for name in names:
        assert story.gaps(name, asker.call(get(name)).last) == []
    asker.close()
    assert story.count("unknown") == 0
    assert story.check() == []


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "idmint-test", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        yield None
        return
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def test_a_disk_that_is_really_full(small_disk, start_daemon, request):
    if small_disk is None:  # mounting is for root: the same by the module alone
        disk = request.getfixturevalue("disk")
        test_a_full_disk(request.getfixturevalue("start_on"), disk)
        return
    daemon = start_daemon(folder=small_disk, settings=QUIET)
    story = History()
    asker = Connection(daemon.address, story)
    asker.call(next_one("n"))
    fill(small_disk / "filler")
    while not asker.errors:
        asker.call(next_one("n"))
    assert "disk is full" in asker.errors[0]
    assert asker.call(next_one("n")).outcome == "not_done"
    os.unlink(small_disk / "filler")
    assert asker.call(next_one("n")).outcome == "done"
    assert story.gaps("n", asker.call(get("n")).last) == []
    asker.close()
    daemon.kill()
    daemon.restart()
    asker = Connection(daemon.address, story)
    asker.call(get("n"))
    asker.call(next_one("n"))
    asker.close()
    assert story.check() == []
    daemon.stop()


def test_no_reply_before_fsync_returns(start_on, disk):
    """While fsync does not return all else goes on, and the reply waits for it."""
    daemon = start_on(settings={**QUIET, "limits.request": "1h", "listen.threads": 2})
    with Client(daemon.address) as writer:
        assert writer.call("NEXT", "n") == 1
        disk.forget()
        disk.begin("sync-hang")
        writer.send(encode("NEXT", "n"))
        disk.wait_event("sync")
        for _ in range(4):  # two for each loop thread
            with Client(daemon.address) as other:
                assert other.call("PING") == b"PONG"
                assert not isinstance(other.call("OID"), Error)
        writer.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            writer.sock.recv(1)
        writer.sock.settimeout(60)
        assert "synced" not in disk.events()
        disk.end("sync-hang")
        assert writer.reply() == 2
    assert "synced" in disk.events()


def test_deadline_while_fsync_hangs(start_on, disk):
    daemon = start_on(settings={**QUIET, "limits.request": "1s"})
    with Client(daemon.address) as first, Client(daemon.address) as second:
        assert first.call("NEXT", "n") == 1
        disk.forget()
        disk.begin("sync-hang")
        first.send(encode("NEXT", "n"))
        disk.wait_event("sync")
        second.send(encode("NEXT", "n") + encode("GET", "n") + encode("PING"))
        assert_error(first.reply(), "UNCERTAIN")  # under way: it may end either way
        assert_error(second.reply(), "TRYAGAIN")  # behind it: taken back
        assert_error(second.reply(), "TRYAGAIN")
        assert second.reply() == b"PONG"
        disk.end("sync-hang")
        while isinstance(reply := second.call("NEXT", "n"), Error):
            assert reply.word == "TRYAGAIN"
        assert reply == 3


def is_stored_before_sent(events):
    """Between a request that came and the reply to it an fsync began and returned."""
    events = events[events.index("recv") : events.index("send")]
    return "sync" in events and "synced" in events[events.index("sync") :]


@pytest.mark.parametrize(
    "events, verdict",
    [
        ("recv sync synced send", True),
        ("sync recv synced sync synced send", True),
        ("recv send sync synced", False),
        ("recv sync send synced", False),
        ("sync recv synced send", False),
        ("sync synced recv send", False),
    ],
)
def test_the_order_is_watched(events, verdict):
    assert is_stored_before_sent(events.split()) == verdict


def test_order_of_fsync_and_reply(start_on, disk):
    daemon = start_on()
    with Client(daemon.address) as client:
        client.call("NEXT", "n")
        for _ in range(scaled(50)):
            disk.forget()
            client.call("NEXT", "n")
            assert is_stored_before_sent(disk.events())


def test_oids_stop_at_the_saved_window(start_on, disk):
    """With a disk that hangs, ids flow as far as was saved ahead, and go on by themselves."""
    daemon = start_on(settings={"oid.window": "2s", "limits.request": "100ms"})
    story = History()
    asker = Connection(daemon.address, story)
    asker.call(oid())
    disk.begin("sync-hang")
    while not asker.errors:
        asker.call(oid())
    assert asker.errors[0].startswith("TRYAGAIN")
    disk.end("sync-hang")
    while asker.call(oid()).outcome != "done":
        pass
    asker.close()
    daemon.kill()
    daemon.restart()
    asker = Connection(daemon.address, story)
    asker.call(oid())
    asker.close()
    assert story.check() == []
