"""metrics.md, the alert rules and the dashboard name the metrics that there are, and their
expressions are sound."""

import json
import re

import pytest
import yaml

from daemon import ROOT
from metrics import metric_rows
from promtool import promtool

RULES = f"{ROOT}/conf/idmintd.rules.yml"
DASHBOARD = f"{ROOT}/conf/grafana-dashboard.json"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def series():
    """Every name that a sample may have."""
    names = set()
    for name, kind, _ in metric_rows():
        parts = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
        names.update(name + part for part in parts)
    return names


def panels():
    return [panel for panel in json.loads(read(DASHBOARD))["panels"] if panel["type"] != "row"]


def dashboard_expressions():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_document_tells_the_table():
    text = read(f"{ROOT}/proto/metrics.md")
    assert "metrics_rows.h" in text
    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|[^|]*\| (.*) \|$", text, re.MULTILINE)
    assert documented == metric_rows()


def test_names_say_what_they_are():
    for name, kind, text in metric_rows():
        assert name.startswith("idmint_")
        assert name.endswith("_total") == (kind == "counter"), name
        assert text[-1] != ".", name


def test_rules_are_sound():
    said = promtool("check", "rules", RULES)
    assert re.search(r"SUCCESS: \d+ rules found", said), said


def test_rules_name_what_there_is():
    rules = yaml.safe_load(read(RULES))["groups"][0]["rules"]
    assert len(rules) > 10
    for rule in rules:
        names = set(re.findall(r"\b(?:idmint_\w+|up)\b", re.sub(r'"[^"]*"', "", rule["expr"])))
        assert names and names <= series() | {"up"}, rule["expr"]


def test_alerts_fire_and_do_not(tmp_path):
    """Each of them, by alerts.yml."""
    text = read(f"{ROOT}/tests/conformance/alerts.yml")
    alerts = [rule["alert"] for rule in yaml.safe_load(read(RULES))["groups"][0]["rules"]]
    silent = re.findall(r"alertname: (\w+)", text)
    firing = re.findall(r'alertname="(\w+)"', text)
    assert sorted(alerts) == sorted(silent) == sorted(firing)
    file = tmp_path / "alerts.yml"
    file.write_text(text.replace("RULES", json.dumps(RULES)))
    promtool("test", "rules", str(file))


def test_dashboard_names_what_there_is():
    expressions = dashboard_expressions()
    assert len(expressions) > 30
    for expression in expressions:
        names = set(re.findall(r"\bidmint_\w+", expression))
        assert names and names <= series(), expression
    told = {name.removesuffix("_total") for name, _, _ in metric_rows()}
    text = read(DASHBOARD)
    assert not [name for name in told if name not in text], "not shown"


def test_dashboard_expressions_are_sound(tmp_path):
    """As rules, which promtool can check; what Grafana fills in is filled in."""
    rules = [
        {"record": f"dashboard:{i}", "expr": expression.replace("$__rate_interval", "5m")}
        for i, expression in enumerate(dashboard_expressions())
    ]
    file = tmp_path / "dashboard.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    said = promtool("check", "rules", str(file))
    assert f"SUCCESS: {len(rules)} rules found" in said


def test_promtool_would_notice(tmp_path):
    file = tmp_path / "wrong.yml"
    rule = {"record": "a:b", "expr": "rate(idmint_errors_total)"}
    file.write_text(json.dumps({"groups": [{"name": "wrong", "rules": [rule]}]}))
    with pytest.raises(AssertionError, match="range vector"):
        promtool("check", "rules", str(file))


def test_dashboard_panels_do_not_overlap():
    places = [panel["gridPos"] for panel in json.loads(read(DASHBOARD))["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    ids = [panel["id"] for panel in panels()]
    assert len(ids) == len(set(ids))
