"""What a daemon tells at /metrics, read by Prometheus' official Python parser; and the table."""

import http.client
import re

from prometheus_client.parser import text_string_to_metric_families

from daemon import DEADLINE_S, ROOT

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metric_rows():
    """(name, type, help) of each row of metrics_rows.h."""
    with open(f"{ROOT}/daemon/metrics_rows.h", encoding="utf-8") as file:
        text = re.sub(r"\\\n\s*", " ", file.read())
    found = re.findall(r'METRIC_ROW\(\w+, "(\w+)", (\w+), \w+,\s+"([^"]*)"\)', text)
    assert len(found) == text.count("METRIC_ROW(") - 2 > 30  # less the comment, and the use of it
    return found


def get(daemon, path):
    """Status, headers and body as text, on a connection of its own."""
    connection = http.client.HTTPConnection(daemon.http, timeout=DEADLINE_S)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


class Scrape:
    def __init__(self, daemon):
        status, headers, self.text = get(daemon, "/metrics")
        assert status == 200, self.text
        assert headers["Content-Type"] == CONTENT_TYPE
        self.families = list(text_string_to_metric_families(self.text))
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families
            for sample in family.samples
        }

    def __call__(self, name, **labels):
        """A sample's value; 0 where there is none: what was never counted may be left out."""
        return self.samples.get((f"idmint_{name}", frozenset(labels.items())), 0)

    def since(self, before, name, label):
        """By the label's value: how much each sample of the family has grown, where it has."""
        grown = {}
        for (sample, labels), value in self.samples.items():
            if sample == f"idmint_{name}":
                more = value - before.samples.get((sample, labels), 0)
                if more != 0:
                    grown[dict(labels)[label]] = more
        return grown
