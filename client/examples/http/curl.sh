#!/bin/sh
# idmint over HTTP with curl. IDMINT_URL: where the daemon is; with a password: curl --oauth2-bearer.
set -eu
url=${IDMINT_URL:-http://127.0.0.1:7378}
mint() { curl --silent --show-error --fail-with-body "$@" && echo; }

mint -X POST "$url/v1/oids"
mint --json '{"count": 3}' "$url/v1/oids"
mint "$url/v1/oids/507f1f77bcf86cd799439011"
mint -X POST "$url/v1/counters/orders/next"
mint --json '{"count": 10}' "$url/v1/counters/orders/next"
mint "$url/v1/counters/orders"
mint --json '{"version": 7}' "$url/v1/uuids"
