"""idmint over HTTP with requests (PyPI)."""

import os

import requests

url = os.environ.get("IDMINT_URL", "http://127.0.0.1:7378")
mint = requests.Session()  # keeps its connection
# mint.auth = ("default", password)


def post(path, **body):
    answer = mint.post(url + path, json=body, timeout=5)
    if not answer.ok:
        problem = answer.json()
        # 503: nothing was taken, repeat after Retry-After. 504: perhaps taken, never issued again.
        raise RuntimeError(f"{problem['title']}: {problem.get('detail')}")
    return answer.json()


print(post("/v1/oids", count=3)["ids"])
print(post("/v1/counters/orders/next")["first"])
taken = post("/v1/counters/orders/next", count=10)
print(taken["first"], taken["last"])
