"""README's tour: a shop's counters are adopted, and its programs go on before and after."""

import os
import re
import shutil
from signal import SIGINT
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import is_error
from daemon import ROOT, Log, run_idmintd
from resp import Client

ADOPT = os.path.join(ROOT, "client/examples/adopt")
CONFIG = os.path.join(ADOPT, "idmintd.conf")
BUILT = os.path.join(ROOT, "build-adopt")
sys.path.insert(0, ADOPT)

import shop as adopt  # noqa: E402
import tour  # noqa: E402

pytestmark = pytest.mark.once


@pytest.fixture
def seeded(shop):
    assert adopt.seed(shop.database)
    assert not adopt.seed(shop.database)
    return shop


def start(shop):
    settings = {"limits.request": "20s", **shop.settings()}
    return shop.start_daemon("-c", CONFIG, store=shop.servers.uri(), settings=settings)


def documents(shop):
    names = {counter.collection for counter in adopt.COUNTERS.values()}
    return {name: list(shop.database[name].find()) for name in names}


def survey(shop):
    options = ["-c", CONFIG, "--store", shop.servers.uri(), "--survey"]
    for key, value in shop.settings().items():
        options += ["--set", f"{key}={value}"]
    done = run_idmintd(*options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_comes_is_as_told(seeded):
    before = documents(seeded)
    told = survey(seeded)
    assert documents(seeded) == before
    assert re.search("vouchers: REFUSED, .* string", told)
    next_values = dict(re.findall(r"\S+ (\w+): .*the next value is (\d+)", told))
    assert next_values.keys() == adopt.COUNTERS.keys()
    with Client(start(seeded).address) as client:
        for name, value in next_values.items():
            assert client.call("NEXT", name) == int(value) == adopt.COUNTERS[name].first()
        is_error(client.call("NEXT", "vouchers"), "WRONGTYPE")
    assert {k: len(v) for k, v in documents(seeded).items()} == {k: len(v) for k, v in before.items()}


@pytest.mark.parametrize("name", adopt.COUNTERS)
def test_home_made_code_goes_on(seeded, name):
    counter, count = adopt.COUNTERS[name], 40
    with Client(start(seeded).address) as client, ThreadPoolExecutor(2) as pool:
        home_made = pool.submit(lambda: [counter.take(seeded.database) for _ in range(count)])
        minted = pool.submit(lambda: [client.call("NEXT", name) for _ in range(count)])
        values = home_made.result() + minted.result()
    assert sorted(values) == list(range(counter.first(), counter.first() + 2 * count))


@pytest.mark.parametrize("language", tour.COUNTER)
def test_programs(seeded, monkeypatch, language):
    if language != "python" and not os.path.isdir(f"{BUILT}/{language}.built"):
        pytest.skip("./dev test installs what it needs")
    daemon = start(seeded)
    monkeypatch.setenv("MONGO_URI", seeded.servers.uri(seeded.name))
    monkeypatch.setenv("MINT_URL", f"redis://{daemon.address}")
    numbers = tour.together(BUILT, [language])
    first = adopt.COUNTERS[tour.COUNTER[language]].first()
    assert tour.check(seeded.database, language, numbers, first) is None
    before, after = numbers[language, "before"], numbers[language, "after"]
    assert before == sorted(before) and after == sorted(after)
    assert min(before) < max(after) and min(after) < max(before)  # at the same time


def test_a_number_issued_twice_is_noticed(seeded):
    numbers = {("python", "before"): [42, 43, 44], ("python", "after"): [44, 45]}
    seeded.database.counters.update_one({"_id": "orders"}, {"$set": {"seq": 45}})
    assert "44, 44" in tour.check(seeded.database, "python", numbers, 42)


def test_versions_are_those_tested():
    with open(f"{ADOPT}/python/requirements.txt") as named:
        with open(f"{ROOT}/tests/requirements.txt") as tested:
            assert set(named) <= set(tested)


def three_free_ports():
    for first in range(28017, 32000, 10):
        probes = [socket.socket() for _ in range(3)]
        try:
            for i, probe in enumerate(probes):
                probe.bind(("127.0.0.1", first + i))
            return first
        except OSError:
            continue
        finally:
            for probe in probes:
                probe.close()
    raise AssertionError("no free ports")


def run_mongo(folder, port):
    command = [sys.executable, os.path.join(ROOT, "tests/lib/run_mongo.py"), str(folder), str(port)]
    command += ["--listen", "127.0.0.1:0"]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )


def test_run_mongo(tmp_path):
    """As in a terminal: it starts, Ctrl-C stops it cleanly, and it starts again where it was."""
    port = three_free_ports()
    for counters, number in (("are new", 42), ("are as you left them", 43)):
        process = run_mongo(tmp_path / "mongo", port)
        try:
            log = Log(process.stdout)
            log.wait(counters)
            log.wait(f"orders: .*the next value is {number}$")
            address = log.wait(r"listening on (\S+)").group(1)
            log.wait(r"idmintd \S+ ready")
            with Client(address) as client:
                assert client.call("NEXT", "orders") == number
            os.killpg(process.pid, SIGINT)
            assert process.wait(60) == 0, log.text()
        finally:
            process.kill()
            process.wait()
    shutil.rmtree(tmp_path / "mongo")
