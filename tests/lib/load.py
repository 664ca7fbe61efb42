"""Load on a daemon, written down in a History: threads x connections x pipelines."""

import os
import random
import threading

import history
import resp
from daemon import DEADLINE_S
from history import OID

# Sanitized builds, and longer runs by hand, want less or more of it.
SCALE = float(os.environ.get("IDMINT_LOAD", "1"))


def scaled(count):
    return max(1, int(count * SCALE))


class Request:
    """A command, and how its reply is read: parse(reply) gives first and last value."""

    def __init__(self, args, key, count, parse):
        self.data = resp.encode(*args)
        self.key = key
        self.count = count
        self.parse = parse
        self.inner = None


class Batch(Request):
    """MULTI, the requests, EXEC."""

    def __init__(self, *inner):
        self.inner = inner
        body = b"".join(request.data for request in inner)
        self.data = resp.encode("MULTI") + body + resp.encode("EXEC")


def oid_tick(oid):
    """Seconds and counter of an ObjectId given as an integer."""
    return oid >> 64 << 24 | oid & 0xFFFFFF


def oid_at(oid, offset):
    """The ObjectId so many ticks later."""
    tick = oid_tick(oid) + offset
    return tick >> 24 << 64 | oid & 0xFFFFFFFFFF000000 | tick & 0xFFFFFF


def oid_second(oid):
    return oid >> 64


def _ids(texts):
    ids = [int(text, 16) for text in texts]
    assert all(oid_at(ids[0], i) == oid for i, oid in enumerate(ids)), texts
    return ids[0], ids[-1]


def _id_range(reply):
    first, count = int(reply[0], 16), int(reply[1])
    return first, oid_at(first, count - 1)


def next_one(name):
    return Request(("NEXT", name), name, 1, lambda reply: (reply, reply))


def next_range(name, count):
    return Request(("NEXT", name, count), name, count, lambda reply: (reply[0], reply[1]))


def next_line(name, count):
    def parse(reply):
        return tuple(map(int, reply.split()))

    return Request(("NEXT", name, count, "LINE"), name, count, parse)


def incrby(name, count):
    return Request(
        ("INCRBY", name, count), name, count, lambda reply: (reply - count + 1, reply)
    )


def get(name):
    def parse(reply):
        value = 0 if reply is None else int(reply)
        return value, value

    return Request(("GET", name), name, 0, parse)


def oid():
    return Request(("OID",), OID, 1, lambda reply: _ids([reply]))


def oids(count):
    return Request(("OID", count), OID, count, _ids)


def oid_line(count):
    return Request(("OID", count, "LINE"), OID, count, lambda reply: _ids(reply.split()))


def oid_range(count):
    return Request(("OID", "RANGE", count), OID, count, _id_range)


def counter_mix(*names):
    """All ways to draw from counters, and to look at them."""
    requests = []
    for name in names:
        requests += [next_one(name)] * 4
        requests += [next_range(name, 3), next_line(name, 5), incrby(name, 2), get(name)]
    first, last = names[0], names[-1]
    requests.append(Batch(next_one(first), next_range(last, 4), next_one(first), get(last)))
    return requests


def oid_mix():
    singles = [oid()] * 4
    return singles + [oids(7), oid_line(5), oid_range(1000), Batch(oid(), oids(3), oid())]


class Connection:
    """A connection that writes down what it asks and is told."""

    def __init__(self, address, story):
        self.client = resp.Client(address, timeout=DEADLINE_S)
        self.log = story.connection()
        self.expected = []
        self.errors = []  # of all its replies

    def close(self):
        self.client.close()

    def send(self, requests):
        data = []
        for request in requests:
            inner = request.inner or (request,)
            operations = [self.log.sends(part.key, part.count) for part in inner]
            self.expected.append((request, operations))
            data.append(request.data)
        self.client.send(b"".join(data))

    def receive(self):
        """The replies to all that was sent; how many operations they told of."""
        told = 0
        for request, operations in self.expected:
            if request.inner is None:
                self._settle(request, operations[0], self.client.reply())
            else:
                replies = self._exec_replies(request)
                for part, operation, reply in zip(request.inner, operations, replies):
                    self._settle(part, operation, reply)
            told += len(operations)
        self.expected.clear()
        return told

    def call(self, request):
        """One request; its operation."""
        self.send([request])
        self.receive()
        return self.log.operations[-1]

    def _exec_replies(self, request):
        count = len(request.inner)
        head = self.client.replies(count + 1)
        assert head == [b"OK"] + [b"QUEUED"] * count, head
        replies = self.client.reply()
        assert isinstance(replies, list) and len(replies) == count, replies
        return replies

    def _settle(self, request, operation, reply):
        if not isinstance(reply, resp.Error):
            history.done(operation, *request.parse(reply))
            return
        self.errors.append(reply.decode())
        if reply.word == "UNCERTAIN":
            history.unknown(operation)
        else:
            assert reply.word in ("TRYAGAIN", "EXHAUSTED", "NOTLEADER"), reply
            history.not_done(operation)


class Load:
    """Threads that draw until they are told to stop, or until the daemon is gone."""

    def __init__(self, address, story, mix, threads=4, connections=3, depth=8, seed=1):
        self.address = address
        self.story = story
        self.mix = mix
        self.shape = (connections, depth)
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self.told = 0
        self.live = threads
        self.errors = []
        self.faults = []  # what is no outcome that the contract knows
        self.threads = [
            threading.Thread(target=self._run, args=(random.Random(f"{seed}/{i}"),))
            for i in range(threads)
        ]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()

    def wait(self, told):
        """Until so many more operations have been answered."""
        with self.changed:
            until = self.told + told
            self.changed.wait_for(
                lambda: self.told >= until or self.faults or self.live == 0, DEADLINE_S
            )
            assert not self.faults, self.faults
            assert self.told >= until, "the daemon is gone" if self.live == 0 else "no replies"

    def join(self):
        for thread in self.threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive(), "a request is not answered"
        assert not self.faults, self.faults

    def _run(self, rng):
        connections = []
        try:
            for _ in range(self.shape[0]):
                connections.append(Connection(self.address, self.story))
            while not self.stopping.is_set():
                self._round(rng, connections)
        except (OSError, resp.Closed) as fault:
            if isinstance(fault, TimeoutError):
                self._fault(repr(fault))
        except Exception as fault:  # told by the thread that waits for this one
            self._fault(repr(fault))
        for connection in connections:
            connection.close()
            self.errors += connection.errors
        with self.changed:
            self.live -= 1
            self.changed.notify_all()

    def _round(self, rng, connections):
        """Sends on all connections, then reads from all of them."""
        for connection in connections:
            connection.send(rng.choices(self.mix, k=rng.randint(1, self.shape[1])))
        told = sum(connection.receive() for connection in connections)
        with self.changed:
            self.told += told
            self.changed.notify_all()

    def _fault(self, text):
        with self.changed:
            self.faults.append(text)
            self.changed.notify_all()


def drive(address, story, mix, told, **shape):
    """Load for so many operations; the errors that it was told."""
    with Load(address, story, mix, **shape) as load:
        load.wait(told)
    return load.errors
