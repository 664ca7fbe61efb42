"""As much of a MongoDB server as a start of the daemon asks of one, for servers that there are not
to install: too old, or with a findAndModify that is not atomic."""

import socketserver
import struct
import threading
import time

import bson

OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013


class Handler(socketserver.BaseRequestHandler):
    def _read(self, size):
        data = b""
        while len(data) < size:
            part = self.request.recv(size - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def handle(self):
        try:
            while True:
                size, request, _, code = struct.unpack("<iiii", self._read(16))
                self._answer(request, code, self._read(size - 16))
        except (ConnectionError, OSError):
            pass

    def _answer(self, request, code, body):
        if code == OP_QUERY:  # the first hello of a connection
            command = bson.decode(body[body.index(b"\0", 4) + 9 :])
            head, kind = struct.pack("<iqii", 8, 0, 0, 1), OP_REPLY
        else:
            assert code == OP_MSG and body[4] == 0, code
            size = struct.unpack("<i", body[5:9])[0]
            command = bson.decode(body[5 : 5 + size])
            head, kind = struct.pack("<iB", 0, 0), OP_MSG
        reply = bson.encode({**self.server.fake.reply(command), "ok": 1.0})
        total = 16 + len(head) + len(reply)
        self.request.sendall(struct.pack("<iiii", total, 0, request, kind) + head + reply)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


class FakeMongod:
    def __init__(self, wire_version=17, version="6.0.0", atomic=True):
        self.wire_version = wire_version
        self.version = version
        self.atomic = atomic
        self.lock = threading.Lock()
        self.documents = {}

    def __enter__(self):
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.fake = self
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.uri = f"mongodb://127.0.0.1:{self.server.server_address[1]}/"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def reply(self, command):
        verb = next(iter(command))
        handler = getattr(self, f"do_{verb.lower()}", None)
        return handler(command) if handler else {"n": 1}

    def do_hello(self, _):
        sizes = {"maxBsonObjectSize": 2**24, "maxMessageSizeBytes": 48 * 10**6}
        versions = {"minWireVersion": 0, "maxWireVersion": self.wire_version}
        more = {"maxWriteBatchSize": 10**5, "readOnly": False, "ismaster": True}
        return {"isWritablePrimary": True, **sizes, **versions, **more}

    do_ismaster = do_hello

    def do_buildinfo(self, _):
        return {"version": self.version}

    def do_find(self, command):
        return {"cursor": {"id": 0, "ns": "a.b", "firstBatch": []}}

    def do_insert(self, command):
        for document in command["documents"]:
            if isinstance(document["_id"], str):
                self.documents[document["_id"]] = document
        return {"n": 1}

    def do_findandmodify(self, command):
        if "$setOnInsert" in command["update"]:
            return {"value": {"_id": "store", **command["update"]["$setOnInsert"]}}
        name = command["query"]["_id"]
        if not isinstance(name, str):
            return {"value": None}
        if self.atomic:
            with self.lock:
                return self._increment(name)
        return self._increment(name)

    def _increment(self, name):
        n = self.documents[name]["n"]
        time.sleep(0.001)  # others may read the same
        self.documents[name] = {"_id": name, "n": n + 1}
        return {"value": self.documents[name]}
