"""After: the next number of an order comes from idmintd. Stores an order for each line of the
standard input and prints its number."""

import os
import sys

import pymongo
import redis

MONGO_URI = os.environ.get("MONGO_URI", "mongodb://127.0.0.1:27117/shop?replicaSet=set0")
shop = pymongo.MongoClient(MONGO_URI).get_default_database()
mint = redis.Redis.from_url(os.environ.get("MINT_URL", "redis://127.0.0.1:7377"))

for line in sys.stdin:
    number = mint.incr("orders")
    shop.orders.insert_one({"number": number, "what": line.strip()})
    print(number, flush=True)
