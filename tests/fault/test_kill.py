"""kill -9 under load, again and again, on one store: the promises hold over all cycles."""

import os
import random

from daemon import Daemon
from history import History
from load import Connection, Load, counter_mix, get, oid_mix, scaled

CYCLES = int(os.environ.get("IDMINT_KILL_CYCLES", "100"))
NAMES = ["strict", "cached"]


def read_counters(address, story):
    asker = Connection(address, story)
    values = [asker.call(get(name)).last for name in NAMES]
    asker.close()
    return dict(zip(NAMES, values))


def kill_cycles(folder, cycles, seed, **options):
    """The history, and the violations of the counter that reserves nothing."""
    rng = random.Random(seed)
    story = History(reserving=["cached"])
    create = ("-c", str(folder / "idmintd.conf"))
    (folder / "idmintd.conf").write_text("[counter cached]\ncache = 20\n")
    mix = oid_mix() + counter_mix(*NAMES)
    daemon = Daemon(folder, *create, settings={"listen.threads": 2}, **options)
    try:
        for cycle in range(cycles):
            daemon.start()
            read_counters(daemon.address, story)
            with Load(daemon.address, story, mix, threads=2, seed=(seed, cycle)) as load:
                load.wait(scaled(rng.randint(1, 300)))
                daemon.kill()
        daemon.start()
        last = read_counters(daemon.address, story)
        daemon.stop()
    finally:
        if daemon.running:
            daemon.kill()
    return story, story.gaps("strict", last["strict"])


def test_kill(tmp_path):
    story, gaps = kill_cycles(tmp_path, CYCLES, seed=7)
    assert story.check() == []
    assert gaps == []
    assert story.count("done") > CYCLES
    assert story.count("unknown") > CYCLES  # it was killed in the middle of things
