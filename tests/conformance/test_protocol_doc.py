"""proto/protocol.md says what commands.h, errors.h and limit.h say, and so does the daemon."""

import re

import pytest

from daemon import ROOT

CELL = r"((?:[^|\\]|\\.)*)"


def read(name):
    with open(f"{ROOT}/proto/{name}", encoding="utf-8") as file:
        return file.read()


def strings(text):
    """The string literals of C text, adjacent ones joined; lines may go on with a backslash."""
    text = re.sub(r"\\\n\s*", " ", text)
    text = re.sub(r'"\s+"', "", text)
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


def command_rows():
    rows = []
    for row in read("commands.h").split("COMMAND_ROW(")[2:]:
        texts = strings(row.split("#undef")[0].split("enum command_id")[0])
        if len(texts) == 5:
            name, sub, syntax, summary, reply = texts
            rows.append((" ".join(filter(None, (name, sub, syntax))), summary, reply))
    return rows


def table(heading):
    """The cells of each row of the table under its heading row."""
    text = read("protocol.md")
    lines = text[text.index(heading) :].split("\n")[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip().replace("\\|", "|") for cell in re.findall(CELL + r"\|", line[1:])]


def test_command_table():
    documented = [tuple(row) for row in table("| command | what it does | reply |")]
    expected = [(f"`{syntax}`", summary, reply) for syntax, summary, reply in command_rows()]
    assert len(expected) > 40
    assert documented == expected


def test_error_words():
    documented = [tuple(row) for row in table("| word | meaning |")]
    rows = read("errors.h").split("ERROR_ROW(")[2:]
    found = [tuple(strings(row.split("enum error_word")[0])) for row in rows]
    expected = [(f"`{row[0]}`", row[1]) for row in found if len(row) == 2 and row[0] != "OK"]
    assert len(expected) > 8
    assert documented == expected


def test_limits():
    documented = [tuple(row) for row in table("| limit | value | what it bounds |")]
    found = re.findall(r"#define (LIMIT_\w+) (\d+) +/\* (.*) \*/", read("limit.h"))
    assert len(found) > 10
    assert documented == [(f"`{name}`", value, what) for name, value, what in found]


def test_help_and_docs_tell_the_same(client):
    rows = command_rows()
    help_lines = [line.decode() for line in client.call("HELP")]
    assert help_lines == [f"{syntax}: {summary}. Reply: {reply}" for syntax, summary, reply in rows]
    client.call("HELLO", 3)
    docs = client.call("COMMAND", "DOCS")
    assert len(docs) == len(rows) == client.call("COMMAND", "COUNT")
    told = []
    for name, fields in docs.items():
        words = name.decode().upper().split("|")
        syntax = " ".join(filter(None, (*words, fields[b"syntax"].decode())))
        told.append((syntax, fields[b"summary"].decode(), fields[b"reply"].decode()))
    assert told == rows


@pytest.mark.parametrize("header", ["commands.h", "errors.h", "limit.h"])
def test_document_names_what_it_is_checked_against(header):
    assert header in read("protocol.md")
