"""Plays the transcripts of proto/vectors: as written, all of a transcript in one write, and byte by
byte. The replies must be the same."""

import re

import pytest

import vectors
from daemon import ROOT
from resp import Client

# Byte by byte is slow; longer transcripts send the same over and over.
BYTEWISE_MAX = 3000


def send_paced(client, transcript):
    for step in transcript.steps:
        if step[1] == "send":
            client.send(step[2])
        else:
            yield step


def expectations(transcript):
    return (step for step in transcript.steps if step[1] != "send")


def send_at_once(client, transcript):
    client.send(transcript.sent())
    yield from expectations(transcript)


def send_bytewise(client, transcript):
    for byte in transcript.sent():
        client.send(bytes([byte]))
    yield from expectations(transcript)


def play(client, steps):
    for where, kind, expected in steps:
        if kind == "end":
            client.expect_end()
            return
        if expected == "?":
            client.reply()
            continue
        token = client.token()
        assert vectors.matches(expected, token), f"{where}: expected {expected}, got {token!r}"
    client.half_close()
    client.expect_end()


@pytest.mark.parametrize("file", vectors.load_all(), ids=lambda file: file.name)
@pytest.mark.parametrize("send", [send_paced, send_at_once, send_bytewise])
def test_vectors(file, send, start_daemon, tmp_path):
    settings = dict(file.settings)
    if file.passwords:
        path = tmp_path / "passwords"
        path.touch(0o600)
        path.write_text("\n".join(file.passwords) + "\n")
        settings["auth.password_file"] = path
    daemon = start_daemon(settings=settings)
    for transcript in file.transcripts:
        if send is send_bytewise and len(transcript.sent()) > BYTEWISE_MAX:
            continue
        try:
            with Client(daemon.address) as client:
                play(client, send(client, transcript))
        except Exception as fault:
            raise AssertionError(f"{transcript.where} ({transcript.title}): {fault!r}") from fault
    assert daemon.running


def command_rows():
    """The words of each command of the table, and whether it takes any arguments there can be."""
    with open(f"{ROOT}/proto/commands.h", encoding="utf-8") as header:
        row = re.compile(r'COMMAND_ROW\(\w+, "(\w+)", "(\w*)", (\d+), (-?\d+),')
        for name, sub, fewest, most in row.findall(header.read()):
            yield tuple(word for word in (name, sub) if word), (fewest, most) == ("0", "-1")


def told_by_vectors():
    """The words of each command of the transcripts, and whether its reply was an error."""
    for file in vectors.load_all():
        for transcript in file.transcripts:
            for (_, kind, sent), (_, _, token) in zip(transcript.steps, transcript.steps[1:]):
                if kind == "send" and token is not None and isinstance(token, str):
                    words = re.findall(rb"\$\d+\r\n([^\r]*)\r\n", sent)
                    words = tuple(word.decode("latin-1").upper() for word in words[:2])
                    yield words, token.startswith("-")
                    yield words[:1], token.startswith("-")


def test_every_command_is_there():
    told = set(told_by_vectors())
    # COUNTER SYNC needs MongoDB: tests/mongo/test_sync.py.
    refused = {("DECR",), ("DECRBY",), ("DEL",), ("INCRBYFLOAT",), ("COUNTER", "SYNC")}
    for words, unbounded in command_rows():
        assert (words, False) in told or words in refused, f"no success of {words}"
        assert (words, True) in told or unbounded, f"no error of {words}"
