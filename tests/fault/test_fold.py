"""Faults while the store's log is folded into its file: the one moment at which what was
acknowledged long ago is written again."""

import pytest
from faultio import FaultIO
from history import History
from load import Connection, get, next_one

NAMES = [f"n{i}" for i in range(30)]


@pytest.fixture
def disk(tmp_path):
    return FaultIO(tmp_path / "faultio", match="idmint.db$")  # not the log beside it


@pytest.fixture
def daemon(start_daemon, disk):
    daemon = start_daemon(env=disk.env, settings={"limits.request": "500ms"})
    disk.forget()
    return daemon


def draw_until(asker, condition):
    while not condition():
        asker.send([next_one(name) for name in NAMES])
        asker.receive()


def check_after_restart(daemon, story):
    daemon.restart()
    asker = Connection(daemon.address, story)
    for name in NAMES:
        assert story.gaps(name, asker.call(get(name)).last) == []
        asker.call(next_one(name))
    asker.close()
    assert asker.errors == []
    assert story.check() == []


def test_kill(daemon, disk):
    story = History()
    asker = Connection(daemon.address, story)
    disk.begin("sync-hang")
    draw_until(asker, lambda: disk.saw("sync"))
    daemon.kill()
    disk.end("sync-hang")
    asker.close()
    assert not disk.saw("synced")
    check_after_restart(daemon, story)


@pytest.mark.parametrize("trigger", ["sync-eio", "write-eio"])
def test_a_disk_that_fails(daemon, disk, trigger):
    story = History()
    asker = Connection(daemon.address, story)
    disk.begin(trigger)
    draw_until(asker, lambda: asker.errors)
    disk.end(trigger)
    asker.call(next_one(NAMES[0]))
    assert asker.errors[-1].startswith("TRYAGAIN") and "restart" in asker.errors[-1]
    asker.close()
    check_after_restart(daemon, story)


def test_a_full_disk(daemon, disk):
    """What was committed is in the log: it goes on, and folds later."""
    story = History()
    asker = Connection(daemon.address, story)
    disk.begin("write-enospc")
    draw_until(asker, lambda: disk.saw("refused"))
    disk.end("write-enospc")
    draw_until(asker, lambda: disk.saw("synced"))
    asker.close()
    assert asker.errors == []
    daemon.kill()
    check_after_restart(daemon, story)
