"""The programs in client/examples/http, and README's lines, which are theirs."""

import os
import re
import subprocess
import sys
import textwrap

from daemon import ROOT
from http_json import Api
import pytest

pytestmark = pytest.mark.once

FOLDER = os.path.join(ROOT, "client/examples/http")
COMMANDS = {
    "curl.sh": ["sh"],
    "fetch.mjs": ["node"],
    "requests_example.py": [sys.executable],
    "main.go": ["go", "run"],
}


def run(command, address):
    environment = {
        **os.environ,
        "IDMINT_URL": f"http://{address}",
        "GOCACHE": os.path.join(ROOT, "build-go-cache"),
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
    }
    return subprocess.run(
        command,
        env=environment, capture_output=True, text=True, timeout=150,
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_runs(name, start_http):
    _, address = start_http()
    done = run([*COMMANDS[name], os.path.join(FOLDER, name)], address)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(set(re.findall(r"\b[0-9a-f]{24}\b", done.stdout))) >= 3
    with Api(address) as api:  # one, then ten
        assert api.ok("GET", "/v1/counters/orders")["value"] == 11
    assert re.search(r"\b2\b.*\b11\b", done.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_tells_what_is_wrong(name, start_http):
    _, address = start_http()
    with Api(address) as api:
        api.ok("PUT", "/v1/counters/orders", {"max": 5}, status=201)
    done = run([*COMMANDS[name], os.path.join(FOLDER, name)], address)
    assert done.returncode != 0
    assert "The end is reached" in done.stdout + done.stderr


SIGNS = {"sh": "$ curl", "js": "fetch(", "py": "import requests", "go": "http.Post"}
RUNNERS = {"sh": ["sh", "-e"], "js": ["node"], "py": [sys.executable], "go": ["go", "run"]}
SUFFIXES = {"js": "mjs"}


def readme_blocks():
    """The indented blocks of README's section, by what they are written in."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        section = readme.read().split("\n## Over HTTP\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, re.MULTILINE)
    for block in map(textwrap.dedent, blocks):
        for kind, sign in SIGNS.items():
            if sign in block:
                yield kind, block.strip()


GO = """package main
import ("encoding/json"; "fmt"; "log"; "net/http")
func main() {
%s
fmt.Println(answer.IDs)
}
"""


@pytest.mark.parametrize("kind", SIGNS)
def test_readme(kind, start_http, tmp_path):
    _, address = start_http()
    blocks = [block for found, block in readme_blocks() if found == kind]
    assert len(blocks) == 1
    text = blocks[0].replace("127.0.0.1:7378", address)
    if kind == "sh":
        lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        text = "\n".join(line + " --fail-with-body; echo" for line in lines)
    text = GO % text if kind == "go" else text
    file = tmp_path / f"readme.{SUFFIXES.get(kind, kind)}"
    file.write_text(text)
    done = run([*RUNNERS[kind], str(file)], address)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()
