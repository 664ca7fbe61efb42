"""Load on counters that daemons and home-made code share, while something happens to MongoDB."""

import threading
import time

import pymongo

import history
from daemon import DEADLINE_S
from load import Connection, Load, next_one, oid
from resp import Client

REQUEST_MS = 1500  # the daemons' deadline for a request
SLACK_S = 3  # for a busy machine
PAUSE_S = 0.01
# Drivers wait longer than a test should.
WRITER_MS = {"serverSelectionTimeoutMS": 2000, "socketTimeoutMS": 3000, "connectTimeoutMS": 2000}


def wait_for(progress, more, deadline_s=DEADLINE_S):
    end, begun = time.monotonic() + deadline_s, progress()
    while progress() < begun + more:
        assert time.monotonic() < end, "nothing is served any more"
        time.sleep(0.02)


class Watch:
    """Asks a daemon for PING and OID, one after the other: what needs no store at that time."""

    def __init__(self, address, story):
        self.address = address
        self.share = history.Share(story)
        self.slowest_s = 0
        self.fault = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def ids(self):
        return self.share.count("done")

    def _run(self):
        try:
            with Client(self.address) as client:
                connection = Connection(self.address, self.share)
                while not self.stopping.wait(PAUSE_S):
                    begun = time.monotonic()
                    assert client.call("PING") == b"PONG"
                    self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
                    connection.call(oid())
                connection.close()
        except Exception as fault:  # told by the thread that waits for this one
            self.fault = fault


class Shared:
    """Each daemon is asked for values of `orders`, and two writers take some by themselves, from
    __enter__ to __exit__, which holds all that they were told against the promises."""

    def __init__(self, shop, daemons):
        self.shop = shop
        self.story = history.History()
        self.shares = [history.Share(self.story) for _ in daemons]
        self.watches = [Watch(daemon.address, self.story) for daemon in daemons]
        self.loads = [
            Load(daemon.address, share, [next_one("orders")], threads=1, depth=4, seed=i)
            for i, (daemon, share) in enumerate(zip(daemons, self.shares))
        ]
        self.stopping = threading.Event()
        self.taken = []
        self.writers = [threading.Thread(target=self._write) for _ in range(2)]

    def _write(self):
        """An application with the usual recipe."""
        with self.shop.servers.client(appname="writer", **WRITER_MS) as mongo:
            counters = mongo[self.shop.name].get_collection(
                "counters", write_concern=pymongo.WriteConcern("majority", j=True, wtimeout=2000)
            )
            while not self.stopping.is_set():
                try:
                    after = counters.find_one_and_update(
                        {"_id": "orders"}, {"$inc": {"seq": 1}}, upsert=True, return_document=True
                    )
                    self.taken.append(after["seq"])
                except pymongo.errors.PyMongoError:
                    pass

    def count(self, outcome, daemon=None):
        return (self.story if daemon is None else self.shares[daemon]).count(outcome)

    def served(self, more, daemon=None):
        """Waits until so many more takes are done."""
        wait_for(lambda: self.count("done", daemon), more)

    def refused(self, more, daemon):
        """Waits until so many more takes have failed."""
        wait_for(lambda: self.count("unknown", daemon) + self.count("not_done", daemon), more)

    def ids(self, more, daemon=None):
        """Waits until so many more ObjectIds are issued, by whichever daemon leads or by this."""
        watches = self.watches if daemon is None else [self.watches[daemon]]
        wait_for(lambda: sum(watch.ids() for watch in watches), more)

    def __enter__(self):
        for thread in self.writers + [watch.thread for watch in self.watches]:
            thread.start()
        for load in self.loads:
            load.__enter__()
        return self

    def __exit__(self, kind, *_):
        self.stopping.set()
        for watch in self.watches:
            watch.stopping.set()
        for load in self.loads:
            load.__exit__()
        for thread in self.writers + [watch.thread for watch in self.watches]:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        if kind is None:
            self._check()

    def _check(self):
        assert self.story.check() == []
        takes = self.story.by_key()["orders"]
        issued = [take.first for take in takes if take.outcome == "done"]
        assert issued and self.taken
        assert len(set(issued) | set(self.taken)) == len(issued) + len(self.taken)
        slowest_s = max(take.received - take.sent for take in takes) / 1e9
        assert slowest_s < REQUEST_MS / 1000 + SLACK_S
        for watch in self.watches:
            assert watch.fault is None and watch.slowest_s < 1, (watch.fault, watch.slowest_s)
