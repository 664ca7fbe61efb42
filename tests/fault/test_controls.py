"""Does the history checker see what it is for? On made-up histories, and on daemons that break a
promise on purpose."""

import os

import pytest
from daemon import ROOT, Daemon
from history import History, done, not_done
from load import Load, next_one, scaled
from test_kill import kill_cycles

EARLY_ACK = os.environ.get("IDMINTD_EARLY_ACK", f"{ROOT}/build-early-ack/daemon/idmintd")
NO_LOCK = os.environ.get("IDMINTD_NO_LOCK", f"{ROOT}/build-no-lock/daemon/idmintd")


def tell(*operations, reserving=()):
    """A history of (connection, sent, received, count, first, last); count 0: a GET; received
    None: no reply; first None: not done."""
    story = History(reserving)
    logs = {}
    for connection, sent, received, count, first, last in operations:
        if connection not in logs:
            logs[connection] = story.connection()
        operation = logs[connection].sends("n", count)
        if received is not None and first is not None:
            done(operation, first, last)
        elif received is not None:
            not_done(operation)
        operation.sent, operation.received = sent, received
    return story


def test_a_good_history():
    story = tell(
        (1, 0, 3, 1, 2, 2),  # overlaps the next: any order
        (2, 1, 2, 1, 1, 1),
        (1, 4, 9, 2, 3, 4),
        (2, 5, 6, 0, 4, 4),  # GET sees what is not acknowledged yet
        (2, 7, None, 2, None, None),
        (3, 10, 11, 1, None, None),
        (3, 12, 13, 1, 6, 6),
    )
    assert story.check() == []
    assert story.gaps("n", 6) == []
    assert story.count("done") == 4


@pytest.mark.parametrize(
    "operations, told",
    [
        ([(1, 0, 5, 1, 7, 7), (2, 1, 4, 1, 7, 7)], "issued twice"),
        ([(1, 0, 5, 3, 7, 9), (2, 1, 4, 1, 8, 8)], "issued twice"),
        ([(1, 0, 9, 9, 1, 9), (2, 1, 8, 1, 3, 3), (3, 1, 8, 1, 10, 10)], "issued twice"),
        ([(1, 0, 1, 1, 9, 9), (2, 2, 3, 1, 8, 8)], "not above what was received"),
        ([(1, 0, 1, 1, 9, 9), (2, 0, 3, 1, 7, 7), (3, 2, 4, 1, 8, 8)], "not above"),
        ([(1, 0, 5, 1, 9, 9), (1, 0, 5, 1, 8, 8)], "out of order on one connection"),
        ([(1, 0, 1, 1, 9, 9), (2, 2, 3, 0, 8, 8)], "acknowledged, then lost"),
        ([(1, 0, 1, 0, 9, 9), (2, 2, 3, 1, 9, 9)], "though GET had told it"),
        ([(1, 0, 1, 3, 1, 4)], "another range"),
    ],
)
def test_bad_histories(operations, told):
    found = tell(*operations).check()
    assert any(told in violation for violation in found), found


def test_a_counter_that_reserves():
    """Its GET tells what is reserved, not what was issued."""
    story = tell((1, 0, 1, 0, 9, 9), (2, 2, 3, 1, 5, 5), reserving=["n"])
    assert story.check() == []


def test_gaps():
    lossy = tell((1, 0, 1, 1, 1, 1), (1, 2, 3, 1, None, None), (1, 4, 5, 1, 3, 3))
    assert lossy.gaps("n", 3) != []
    assert lossy.check() == []
    doubtful = tell((1, 0, 1, 1, 1, 1), (2, 2, None, 1, None, None), (1, 4, 5, 1, 3, 3))
    assert doubtful.gaps("n", 3) == []
    assert doubtful.gaps("n", 4) != []
    assert doubtful.gaps("n", 1) != []


def test_a_daemon_that_acknowledges_before_it_stores(tmp_path):
    assert os.access(EARLY_ACK, os.X_OK), f"{EARLY_ACK} is not built: ./dev test controls"
    found = []
    for attempt in range(50):  # a kill must hit between the reply and the commit
        folder = tmp_path / str(attempt)
        folder.mkdir()
        story, _ = kill_cycles(folder, 10, seed=attempt, binary=EARLY_ACK)
        found += story.check()
        twice = any("issued twice" in violation for violation in found)
        if twice and any("acknowledged, then lost" in violation for violation in found):
            return
    raise AssertionError(found)


def test_a_daemon_without_its_lock(tmp_path):
    assert os.access(NO_LOCK, os.X_OK), f"{NO_LOCK} is not built: ./dev test controls"
    settings = {"listen.threads": 4, "counters.cache": 1000}
    daemon = Daemon(tmp_path, store="memory:", settings=settings, binary=NO_LOCK).start()
    try:
        found = []
        for attempt in range(50):
            story = History(reserving=["n"])
            with Load(daemon.address, story, [next_one("n")], seed=attempt) as load:
                load.wait(scaled(5000))
            found = story.check()
            if found:
                break
    finally:
        daemon.kill()
    assert any("issued twice" in violation for violation in found), found
