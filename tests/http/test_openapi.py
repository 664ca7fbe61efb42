"""proto/openapi.yaml: valid, true to its own schemas, complete, served as it is, and kept by the
running daemon whatever schemathesis makes up from it."""

import os
import subprocess

from daemon import ROOT, Daemon
from http_json import Api
from hypothesis import HealthCheck, assume, settings
import jsonschema
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
import pytest
import schemathesis
import yaml

PATH = os.path.join(ROOT, "proto/openapi.yaml")
BUILD = os.path.abspath(os.environ.get("IDMINT_BUILD", os.path.join(ROOT, "build-gcc")))
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
PROBLEM = "application/problem+json"

with open(PATH, encoding="utf-8") as file:
    TEXT = file.read()
DOCUMENT = yaml.safe_load(TEXT)
SCHEMA = schemathesis.openapi.from_path(PATH)


def resolved(node):
    while "$ref" in node:
        target = DOCUMENT
        for key in node["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        node = target
    return node


def operations():
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield f"{method.upper()} {path}", item[method], item.get("parameters", [])


def holders():
    """What holds examples beside a schema: (where, content or parameter)."""
    for name, operation, shared in operations():
        for parameter in [*shared, *operation.get("parameters", [])]:
            yield f"{name} {resolved(parameter)['name']}", resolved(parameter)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            yield f"{name} body", content
        for status, response in operation["responses"].items():
            for kind, content in resolved(response).get("content", {}).items():
                yield f"{name} {status} {kind}", content


HOLDERS = dict(holders())


def test_is_valid():
    validate(DOCUMENT)


@pytest.mark.parametrize("where", HOLDERS)
def test_examples_are_as_their_schema_says(where):
    holder = HOLDERS[where]
    examples = [example["value"] for example in holder.get("examples", {}).values()]
    examples += [holder["example"]] if "example" in holder else []
    assert examples, "there is none"
    # References begin at the document's root.
    schema = {"components": DOCUMENT["components"], **holder["schema"]}
    validator = OAS31Validator(schema, format_checker=jsonschema.FormatChecker())
    is_problem = holder["schema"].get("$ref") == "#/components/schemas/Problem"
    for example in examples:
        if is_problem:
            assert where.split()[2] == str(example["status"])
        validator.validate(example)


def table(kind):
    """Rows of the daemon's own tables."""
    lines = subprocess.run(
        [os.path.join(BUILD, "tests/http_table")], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [line.split(" ", 2)[1:] for line in lines if line.startswith(kind + " ")]


def test_paths_and_methods_are_those_of_the_daemon():
    served = {path: set(allow.split(", ")) for path, allow in table("path")}
    described = {}
    for name, _, _ in operations():
        method, path = name.split(" ")
        described.setdefault(path, set()).add(method)
        if method == "GET":
            described[path].add("HEAD")
    assert described == served


def test_types_and_statuses_are_those_of_the_daemon():
    problem = DOCUMENT["components"]["schemas"]["Problem"]
    types = dict(table("problem"))
    described = {kind: str(status) for kind, status in problem["x-status"].items() if ":" in kind}
    assert described == types
    assert set(problem["properties"]["type"]["enum"]) == {*types, "about:blank"}


def test_every_operation_tells_its_errors():
    for name, operation, _ in operations():
        for status, response in operation["responses"].items():
            if status >= "400" and name not in ("GET /readyz", "GET /leaderz") or status == "401":
                assert PROBLEM in resolved(response)["content"], (name, status)
        assert operation["operationId"] and operation["summary"], name
        assert name == "GET /healthz" or "401" in operation["responses"], name


# --- The running daemon

AUTHORIZATION = "Bearer secret"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    passwords = folder / "passwords"
    passwords.write_text("secret\n")
    passwords.chmod(0o600)
    daemon = Daemon(
        folder, http="127.0.0.1:0", settings={"auth.password_file": str(passwords)}
    ).start()
    yield daemon.http
    daemon.stop()


def test_is_served_as_it_is(address):
    with Api(address) as api:
        answer = api.get("/openapi.yaml", Authorization=AUTHORIZATION)
        assert answer.body.decode() == TEXT


# Events do not end. A name's 255 bytes may be less than 255 characters, and options of a counter
# hang together: what the schema allows may be refused with 400 all the same.
ASKED = SCHEMA.exclude(path="/v1/events")
LEFT_OUT = [schemathesis.checks.positive_data_acceptance]


@ASKED.parametrize()
@settings(
    max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
def test_daemon_keeps_to_it(case, address):
    # Others than HTTP's usual ones: 501.
    assume(case.method.lower() in METHODS and case.method != "TRACE")
    case.call_and_validate(
        base_url=f"http://{address}",
        headers={"Authorization": AUTHORIZATION},
        excluded_checks=LEFT_OUT,
    )
