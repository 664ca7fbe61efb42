// idmint over HTTP with fetch: Node 18 or later, Deno, Bun, or a page of the daemon's own origin.
import { setTimeout as sleep } from "node:timers/promises";

const url = process.env.IDMINT_URL ?? "http://127.0.0.1:7378";

async function mint(path, body) {
  const options = { method: "POST", body: JSON.stringify(body ?? {}) };
  options.headers = { "Content-Type": "application/json" };
  for (let tries = 1; ; tries++) {
    const response = await fetch(url + path, options);
    const answer = await response.json();
    if (response.ok) return answer;
    // 503: nothing was taken. All other problems will not go away by a repeat.
    if (response.status !== 503 || tries === 5) throw new Error(`${answer.title}: ${answer.detail}`);
    await sleep(1000 * Number(response.headers.get("Retry-After") ?? 1));
  }
}

const oids = await mint("/v1/oids", { count: 3 });
console.log(oids.ids);

// Numbers past 2^53 lose digits in JavaScript: the same value stands beside them as a string.
const one = await mint("/v1/counters/orders/next");
console.log(BigInt(one.first_str));

const range = await mint("/v1/counters/orders/next", { count: 10 });
console.log(range.first, range.last);
