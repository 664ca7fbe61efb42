"""Starts the daemon under test, tells its addresses, stops it and looks at what it left behind."""

import os
import re
from signal import SIGKILL, SIGTERM
import subprocess
import threading
import time

import resp

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IDMINTD = os.path.abspath(os.environ.get("IDMINTD", os.path.join(ROOT, "build/daemon/idmintd")))
# Sanitized builds are slow, and so is a machine that others use.
DEADLINE_S = 60
SANITIZER = re.compile(r"(Address|Thread|Leak|Memory)Sanitizer|runtime error:")


class Log:
    """The lines of a stream, read by a thread of their own, so that they can be waited for."""

    def __init__(self, stream):
        self.lines = []
        self.ended = False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.thread.start()

    def _read(self, stream):
        with stream:
            for line in stream:
                with self.changed:
                    self.lines.append(line.decode(errors="replace").rstrip("\n"))
                    self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def find(self, pattern, start=0):
        return next(filter(None, (re.search(pattern, line) for line in self.lines[start:])), None)

    def wait(self, pattern, start=0, deadline_s=DEADLINE_S):
        """The match of the first line from `start` on; fails when it does not come."""
        with self.changed:
            self.changed.wait_for(lambda: self.find(pattern, start) or self.ended, deadline_s)
            match = self.find(pattern, start)
            assert match, f"no {pattern!r} in the log:\n" + "\n".join(self.lines)
            return match

    def text(self):
        with self.changed:
            return "\n".join(self.lines)


def wait_until(condition, what, deadline_s=DEADLINE_S):
    """Polls where nothing tells of the event."""
    end = time.monotonic() + deadline_s
    while not (value := condition()):
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.01)
    return value


def surroundings(more):
    """The environment of a daemon. libmongoc keeps statistics in a file of /dev/shm named by the
    process id, which a killed process leaves behind, and complains when it is there already."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("IDMINT_")}
    return {**kept, "MONGOC_DISABLE_SHM": "1", **more}


class Daemon:
    """A daemon with its data in `folder`. Options are idmintd's; settings SECTION.KEY = VALUE.
    `http`: where it serves HTTP ("127.0.0.1:0"); nowhere by default, since the daemon's own default
    is one port for all. `self.http`: the address it took."""

    def __init__(
        self,
        folder,
        *options,
        settings=None,
        listen="127.0.0.1:0",
        http="",
        store=None,
        wrap=(),
        binary=IDMINTD,
        env=None,
    ):
        self.folder = str(folder)
        self.env = env or {}
        store = store or f"sqlite:{self.folder}/idmint.db"
        self.command = [*wrap, binary, "--listen", listen, "--store", store, "--http", http]
        for key, value in (settings or {}).items():
            self.command += ["--set", f"{key}={value}"]
        self.command += options
        self.process = None
        self.log = None

    def start(self):
        environment = surroundings(self.env)
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
        )
        self.log = Log(self.process.stderr)
        self.log.wait(r"idmintd \S+ ready")
        found = (re.search(r"listening on (\S+)", line) for line in self.log.lines)
        self.addresses = [match.group(1) for match in found if match]
        found = (re.search(r"serving http://(\S+)/", line) for line in self.log.lines)
        self.http = next((match.group(1) for match in found if match), None)
        self._meet()
        return self

    def _meet(self):
        """Once it has answered, its main thread waits for events: before that, a signal can get
        lost in ThreadSanitizer. The connection has gone from its lists when it is closed."""
        with resp.connect(self.address, DEADLINE_S) as sock:
            sock.sendall(b"QUIT\r\n")
            while sock.recv(100):
                pass

    @property
    def address(self):
        return self.addresses[0]

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def rss_bytes(self):
        with open(f"/proc/{self.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for the end; the exit status."""
        status = self.process.wait(DEADLINE_S)
        self.log.thread.join(DEADLINE_S)
        assert not SANITIZER.search(self.log.text()), self.log.text()
        return status

    def stop(self, number=SIGTERM):
        """A clean stop: exit status 0, nothing that a sanitizer said."""
        self.signal(number)
        assert self.end() == 0, self.log.text()

    def kill(self):
        self.signal(SIGKILL)
        self.end()

    def restart(self):
        """Stops it and starts it again at the same address."""
        if self.running:
            self.stop()
        self.command += ["--listen", ",".join(self.addresses), "--http", self.http or ""]
        return self.start()


def run_idmintd(*options, env=None, timeout=DEADLINE_S, wrap=()):
    """For starts that end by themselves."""
    environment = surroundings(env or {})
    command = [*wrap, IDMINTD, *options]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=environment
    )
