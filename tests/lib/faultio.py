"""The daemon's disk and clock in the hands of a test: see faultio.c."""

import mmap
import os
import re
import struct
import subprocess

from daemon import IDMINTD, wait_until

BUILD = os.environ.get("IDMINT_BUILD", os.path.dirname(os.path.dirname(IDMINTD)))
MODULE = os.path.join(BUILD, "tests/faultio.so")


def _preload():
    """The module; before it a sanitizer's library, which wants to be first."""
    libraries = subprocess.run(["ldd", IDMINTD], capture_output=True, text=True, check=True).stdout
    runtime = re.findall(r"=> (\S+/lib[at]san\.so\S*)", libraries)
    assert os.path.exists(MODULE), f"{MODULE} is not built"
    return ":".join([*runtime, MODULE])


class FaultIO:
    def __init__(self, folder, match="idmint.db"):
        self.folder = folder
        self.folder.mkdir()
        self.log = folder / "events"
        self.log.touch()
        self.forget()
        (folder / "clock").write_bytes(bytes(8))
        with open(folder / "clock", "r+b") as file:
            self.clock = mmap.mmap(file.fileno(), 8)
        self.env = {
            "LD_PRELOAD": _preload(),
            "FAULTIO_MATCH": match,
            "FAULTIO_FOLDER": str(folder),
            "FAULTIO_LOG": str(self.log),
            "FAULTIO_CLOCK": str(folder / "clock"),
        }

    def begin(self, trigger):
        (self.folder / trigger).touch()

    def end(self, trigger):
        (self.folder / trigger).unlink()

    def set_clock(self, offset_s):
        struct.pack_into("q", self.clock, 0, offset_s * 1000)

    def events(self):
        return self.log.read_text().split()

    def saw(self, event):
        """As `event in events()`, for logs that grow long: what is new is read alone."""
        with open(self.log) as log:
            log.seek(self.read)
            fresh = log.read()
        self.read += len(fresh)
        self.seen.update(fresh.split())
        return event in self.seen

    def forget(self):
        """The log starts anew."""
        os.truncate(self.log, 0)
        self.read = 0
        self.seen = set()

    def wait_event(self, event):
        wait_until(lambda: self.saw(event), f"{event} in the daemon's system calls")
