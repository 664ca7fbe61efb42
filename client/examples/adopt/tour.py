"""Runs the programs before and after at the same time on the same counters, and checks that each
number was issued once.

usage: tour.py DIR [LANGUAGE ...]     DIR: where install.sh built; all languages if none is named
MONGO_URI and MINT_URL (redis://HOST:PORT) say where MongoDB and idmintd are.
"""

import os
import subprocess
import sys

import pymongo
import redis
import shop

HERE = os.path.dirname(os.path.abspath(__file__))
COUNTER = {"python": "orders", "node": "web_orders", "java": "phone_orders"}
ORDERS = 50  # a program


def command(built, language, when):
    """when: before or after."""
    if language == "python":
        return [sys.executable, os.path.join(HERE, "python", f"{when}.py")]
    if language == "node":
        return ["node", os.path.join(built, "node", f"{when}.js")]
    target = os.path.join(built, "java/target")
    path = f"{target}/classes:{target}/dependency/*"
    # A short life: no time for optimizing.
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", path, f"shop.{when.capitalize()}"]


class Program:
    """One that stores an order for each line and answers with its number."""

    def __init__(self, arguments):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True)

    def order(self, what, times=1):
        self.process.stdin.write(f"{what}\n" * times)
        self.process.stdin.flush()

    def numbers(self, count):
        lines = [self.process.stdout.readline() for _ in range(count)]
        if not all(lines):
            raise RuntimeError(f"{self.process.args} ended early")
        return [int(line) for line in lines]

    def close(self):
        """Its exit status."""
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


def together(built, languages, orders=ORDERS):
    """The numbers of each program, by (language, when). All are up before any goes to work."""
    pairs = [(language, when) for language in languages for when in ("before", "after")]
    programs = {pair: Program(command(built, *pair)) for pair in pairs}
    try:
        for program in programs.values():
            program.order("book")
        numbers = {pair: program.numbers(1) for pair, program in programs.items()}
        for program in programs.values():
            program.order("book", orders - 1)
        for pair, program in programs.items():
            numbers[pair] += program.numbers(orders - 1)
        for pair, program in programs.items():
            if program.close() != 0:
                raise RuntimeError(f"{pair}: exit status {program.process.returncode}")
        return numbers
    finally:
        for program in programs.values():
            program.kill()


def check(database, language, numbers, first):
    """Each number once, and none left out: nothing was killed. What is wrong, or None."""
    name = COUNTER[language]
    counter = shop.COUNTERS[name]
    issued = numbers[language, "before"] + numbers[language, "after"]
    if sorted(issued) != list(range(first, first + len(issued))):
        return f"issued: {sorted(issued)}, expected from {first} on"
    document = database[counter.collection].find_one(counter.key)
    if document[counter.field] != max(issued):
        return f"the document is {document}"
    stored = database[name].count_documents({"number": {"$gte": first}})
    return None if stored == len(issued) else f"{stored} orders are stored"


def next_value(database, language):
    counter = shop.COUNTERS[COUNTER[language]]
    return database[counter.collection].find_one(counter.key)[counter.field] + 1


def demand_both():
    """MongoDB and idmintd are there; else the end, in words."""
    mint_url = os.environ.get("MINT_URL", "redis://127.0.0.1:7377")
    try:
        with pymongo.MongoClient(shop.MONGO_URI, serverSelectionTimeoutMS=3000) as client:
            client.admin.command("ping")
        redis.Redis.from_url(mint_url).ping()
    except (pymongo.errors.PyMongoError, redis.RedisError) as error:
        sys.exit(
            f"tour.py: {shop.MONGO_URI} (MONGO_URI) or {mint_url} (MINT_URL) does not answer; "
            f"./dev run mongo starts both. {str(error).split(',')[0]}"
        )


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(COUNTER):
        sys.exit(__doc__)
    languages = sys.argv[2:] or list(COUNTER)
    demand_both()
    with pymongo.MongoClient(shop.MONGO_URI) as client:
        database = client.get_default_database()
        first = {language: next_value(database, language) for language in languages}
        numbers = together(sys.argv[1], languages)
        wrong = {name: check(database, name, numbers, first[name]) for name in languages}
    for language in languages:
        before, after = numbers[language, "before"], numbers[language, "after"]
        print(f"{language}, {COUNTER[language]}: {first[language]} to {max(before + after)}")
        print(f"  before: {len(before)} orders, {before[:8]} ...")
        print(f"  after:  {len(after)} orders, {after[:8]} ...")
        print(f"  {wrong[language] or 'each number once, none left out'}")
    sys.exit(any(wrong.values()))


if __name__ == "__main__":
    main()
