"""redis-cli and redis-benchmark on a daemon in its default settings."""

import subprocess

import pytest


def redis_cli(daemon, *args, text=None, options=()):
    host, port = daemon.address.rsplit(":", 1)
    result = subprocess.run(
        ["redis-cli", "-h", host, "-p", port, *options, *args],
        input=text,
        stdin=None if text is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0 and result.stderr == "", result
    return result.stdout


def test_one_command(daemon):
    assert redis_cli(daemon, "PING") == "PONG\n"
    assert redis_cli(daemon, "INCR", "orders") == "1\n"
    assert redis_cli(daemon, "NEXT", "orders", "3") == "2\n4\n"
    assert redis_cli(daemon, "GET", "orders") == "4\n"
    assert redis_cli(daemon, "GET", "none") == "\n"
    assert "COUNTER RAISE" in redis_cli(daemon, "SET", "orders", "1")
    assert len(redis_cli(daemon, "OID").strip()) == 24
    assert "role:master" in redis_cli(daemon, "INFO", "replication")


def test_repeated(daemon):
    out = redis_cli(daemon, "INCR", "orders", options=["-r", "100"])
    assert [int(line) for line in out.split()] == list(range(1, 101))


def test_resp3(daemon):
    out = redis_cli(daemon, "COUNTER", "LIST", options=["-3"])
    assert "empty array" in out or out.strip() == ""
    assert redis_cli(daemon, "CONFIG", "GET", "save", options=["-3"]).startswith("save")


def test_typed_session(daemon):
    """As one types it: the prompt asks for COMMAND DOCS first, for its hints."""
    out = redis_cli(daemon, text="INCR typed\nMULTI\nINCR typed\nGET typed\nEXEC\nHELP OID\n")
    assert out.split("\n")[:6] == ["1", "OK", "QUEUED", "QUEUED", "2", "2"]


def test_pipe_mode(daemon):
    commands = "".join(f"INCR piped{i % 7}\r\n" for i in range(20000))
    out = redis_cli(daemon, text=commands, options=["--pipe"])
    assert "errors: 0, replies: 20000" in out
    assert redis_cli(daemon, "GET", "piped0") == f"{len(range(0, 20000, 7))}\n"


def test_password(start_daemon, tmp_path):
    file = tmp_path / "passwords"
    file.touch(0o600)
    file.write_text("open-sesame\n")
    daemon = start_daemon(settings={"auth.password_file": file})
    options = ["--no-auth-warning", "-a", "open-sesame"]
    assert redis_cli(daemon, "INCR", "orders", options=options) == "1\n"
    assert "NOAUTH" in redis_cli(daemon, "INCR", "orders")


@pytest.mark.parametrize(
    "options",
    [
        ["-t", "ping"],
        ["-t", "incr"],
        ["-t", "incr", "-P", "16"],
        ["-t", "incr", "-r", "1000"],
        ["-t", "ping", "--threads", "2"],
        ["INCR", "orders"],
        ["NEXT", "orders", "3"],
        ["OID"],
        ["-3", "OID", "RANGE", "100"],
    ],
    ids=" ".join,
)
def test_benchmark(options, daemon):
    host, port = daemon.address.rsplit(":", 1)
    result = subprocess.run(
        ["redis-benchmark", "-h", host, "-p", port, "-n", "5000", "--csv", *options],
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = result.stdout + result.stderr
    assert result.returncode == 0
    assert "WARN" not in said.upper() and "ERR" not in said.upper(), said
    assert all(float(line.split('","')[1]) > 0 for line in result.stdout.strip().split("\n")[1:])
