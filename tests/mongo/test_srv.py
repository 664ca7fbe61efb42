"""mongodb+srv: the servers and some options are had from DNS."""

import pytest

from daemon import run_idmintd
from dns_server import DnsServer
from resp import Client

DOMAIN = "shop.idmint.test"


@pytest.fixture
def names(tmp_path, alone):
    port = alone.members[0].port
    records = {
        (f"_mongodb._tcp.db.{DOMAIN}", "SRV"): [f"0 0 {port} member0.{DOMAIN}."],
        (f"db.{DOMAIN}", "TXT"): [f'"replicaSet={alone.name}"'],
        (f"member0.{DOMAIN}", "A"): ["127.0.0.1"],
        (f"_mongodb._tcp.astray.{DOMAIN}", "SRV"): [f"0 0 {port} member0.elsewhere.test."],
    }
    with DnsServer(tmp_path, records) as server:
        yield server


def test_served(names, shop, start_daemon):
    settings = {**shop.settings(), "limits.request": "20s"}
    uri = f"mongodb+srv://db.{DOMAIN}/?tls=false"
    daemon = start_daemon(store=uri, settings=settings, wrap=names.wrap())
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 1
        assert "replica set" in client.info("store")["store_engine"]
    assert {kind for _, kind in names.asked} >= {"SRV", "TXT"}
    assert shop.counters.find_one()["seq"] == 1


@pytest.mark.parametrize("host, word", [("missing", "look up SRV record"), ("astray", "elsewhere.test")])
def test_refused(names, host, word):
    uri = f"mongodb+srv://user:secret@{host}.{DOMAIN}/?tls=false"
    told = run_idmintd("--check-store", "--store", uri, wrap=names.wrap())
    assert told.returncode != 0 and word in told.stderr
    assert "secret" not in told.stderr
