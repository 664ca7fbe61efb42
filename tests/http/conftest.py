import pytest

from browser import Browser
from daemon import Daemon
from resp import Client


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A daemon in its default settings, that serves HTTP."""
    daemon = Daemon(tmp_path_factory.mktemp("data"), http="127.0.0.1:0").start()
    yield daemon
    daemon.stop()


@pytest.fixture
def client(served):
    with Client(served.address) as client:
        yield client


@pytest.fixture(scope="module")
def chromium():
    browser = Browser()
    yield browser
    browser.quit()


@pytest.fixture
def start_http(start_daemon):
    """A function that starts a daemon that serves HTTP: the daemon, and where it serves it."""

    def start(**keywords):
        daemon = start_daemon(http="127.0.0.1:0", **keywords)
        return daemon, daemon.http

    return start


def pytest_collection_modifyitems(items):
    for item in items:
        if {"browser", "chromium"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.once)
