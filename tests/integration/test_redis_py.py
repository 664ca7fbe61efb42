"""The redis Python library, newest (of this environment) and Debian's, on a daemon in its default
settings."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).with_name("redis_py_checks.py")
CHECKS = re.findall(r"^def check_(\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
NEED_MORE = {"password", "password_resp3", "restart"}
SINCE_5 = {"resp3", "resp2", "password_resp3"}  # Debian 12's knows no `protocol`
PYTHONS = {"newest": sys.executable, "debian": "/usr/bin/python3"}


def redis_version(python):
    code = "import redis; print(redis.__version__)"
    # -P and -s: what else is in this environment must not be taken for Debian's.
    result = subprocess.run([python, "-P", "-s", "-c", code], capture_output=True, text=True)
    return result.stdout.strip()


def command(python, check, daemon, *more):
    return [python, "-s", str(SCRIPT), check, daemon.address, *more]


def run(*args):
    result = subprocess.run(command(*args), capture_output=True, text=True, timeout=120)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stdout + result.stderr


@pytest.fixture(params=PYTHONS)
def python(request):
    python = PYTHONS[request.param]
    version = redis_version(python)
    assert version, f"{python} has no redis"
    if request.param == "newest":
        assert version == importlib.metadata.version("redis")
    return python


def new_enough(python):
    return int(redis_version(python).split(".")[0]) >= 5


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NEED_MORE])
def test_default_settings(check, python, daemon):
    if check not in SINCE_5 or new_enough(python):
        run(python, check, daemon)


@pytest.mark.parametrize("check", ["password", "password_resp3"])
def test_password(check, python, start_daemon, tmp_path):
    file = tmp_path / "passwords"
    file.touch(0o600)
    file.write_text("open-sesame\nwriter:their-word\n")
    if check not in SINCE_5 or new_enough(python):
        run(python, check, start_daemon(settings={"auth.password_file": file}), "open-sesame")


def test_reconnects_after_a_restart(python, daemon):
    process = subprocess.Popen(
        command(python, "restart", daemon),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "restart\n"
        daemon.restart()
        out, err = process.communicate("go on\n", timeout=120)
        assert (process.returncode, out) == (0, "done\n"), out + err
