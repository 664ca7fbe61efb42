"""Before: the next number of an order comes from findAndModify. Stores an order for each line of
the standard input and prints its number."""

import os
import sys

import pymongo

MONGO_URI = os.environ.get("MONGO_URI", "mongodb://127.0.0.1:27117/shop?replicaSet=set0")
shop = pymongo.MongoClient(MONGO_URI).get_default_database()


def next_number(name):
    counter = shop.counters.find_one_and_update(
        {"_id": name},
        {"$inc": {"seq": 1}},
        upsert=True,
        return_document=pymongo.ReturnDocument.AFTER,
    )
    return counter["seq"]


for line in sys.stdin:
    number = next_number("orders")
    shop.orders.insert_one({"number": number, "what": line.strip()})
    print(number, flush=True)
