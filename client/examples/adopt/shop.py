"""A shop's counters in MongoDB, one of each shape that is common in the field, and what the code
that made them does to take the next number.

usage: shop.py seed | show     (MONGO_URI names the server and the database)
"""

import os
import sys

from bson import Int64
import pymongo
from pymongo import ReturnDocument

MONGO_URI = os.environ.get("MONGO_URI", "mongodb://127.0.0.1:27117/shop?replicaSet=set0")


class Counter:
    """`key` finds the document, whose `field` counts; it holds the value issued last, or with
    `before` the one to be issued next."""

    def __init__(self, collection, key, field, value, before=False, other=()):
        self.collection = collection
        self.key = key
        self.field = field
        self.value = value
        self.before = before
        self.other = dict(other)

    def document(self):
        return {**self.other, **self.key, self.field: self.value}

    def first(self):
        """The value to be issued first."""
        return int(self.value) if self.before else int(self.value) + 1

    def take(self, database):
        """The next value, taken as home-made code does."""
        after = ReturnDocument.BEFORE if self.before else ReturnDocument.AFTER
        document = database[self.collection].find_one_and_update(
            self.key, {"$inc": {self.field: 1}}, return_document=after
        )
        return int(document[self.field])


# By the name that idmintd.conf gives each.
COUNTERS = {
    "orders": Counter("counters", {"_id": "orders"}, "seq", 41),
    # The old shell's $inc: 1 leaves a double behind.
    "returns": Counter("counters", {"_id": "returns"}, "seq", 7.0),
    "invoices": Counter("invoice_numbers", {"_id": "invoices"}, "next", 1042, before=True),
    "parcels": Counter("parcel_counters", {"_id": "parcels"}, "counter", 7),
    "phone_orders": Counter(
        "sequences",
        {"collName": "phone_orders"},
        "seqId",
        Int64(41),
        other={"_class": "shop.Sequence"},
    ),
    "web_orders": Counter(
        "web_counters", {"id": "web_order_number", "reference_value": None}, "seq", 41
    ),
    "articles": Counter(
        "identitycounters",
        {"model": "Article", "field": "number"},
        "count",
        500,
        other={"__v": 0},
    ),
    "tickets": Counter("ticket_number", {}, "last", 12),
}
# Somebody stored a string: refused by name.
BROKEN = {"_id": "vouchers", "seq": "0815"}
ORDERS = ("orders", "web_orders", "phone_orders")


def seed(database):
    """Makes the documents where there are none yet; whether it did."""
    if database.counters.find_one({"_id": "orders"}):
        return False
    for name in ORDERS:  # the database itself would refuse a number that was issued twice
        database[name].create_index("number", unique=True)
    database.web_counters.create_index([("id", 1), ("reference_value", 1)], unique=True)
    database.identitycounters.create_index([("field", 1), ("model", 1)], unique=True)
    database.counters.insert_one(BROKEN)
    for counter in reversed(COUNTERS.values()):  # orders comes last: it tells that all is there
        database[counter.collection].insert_one(counter.document())
    return True


def show(database):
    for collection in sorted({counter.collection for counter in COUNTERS.values()}):
        for document in database[collection].find():
            print(f"{collection}: {document}")


def main():
    actions = {"seed": seed, "show": show}
    if len(sys.argv) != 2 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    with pymongo.MongoClient(MONGO_URI) as client:
        actions[sys.argv[1]](client.get_default_database())


if __name__ == "__main__":
    main()
