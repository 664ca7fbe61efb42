"""proto/openapi.yaml: valid, true to its own schemas, complete, served as it is, and kept by the
running daemon whatever schemathesis makes up from it."""

import os
import re
import subprocess

from daemon import ROOT, Daemon
from http_json import Api
from hypothesis import HealthCheck, assume, settings
import jsonschema
from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import validate
from prometheus_client.parser import text_string_to_metric_families
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
        assert "400" in operation["responses"], name


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


def test_unknown_parameters_are_refused_as_it_says(address):
    with Api(address) as api:
        for name, operation, _ in operations():
            method, path = name.split(" ")
            path = path.format(name="c", id="507f1f77bcf86cd799439011")
            answer, _ = api.problem(method, f"{path}?unknown=1", Authorization=AUTHORIZATION)
            assert answer.status == 400 and "400" in operation["responses"], name


def test_example_of_metrics_is_of_those_that_are_told(address):
    content = HOLDERS["GET /metrics 200 text/plain"]
    with Api(address) as api:
        told = api.get("/metrics", Authorization=AUTHORIZATION).body.decode()
    told = {family.name: family for family in text_string_to_metric_families(told)}
    for family in text_string_to_metric_families(content["example"]):
        of_daemon = told[family.name]
        assert (family.type, family.documentation) == (of_daemon.type, of_daemon.documentation)
        assert [list(sample.labels) for sample in family.samples] == [
            list(sample.labels) for sample in of_daemon.samples
        ]


# --- What a schema allows, and what the daemon takes

# Why what its schema allows is refused all the same: a name's 255 bytes may be less than 255
# characters, options of a counter hang together, and not every store has collections.
BEYOND_SCHEMAS = (
    "has at most 255 bytes",
    "MAX must not be less than START",
    "START less STEP must be at least",
    "VALUE must be START - STEP to MAX",
    "the value would be above MAX",
    "from 1970 to 2106",
    'to 16777216 with "range": true',
    "no collections",
)


def schemas_of_body(operation):
    content = operation.get("requestBody", {}).get("content", {})
    for schema in [kind["schema"] for kind in content.values()]:
        yield from schema.get("oneOf", [schema])


def integers(schema):
    """Of a body's members: those that are an integer, or a string of its digits, and the integer's
    schema."""
    for name, member in schema["properties"].items():
        kinds = {kind["type"]: kind for kind in resolved(member).get("anyOf", [])}
        if {"integer", "string"} <= set(kinds):
            yield name, kinds["integer"]


def is_beyond(operation, body, problem):
    """Is it for what a schema can not say that the daemon refused?"""
    if any(reason in problem["detail"] for reason in BEYOND_SCHEMAS):
        return True
    # To a schema 5.0 is an integer; a pattern tells how many digits there are, not how great they
    # are.
    return any(
        isinstance(value := body.get(name), float)
        or isinstance(value, str)
        and re.fullmatch("-?[0-9]+", value)
        and not kind["minimum"] <= int(value) <= kind["maximum"]
        for schema in schemas_of_body(operation)
        for name, kind in integers(schema)
    )


def bounds():
    """Bodies with an integer at a bound or just past it, as a number and as a string."""
    for name, operation, _ in operations():
        for schema in schemas_of_body(operation):
            for member, kind in integers(schema):
                for bound, past in ((kind["minimum"], -1), (kind["maximum"], 1)):
                    for number in (bound, bound + past):
                        for value in (number, str(number)):
                            yield name, member, value


BOUNDS = list(bounds())
WITH = {  # what else such a body needs
    ("POST /v1/oids", "count"): {"range": True},
    ("POST /v1/next", "count"): {"name": "bounds"},
    ("PATCH /v1/counters/{name}", "reset"): {"force": True},
}


def test_bounds_are_of_all_integers():
    assert len({(name, member) for name, member, _ in BOUNDS}) == 11
    assert ("PUT /v1/counters/{name}", "max", "9223372036854775807") in BOUNDS
    assert ("POST /v1/uuids", "count", "100000") in BOUNDS


def test_daemon_takes_integers_within_their_bounds_alone(address):
    all_operations = {name: operation for name, operation, _ in operations()}
    with Api(address) as api:
        for i, (name, member, value) in enumerate(BOUNDS):
            body = {member: value, **WITH.get((name, member), {})}
            schema = all_operations[name]["requestBody"]["content"]["application/json"]["schema"]
            schema = {"components": DOCUMENT["components"], **schema}
            is_allowed = OAS31Validator(schema).is_valid(body)
            method, path = name.split(" ")
            answer = api.send(
                method, path.format(name=f"bounds{i}"), body, Authorization=AUTHORIZATION
            )
            assert answer.status < 500, (name, body, answer)
            if answer.status != 400:
                assert is_allowed, (name, body)
            elif is_allowed:
                assert is_beyond(all_operations[name], body, answer.json), (name, body, answer)


# Events do not end.
ASKED = SCHEMA.exclude(path="/v1/events")


@ASKED.parametrize()
@settings(
    max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
def test_daemon_keeps_to_it(case, address):
    # Others than HTTP's usual ones: 501.
    assume(case.method.lower() in METHODS and case.method != "TRACE")
    answer = case.call(base_url=f"http://{address}", headers={"Authorization": AUTHORIZATION})
    left_out = []
    if answer.status_code == 400 and case.method != "HEAD":
        operation = DOCUMENT["paths"][case.path].get(case.method.lower(), {})
        body = case.body if isinstance(case.body, dict) else {}
        if is_beyond(operation, body, answer.json()):
            left_out = [schemathesis.checks.positive_data_acceptance]
    case.validate_response(answer, excluded_checks=left_out)
