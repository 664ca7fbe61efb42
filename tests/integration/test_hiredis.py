"""hiredis, as Debian has it; the program is built from hiredis_check.c."""

import os
import pathlib
import subprocess

from daemon import IDMINTD

BUILD = os.environ.get("IDMINT_BUILD", pathlib.Path(IDMINTD).parents[1])


def test_default_settings(daemon):
    program = pathlib.Path(BUILD, "tests", "hiredis_check")
    result = subprocess.run(
        [program, *daemon.address.rsplit(":", 1)], capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
