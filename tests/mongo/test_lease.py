"""Two daemons of one issuer: one leads, the other refers to it and takes over; order holds across."""

import os
import signal

from daemon import ROOT, wait_until
from resp import Client, Error

NO_FENCE = os.environ.get("IDMINTD_NO_FENCE", f"{ROOT}/build-no-fence/daemon/idmintd")
LEASE = {"lease": "5s", "window": "5s"}


def leads(daemon):
    with Client(daemon.address) as client:
        return b"role:master" in client.call("INFO", "replication")


def refers_to(daemon):
    with Client(daemon.address) as client:
        reply = client.call("OID")
        return reply.split(b" ")[1].decode() if isinstance(reply, Error) else None


def pair(shop):
    first = shop.start(**LEASE)
    wait_until(lambda: leads(first), "the first leads")
    second = shop.start(**LEASE)
    wait_until(lambda: refers_to(second) == first.address, "the second refers to the first")
    return first, second


def draw(daemon, count=100):
    with Client(daemon.address) as client:
        ids = []
        for _ in range(count):
            reply = client.call("OID")
            assert not isinstance(reply, Error), reply
            ids.append(reply)
        return ids


def test_one_leads_and_the_other_refers_to_it(shop):
    first, second = pair(shop)
    draw(first)
    assert not leads(second)
    # Counters need no leader.
    with Client(first.address) as one, Client(second.address) as other:
        assert [one.call("NEXT", "c"), other.call("NEXT", "c")] == [1, 2]


def test_daemons_of_other_names_lead_orders_of_their_own(shop):
    first = shop.start(**LEASE)
    other = shop.start(issuer="other", **LEASE)
    draw(first)
    draw(other)


def test_a_clean_stop_gives_it_to_the_next_at_once(shop):
    first, second = pair(shop)
    before = draw(first)
    first.stop()
    wait_until(lambda: leads(second), "the second leads")
    assert draw(second)[0] > before[-1]


def test_an_owner_that_is_proven_dead_is_succeeded(shop):
    """Long before its lease ends: that would be an hour."""
    settings = {**LEASE, "lease": "1h"}
    first = shop.start(**settings)
    before = draw(first)
    second = shop.start(**settings)
    wait_until(lambda: refers_to(second) == first.address, "the second refers to the first")
    first.kill()
    wait_until(lambda: leads(second), "the second leads")
    assert draw(second)[0] > before[-1]


def pause(daemon):
    """Until each of its threads has stopped: what comes then is not read before it is woken."""
    daemon.process.send_signal(signal.SIGSTOP)

    def stopped():
        states = []
        for task in os.listdir(f"/proc/{daemon.process.pid}/task"):
            with open(f"/proc/{daemon.process.pid}/task/{task}/stat", encoding="utf-8") as stat:
                states.append(stat.read().rsplit(")", 1)[1].split()[0])
        return set(states) == {"T"}

    wait_until(stopped, "it has stopped")


def paused_too_long(shop, first, second):
    """What the first replies to requests that were sent while it led, when it wakes up after the
    second has taken over; and the ids that were drawn before and after."""
    before = draw(first)
    with Client(first.address) as waiting:
        pause(first)
        for _ in range(10):
            waiting.send(b"OID\r\n")
        wait_until(lambda: leads(second), "the second leads")
        after = draw(second)
        first.process.send_signal(signal.SIGCONT)
        replies = [waiting.reply() for _ in range(10)]
    assert after[0] > before[-1]
    return replies, after


def test_a_leader_that_was_paused_too_long_issues_nothing(shop):
    first, second = pair(shop)
    replies, after = paused_too_long(shop, first, second)
    assert all(isinstance(reply, Error) for reply in replies), replies
    assert {reply.word for reply in replies} <= {"NOTLEADER", "TRYAGAIN"}
    wait_until(lambda: refers_to(first) == second.address, "the first refers to the second")
    # And back again.
    second.stop()
    wait_until(lambda: leads(first), "the first leads again")
    assert draw(first)[0] > after[-1]


def test_without_its_fence_it_is_caught(shop, tmp_path):
    """A control: a daemon that does not look at its lease's end issues behind the successor's back.
    When it wakes up it may hear of the successor first: it is tried until it is caught."""
    assert os.access(NO_FENCE, os.X_OK), f"{NO_FENCE} is not built: ./dev test controls"
    told = []
    for attempt in range(20):
        settings = {**LEASE, "lease": "2s", "issuer": f"control{attempt}"}
        first = shop.start(binary=NO_FENCE, **settings)
        wait_until(lambda: leads(first), "the first leads")
        second = shop.start(**settings)
        wait_until(lambda: refers_to(second) == first.address, "the second refers to the first")
        replies, after = paused_too_long(shop, first, second)
        first.stop()
        second.stop()
        if any(not isinstance(reply, Error) and reply < after[-1] for reply in replies):
            return
        told += replies
    raise AssertionError(told)
