"""What clients asked and were told, with times, and whether the promises hold over all of it.

Each connection keeps a log of its own; an operation is noted before it is sent and completed after
its reply is read, both with the monotonic clock, so that "A's reply was received before B was sent"
is never claimed where it was not so. Values are integers; an ObjectId is its twelve bytes as one
integer, which orders as its bytes do. A range is its first and last value.

check() holds for one issuer over any number of daemons that served it one after the other:
  unique   no value is issued twice;
  order    a reply received before a request was sent has the smaller values, and so have, on one
           connection, earlier requests;
  reads    GET tells no less than what was acknowledged before, and what is issued after it, by a
           counter that reserves nothing ahead, is more (so nothing acknowledged was lost).
gaps() holds for counters that reserve nothing ahead and have STEP 1: all values up to the last are
accounted for; none may be missing but those of operations whose outcome is unknown.
"""

import itertools
import time
from bisect import bisect_left
from collections import defaultdict

SHOWN = 5  # violations of a kind that are spelled out


class Operation:
    __slots__ = ("key", "count", "sent", "received", "first", "last", "outcome", "place")

    def __init__(self, key, count, place):
        self.key = key  # the counter; OID for ObjectIds
        self.count = count  # values asked for; 0: a read
        self.place = place  # connection and position in it
        self.sent = time.monotonic_ns()
        self.received = None
        self.first = self.last = None
        self.outcome = "unknown"  # until a reply says done or not_done

    def __repr__(self):
        values = self.first if self.first == self.last else f"{self.first}..{self.last}"
        connection, position = self.place
        return f"{self.key}: {values} (connection {connection}, request {position})"


OID = "ObjectId"


class ConnectionLog:
    def __init__(self, number):
        self.number = number
        self.operations = []

    def sends(self, key, count=1):
        operation = Operation(key, count, (self.number, len(self.operations)))
        self.operations.append(operation)
        return operation


def done(operation, first, last=None):
    """The reply gave these values; a read: the value it told."""
    operation.received = time.monotonic_ns()
    operation.first = first
    operation.last = first if last is None else last
    operation.outcome = "done"


def not_done(operation):
    operation.received = time.monotonic_ns()
    operation.outcome = "not_done"


def unknown(operation):
    operation.received = time.monotonic_ns()


class History:
    """reserving: the counters that have CACHE > 1."""

    def __init__(self, reserving=()):
        self.reserving = set(reserving)
        self.logs = []
        self.numbers = itertools.count()

    def connection(self):
        log = ConnectionLog(next(self.numbers))
        self.logs.append(log)
        return log

    def by_key(self):
        operations = defaultdict(list)
        for log in list(self.logs):
            for operation in list(log.operations):
                operations[operation.key].append(operation)
        return operations

    def count(self, outcome):
        """How many requests for values ended so."""
        return sum(
            operation.outcome == outcome and operation.count > 0
            for log in list(self.logs)
            for operation in list(log.operations)
        )

    def check(self):
        """The violations; an empty list where all promises hold."""
        found = []
        for key, operations in self.by_key().items():
            finished = [operation for operation in operations if operation.outcome == "done"]
            takes = [operation for operation in finished if operation.count > 0]
            reads = [operation for operation in finished if operation.count == 0]
            found += self._counts(takes)
            found += self._unique(takes)
            found += self._real_time(takes)
            found += self._connections(takes)
            found += self._reads(takes, reads, key in self.reserving)
        return found

    @staticmethod
    def _counts(takes):
        wrong = [take for take in takes if take.key != OID and not _is_whole(take)]
        return [f"another range than asked for: {take}" for take in wrong[:SHOWN]]

    @staticmethod
    def _unique(takes):
        found = []
        greatest = None
        for take in sorted(takes, key=lambda take: take.first):
            if greatest is not None and take.first <= greatest.last:
                found.append(f"issued twice: {greatest} and {take}")
            if greatest is None or take.last > greatest.last:
                greatest = take
        return found[:SHOWN]

    @staticmethod
    def _real_time(takes):
        found = []
        before = _Before(takes)
        for take in takes:
            earlier = before.greatest(take.sent)
            if earlier is not None and earlier.last >= take.first:
                found.append(f"not above what was received before it was sent: {earlier}, {take}")
        return found[:SHOWN]

    @staticmethod
    def _connections(takes):
        found = []
        last = {}
        for take in sorted(takes, key=lambda take: take.place):
            earlier = last.get(take.place[0])
            if earlier is not None and earlier.last >= take.first:
                found.append(f"out of order on one connection: {earlier}, {take}")
            last[take.place[0]] = take
        return found[:SHOWN]

    @staticmethod
    def _reads(takes, reads, reserving):
        lost, stale = [], []
        taken = _Before(takes)
        for read in reads:
            earlier = taken.greatest(read.sent)
            if earlier is not None and earlier.last > read.last:
                lost.append(f"acknowledged, then lost: {earlier}, and GET told {read}")
        told = _Before(reads)
        for take in takes if not reserving else ():
            earlier = told.greatest(take.sent)
            if earlier is not None and earlier.last >= take.first:
                stale.append(f"issued though GET had told it: {earlier}, {take}")
        return lost[:SHOWN] + stale[:SHOWN]

    def gaps(self, key, last, first=1):
        """Violations: values up to `last`, the counter's value now, that went missing."""
        takes = self.by_key()[key]
        issued = sum(take.count for take in takes if take.outcome == "done")
        doubt = sum(take.count for take in takes if take.outcome == "unknown")
        missing = last - first + 1 - issued
        if 0 <= missing <= doubt:
            return []
        return [f"{key}: {missing} values missing, {doubt} of unknown outcome"]


class Share(History):
    """A part of a history: of what is noted here, the whole has a note too."""

    def __init__(self, whole):
        super().__init__()
        self.whole = whole

    def connection(self):
        log = self.whole.connection()
        self.logs.append(log)
        return log


def _is_whole(take):
    return take.last - take.first + 1 == take.count


class _Before:
    """The operation with the greatest last value among those received before a time."""

    def __init__(self, operations):
        ordered = sorted(operations, key=lambda operation: operation.received)
        self.times = [operation.received for operation in ordered]
        self.best = []
        for operation in ordered:
            if not self.best or operation.last > self.best[-1].last:
                self.best.append(operation)
            else:
                self.best.append(self.best[-1])

    def greatest(self, sent):
        at = bisect_left(self.times, sent)
        return self.best[at - 1] if at > 0 else None
