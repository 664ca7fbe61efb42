"""Reads the transcripts of proto/vectors; their format stands in proto/vectors/README.md."""

import pathlib
import re
import sys

import resp

FOLDER = pathlib.Path(__file__).parents[2] / "proto" / "vectors"
SEED_MAX = 4096
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "s": b" ", "e": b"", "\\": b"\\"}


class Transcript:
    def __init__(self, title, where):
        self.title = title
        self.where = where
        self.steps = []  # (where, "send", bytes), (where, "token", text), (where, "end", None)

    def sent(self):
        return b"".join(what for _, kind, what in self.steps if kind == "send")


class VectorFile:
    def __init__(self, path):
        self.name = path.stem
        self.settings = {}
        self.passwords = []
        self.transcripts = []
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            self._read(line, f"{path.name}:{number}")
        assert self.transcripts, path

    def _read(self, line, where):
        if line.strip() == "" or line.startswith("#"):
            return
        word, _, rest = line.partition(" ")
        if word == "==":
            self.transcripts.append(Transcript(rest, where))
        elif word == "@set" and not self.transcripts:
            key, _, value = rest.partition("=")
            self.settings[key] = value
        elif word == "@password" and not self.transcripts:
            self.passwords.append(rest)
        else:
            step = {
                "C:": lambda: ("send", resp.encode(*(unescape(part) for part in rest.split(" ")))),
                "L:": lambda: ("send", unescape(rest) + b"\r\n"),
                "R:": lambda: ("send", unescape(rest)),
                "S:": lambda: ("token", rest),
                "E:": lambda: ("end", None),
            }[word]
            self.transcripts[-1].steps.append((where, *step()))


def unescape(text):
    text = re.sub(r"<(\d+)\*([^>]*)>", lambda m: int(m.group(1)) * m.group(2), text)
    parts = re.split(r"\\(x[0-9a-fA-F]{2}|.)", text)
    out = [parts[0].encode()]
    for escape, plain in zip(parts[1::2], parts[2::2]):
        is_byte = len(escape) == 3
        out += [bytes([int(escape[1:], 16)]) if is_byte else ESCAPES[escape], plain.encode()]
    return b"".join(out)


def matches(expected, token):
    """Does what the daemon sent fit one S: line?"""
    if isinstance(token, resp.Null):
        return expected == {b"$-1": "null", b"_": "_"}[token.wire]
    if isinstance(token, resp.Head):
        return expected == repr(token)
    kind = "+-:$"[[resp.Simple, resp.Error, int, bytes].index(type(token))]
    text = str(token).encode() if kind == ":" else bytes(token)
    if not expected.startswith(kind):
        return False
    if len(expected) > 2 and expected[1] == "/" and expected.endswith("/"):
        return re.fullmatch(expected[2:-1].encode(), text, re.DOTALL) is not None
    return unescape(expected[1:]) == text


def load_all():
    return [VectorFile(path) for path in sorted(FOLDER.glob("*.txt"))]


def write_seeds(folder):
    """Long ones would make the fuzzer try long inputs, which is slow and finds less."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in load_all():
        for number, transcript in enumerate(file.transcripts):
            if len(transcript.sent()) <= SEED_MAX:
                (folder / f"{file.name}-{number}").write_bytes(transcript.sent())


if __name__ == "__main__":
    write_seeds(pathlib.Path(sys.argv[1]))
