"""A client of the JSON API for tests, on one connection that is kept."""

import http.client
import json


class Answer:
    def __init__(self, response, body):
        self.status, self.headers, self.body = response.status, response.headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def type(self):
        return self.headers.get_content_type()

    def __repr__(self):
        return f"<{self.status} {self.body!r}>"


class Api:
    def __init__(self, address, timeout=60):
        self.http = http.client.HTTPConnection(address, timeout=timeout)
        self.http.connect()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.http.close()

    def send(self, method, path, body=None, **headers):
        """`body`: bytes as they are, or what becomes JSON. Headers as accept_language="de"."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        self.http.request(method, path, body, headers)
        response = self.http.getresponse()
        return Answer(response, response.read())

    def get(self, path, **headers):
        return self.send("GET", path, **headers)

    def post(self, path, body=None, **headers):
        return self.send("POST", path, body, **headers)

    def ok(self, method, path, body=None, status=200):
        """The JSON of an answer that is no error."""
        answer = self.send(method, path, body)
        assert answer.status == status, answer
        return answer.json

    def problem(self, method, path, body=None, **headers):
        """Status and JSON of an answer that is one."""
        answer = self.send(method, path, body, **headers)
        assert answer.type == "application/problem+json", answer
        problem = answer.json
        assert problem["status"] == answer.status >= 400
        return answer, problem
