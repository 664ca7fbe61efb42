"""A real-time clock that is set back or forward while ids are drawn."""

import pytest
from daemon import wait_until
from faultio import FaultIO
from history import History
from load import Connection, Load, oid, oid_mix, oid_second, scaled
from resp import Client

HOUR_S = 3600


@pytest.fixture
def clock(tmp_path):
    return FaultIO(tmp_path / "faultio")


@pytest.fixture
def daemon(start_daemon, clock):
    return start_daemon(env=clock.env, settings={"listen.threads": 4})


def daemon_time(address):
    with Client(address) as client:
        return int(client.call("TIME")[0])


def draw(address, story):
    asker = Connection(address, story)
    taken = asker.call(oid())
    asker.close()
    return taken.last


def test_set_back_an_hour(daemon, clock):
    story = History()
    with Load(daemon.address, story, oid_mix()) as load:
        load.wait(scaled(500))
        before = daemon_time(daemon.address)
        clock.set_clock(-HOUR_S)
        wait_until(lambda: daemon_time(daemon.address) < before - HOUR_S / 2, "a clock set back")
        load.wait(scaled(2000))
    assert load.errors == []
    assert oid_second(draw(daemon.address, story)) >= before
    assert story.check() == []


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_restart_after_it_was_set_back(daemon, clock, end):
    story = History()
    for offset_s in (-HOUR_S, -2 * HOUR_S, -3 * HOUR_S):
        with Load(daemon.address, story, oid_mix()) as load:
            load.wait(scaled(300))
            clock.set_clock(offset_s)
            load.wait(scaled(300))
        assert load.errors == []
        getattr(daemon, end)()
        daemon.restart()
        daemon.log.wait("ahead of the clock")
    draw(daemon.address, story)
    assert story.check() == []


def test_a_forward_glitch_is_not_followed(daemon, clock):
    """Two hours forward, and back again: no id tells of it."""
    story = History()
    draw(daemon.address, story)
    with Load(daemon.address, story, oid_mix()) as load:
        load.wait(scaled(300))
        before = daemon_time(daemon.address)
        clock.set_clock(2 * HOUR_S)
        daemon.log.wait("stepped forward")
        load.wait(scaled(1000))
        during = draw(daemon.address, story)
        clock.set_clock(0)
        load.wait(scaled(1000))
    assert load.errors == []
    assert before <= oid_second(during) < before + HOUR_S
    daemon.kill()
    daemon.restart()
    assert oid_second(draw(daemon.address, story)) < before + HOUR_S  # nor does the high water
    assert story.check() == []


def test_a_step_forward_that_lasts_is_followed(start_daemon, clock):
    daemon = start_daemon(env=clock.env, settings={"oid.forward_settle": "1s"})
    story = History()
    before = daemon_time(daemon.address)
    with Load(daemon.address, story, oid_mix()) as load:
        clock.set_clock(2 * HOUR_S)
        load.wait(scaled(300))
        asker = Connection(daemon.address, story)
        while oid_second(asker.call(oid()).last) < before + 2 * HOUR_S:
            pass
        asker.close()
        clock.set_clock(0)
        load.wait(scaled(300))
    assert load.errors == []
    daemon.restart()
    assert oid_second(draw(daemon.address, story)) >= before + 2 * HOUR_S
    assert story.check() == []


def test_a_short_step_forward_is_followed_at_once(daemon, clock):
    story = History()
    before = daemon_time(daemon.address)
    with Load(daemon.address, story, oid_mix()) as load:
        clock.set_clock(HOUR_S // 2)
        asker = Connection(daemon.address, story)
        wait_until(
            lambda: oid_second(asker.call(oid()).last or 0) >= before + HOUR_S // 2,
            "an id of half an hour later",
        )
        asker.close()
        clock.set_clock(0)
        load.wait(scaled(500))
    assert story.check() == []
