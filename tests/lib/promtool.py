"""Prometheus' own checks, by its program promtool: unpacked by ./dev, of Debian's package."""

import os
import subprocess

from daemon import DEADLINE_S, ROOT

PROMTOOL = os.path.join(ROOT, "build-prometheus/usr/bin/promtool")


def promtool(*args, stdin=None):
    """Fails with what it says; returns that."""
    done = subprocess.run(
        [PROMTOOL, *args], input=stdin, capture_output=True, text=True, timeout=DEADLINE_S
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said
