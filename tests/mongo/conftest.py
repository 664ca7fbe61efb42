import itertools
import time

from bson import Int64
import pytest

from daemon import IDMINTD
from mongod import ReplicaSet
from resp import Client, Error

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """A replica set of one."""
    with ReplicaSet(tmp_path_factory.mktemp("alone")) as servers:
        yield servers


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """A replica set of three."""
    with ReplicaSet(tmp_path_factory.mktemp("three"), 3) as servers:
        yield servers


class Shop:
    """A database of its own on a server, and daemons that keep their counters there."""

    def __init__(self, servers, start_daemon):
        self.servers = servers
        self.name = f"shop{next(numbers)}"
        self.mongo = servers.client()
        self.database = self.mongo[self.name]
        self.state = self.mongo[f"{self.name}_state"]["idmint_state"]
        self.start_daemon = start_daemon

    @property
    def counters(self):
        return self.database["counters"]

    def fail(self, mode, commands, **data):
        """A fail point for commands on the counters; what idmint keeps for itself is spared."""
        namespace = f"{self.name}.counters"
        self.servers.primary().failpoint(mode, commands, namespace=namespace, **data)

    def settings(self, **mongo):
        names = {"database": self.name, "state_database": f"{self.name}_state"}
        return {f"mongo.{key}": value for key, value in {**names, **mongo}.items()}

    def start(self, settings=None, binary=IDMINTD, **mongo):
        # Sanitized daemons on busy machines are slow; tests of time say how much there is.
        merged = {"limits.request": "20s", **self.settings(**mongo), **(settings or {})}
        return self.start_daemon(store=self.servers.uri(), settings=merged, binary=binary)

    def client(self, settings=None, **mongo):
        return Client(self.start(settings, **mongo).address)


@pytest.fixture
def shop(alone, start_daemon):
    shop = Shop(alone, start_daemon)
    yield shop
    for member in alone.members:
        member.failpoint_off()
    shop.mongo.close()


@pytest.fixture
def shop3(three, start_daemon):
    shop = Shop(three, start_daemon)
    yield shop
    for member in three.members:
        if not member.running:
            member.start()
        member.resume()
    three.primary()
    for member in three.members:
        member.failpoint_off()
    shop.mongo.close()


def is_error(reply, word):
    assert isinstance(reply, Error) and reply.word == word, reply
    return reply.decode()


def until_served(client, *command, deadline_s=60):
    """Repeats what was not done or is not known, as a client may; the reply that is neither."""
    end = time.monotonic() + deadline_s
    while isinstance(reply := client.call(*command), Error):
        assert reply.word in ("TRYAGAIN", "UNCERTAIN"), reply
        assert time.monotonic() < end, reply
    return reply


def same(document, expected):
    """Equal, and of the same number types: 5, Int64(5) and 5.0 are equal to Python."""
    assert document == expected
    for key, value in expected.items():
        assert type(document[key]) is type(value), (key, document, expected)


def long(number):
    return Int64(number)
