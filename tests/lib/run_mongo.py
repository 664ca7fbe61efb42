"""./dev run mongo: a MongoDB replica set of three with a shop's counters, and idmintd on it in the
foreground. Ctrl-C stops all; the data stay.

usage: run_mongo.py FOLDER PORT [OPTION ...]     PORT: the first of three; options go to idmintd
"""

import os
import signal
import socket
import subprocess
import sys

import pymongo.errors

from daemon import IDMINTD
from mongod import ROOT, ReplicaSet

ADOPT = os.path.join(ROOT, "client/examples/adopt")
ALREADY_INITIALIZED = 23  # the error code

sys.path.insert(0, ADOPT)
import shop  # noqa: E402


class Servers(ReplicaSet):
    """Their ports are in the set's own configuration: it must find them again."""

    def __init__(self, folder, ports):
        # Else a primary that is stopped waits 15 s for its clients.
        options = ["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"]
        super().__init__(folder, len(ports), options=options)
        for member, port in zip(self.members, ports):
            member.port = port

    def _initiate(self):
        try:
            super()._initiate()
        except pymongo.errors.OperationFailure as error:
            if error.code != ALREADY_INITIALIZED:
                raise

    def stop(self):
        """All at once; a primary alone would look for a successor."""
        running = [member for member in self.members if member.running]
        for member in running:
            member.signal(signal.SIGTERM)
        for member in running:
            member.process.wait()


def refuse_taken(ports):
    for port in ports:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                sys.exit(f"something listens on 127.0.0.1:{port}: another ./dev run mongo?")


def resp_address(options):
    address = os.environ.get("IDMINT_LISTEN_RESP", "127.0.0.1:7377")
    for option, value in zip(options, options[1:]):
        if option == "--listen":
            address = value
    return address


def introduce(servers, folder):
    with servers.client() as client:
        version = client.server_info()["version"]
        state = "new" if shop.seed(client.shop) else "as you left them"
    print(f"\nMongoDB {version}, three members: {servers.uri('shop')}")
    print(f"Its data are in {os.path.abspath(folder)}; the shop's counters are {state}.")
    print("What would become of each, told by idmintd --survey before anything is touched:\n")
    sys.stdout.flush()


def suggest(address):
    host, port = address.rsplit(":", 1)
    other = address != "127.0.0.1:7377"
    print(f"\nidmintd: Redis protocol on {address}. Ctrl-C stops all.")
    print("Try, in another terminal:")
    print(f"  {f'IDMINT_ADDR={address} ' if other else ''}build/client/idmint next orders")
    print(f"  printf 'NEXT invoices\\r\\nQUIT\\r\\n' | nc {host} {port}")
    print("  .venv/bin/python client/examples/adopt/shop.py show")
    print(f"  {f'MINT_URL=redis://{address} ' if other else ''}./dev tour\n", flush=True)


def serve(command, options):
    """idmintd's exit status. A terminal's Ctrl-C reaches it without help."""
    signal.signal(signal.SIGINT, lambda *_: None)
    daemon = subprocess.Popen([*command, *options])
    signal.signal(signal.SIGTERM, lambda *_: daemon.terminate())
    return daemon.wait()


def main():
    folder, options = sys.argv[1], sys.argv[3:]
    ports = range(int(sys.argv[2]), int(sys.argv[2]) + 3)
    # Else libmongoc keeps statistics outside the tree, in /dev/shm.
    os.environ["MONGOC_DISABLE_SHM"] = "1"
    refuse_taken(ports)
    with Servers(folder, ports) as servers:
        config = os.path.join(ADOPT, "idmintd.conf")
        command = [IDMINTD, "-c", config, "--store", servers.uri()]
        introduce(servers, folder)
        subprocess.run([*command, "--survey"], check=True)
        suggest(resp_address(options))
        status = serve(command, options)
        servers.stop()
    sys.exit(status)


if __name__ == "__main__":
    main()
