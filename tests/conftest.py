import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

from daemon import Daemon  # noqa: E402
from faulty_store import FaultyStore  # noqa: E402
from resp import Client, Error  # noqa: E402


@pytest.fixture
def start_daemon(tmp_path):
    """A function that starts a daemon; what it started is stopped cleanly at the end."""
    started = []

    def start(*options, **keywords):
        folder = tmp_path / f"data{len(started)}"
        folder.mkdir()
        daemon = Daemon(keywords.pop("folder", folder), *options, **keywords)
        started.append(daemon)
        return daemon.start()

    yield start
    faults = []
    for daemon in started:
        try:
            if daemon.running:
                daemon.stop()
        except Exception as fault:  # the others must be stopped all the same
            faults.append(fault)
            if daemon.running:
                daemon.kill()
    if faults:
        raise faults[0]


@pytest.fixture
def daemon(start_daemon):
    """A daemon in its default settings."""
    return start_daemon()


@pytest.fixture
def client(daemon):
    with Client(daemon.address) as client:
        yield client


@pytest.fixture
def store(tmp_path):
    """A store for a daemon; it does well again at the end."""
    made = FaultyStore(tmp_path / "fault")
    yield made
    made.set("ok")


@pytest.fixture
def start_on(store, start_daemon):
    """A function that starts a daemon on that store. Its high water is saved at the start alone,
    unless the settings say otherwise."""

    def start(http="", **settings):
        settings = {"oid.window": "1h", **settings}
        daemon = start_daemon(store=store.uri, http=http, settings=settings)
        with Client(daemon.address) as client:  # the first window is saved
            assert not isinstance(client.call("OID"), Error)
        return daemon

    yield start
    store.set("ok")  # before the daemon is stopped
