"""A network that can be cut: a TCP proxy before each member of a replica set, which the members
know each other by, so that they and all drivers go through it.

Who a connection is from is told by its first packet, a driver's hello, by the application's name in
it (appName in the URI); members are told by their processes. For each pair of such a name and a
member the way can be
  FORWARD  as it should be;
  RESET    cut, with RST: what is open, and each new attempt;
  HOLD     a black hole: nothing goes either way, nobody is told. What was sent before it is
           FORWARD again arrives then, though who sent it may have given up long ago.
Beside that, cut() resets the connection on which a command comes: BEFORE it reaches the server, or
AFTER, when the server has answered.
"""

import asyncio
import os
import socket
import struct
import threading

import bson

from mongod import ReplicaSet

FORWARD, RESET, HOLD = "forward", "reset", "hold"
BEFORE, AFTER = "before", "after"
OP_QUERY, OP_MSG = 2004, 2013
NO_LINGER = struct.pack("ii", 1, 0)  # close() sends RST


def _document(message):
    """The command in a message; empty for what is none."""
    code = struct.unpack_from("<i", message, 12)[0]
    if code == OP_QUERY:
        at = message.index(b"\0", 20) + 9
    elif code == OP_MSG and message[20] == 0:
        at = 21
    else:
        return {}
    size = struct.unpack_from("<i", message, at)[0]
    return bson.decode(message[at : at + size])


def _owner(members, port, proxy_port):
    """The member whose process holds the connection from this port to the proxy; None: none."""
    ends = [f":{port:04X} ", f":{proxy_port:04X} "]
    with open("/proc/net/tcp", encoding="ascii") as table:
        lines = [line.split() for line in table if all(end in line for end in ends)]
    links = [f"socket:[{line[9]}]" for line in lines if line[1].endswith(ends[0].strip())]
    for member in members if links else ():
        try:
            fds = f"/proc/{member.process.pid}/fd"
            if any(_points_to(f"{fds}/{fd}", links) for fd in os.listdir(fds)):
                return member
        except FileNotFoundError:
            pass  # it has ended
    return None


def _points_to(link, names):
    try:
        return os.readlink(link) in names
    except FileNotFoundError:
        return False  # closed meanwhile


async def _read_message(reader):
    """A whole message of MongoDB's wire protocol; None at the end."""
    try:
        head = await reader.readexactly(4)
        return head + await reader.readexactly(struct.unpack("<i", head)[0] - 4)
    except asyncio.IncompleteReadError:
        return None


async def _write(writer, message):
    writer.write(message)
    await writer.drain()


def _reset(writer):
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.is_closing():
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()


class _IsCut(Exception):
    pass


class _Connection:
    def __init__(self, proxy, reader, writer):
        self.proxy = proxy
        self.client = reader, writer
        self.server = None
        self.who = None
        self.awaited = None  # the request whose reply is never to arrive

    def reset(self):
        for end in (self.client, self.server):
            if end is not None:
                _reset(end[1])

    async def run(self):
        try:
            first = await _read_message(self.client[0])
            if first is not None:
                self.who = self._who(first)
                await self._serve(first)
        except (OSError, _IsCut):
            pass
        self.reset()

    def _who(self, first):
        client = _document(first).get("client", {})
        port = self.client[1].get_extra_info("peername")[1]
        return _owner(self.proxy.members, port, self.proxy.port) or client.get(
            "application", {}
        ).get("name")

    async def _serve(self, first):
        await self._pass()
        self.server = await asyncio.open_connection("127.0.0.1", self.proxy.member.port)
        self.server[1].write(first)
        tasks = [asyncio.ensure_future(way) for way in (self._requests(), self._replies())]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pass(self):
        """Waits as long as it is held."""
        while self.proxy.mode(self.who) is HOLD:
            await self.proxy.changed.wait()
        if self.proxy.mode(self.who) is RESET:
            raise _IsCut

    async def _requests(self):
        while (message := await _read_message(self.client[0])) is not None:
            await self._pass()
            cut = self.proxy.cut_of(self.who, message)
            if cut == BEFORE:
                raise _IsCut
            if cut == AFTER:
                self.awaited = message[4:8]
            await _write(self.server[1], message)
        await self._pass()
        self.server[1].write_eof()

    async def _replies(self):
        while (message := await _read_message(self.server[0])) is not None:
            await self._pass()
            if message[8:12] == self.awaited:
                raise _IsCut
            await _write(self.client[1], message)
        await self._pass()
        self.client[1].write_eof()


class _Proxy:
    """Before one member. All but the constructor on the loop's thread."""

    def __init__(self, member, members):
        self.member = member
        self.members = members
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.modes = {}
        self.cuts = []
        self.connections = set()
        self.changed = None
        self.server = None

    async def start(self):
        self.changed = asyncio.Event()
        self.server = await asyncio.start_server(self._accept, sock=self.socket, limit=2**20)

    async def stop(self):
        self.server.close()
        for connection in set(self.connections):
            connection.reset()

    async def _accept(self, reader, writer):
        connection = _Connection(self, reader, writer)
        self.connections.add(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)

    def mode(self, who):
        return self.modes.get(who, FORWARD)

    def set_mode(self, who, mode):
        self.modes[who] = mode
        self.changed.set()
        self.changed = asyncio.Event()
        for connection in set(self.connections):
            if connection.who == who and mode is RESET:
                connection.reset()

    def cut_of(self, who, message):
        if not self.cuts:
            return None
        command = _document(message)
        name = next(iter(command.items()), None)
        for cut in self.cuts:
            if cut.who == who and cut.left > 0 and name == (cut.command, cut.collection):
                cut.left -= 1
                cut.made += 1
                return cut.when
        return None


class Cut:
    """The next `times` such commands are cut off; `made`: so many were."""

    def __init__(self, who, when, command, collection, times):
        self.who, self.when = who, when
        self.command, self.collection = command, collection
        self.left, self.made = times, 0


class CutSet(ReplicaSet):
    """A replica set behind proxies. `who` is an application's name or a member."""

    def __init__(self, folder, members=3):
        super().__init__(folder, members)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.proxies = {member: _Proxy(member, self.members) for member in self.members}
        for member, proxy in self.proxies.items():
            member.known_port = proxy.port
            self._run(proxy.start())

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def _call(self, function, *arguments):
        async def call():
            return function(*arguments)

        return self._run(call())

    def way(self, who, to, mode):
        self._call(self.proxies[to].set_mode, who, mode)

    def part(self, side, other, mode):
        """Between members of two sides, both ways."""
        for one in side:
            for two in other:
                self.way(one, two, mode)
                self.way(two, one, mode)

    def heal(self):
        def forward(proxy):
            proxy.cuts.clear()
            for who in proxy.modes:
                proxy.set_mode(who, FORWARD)

        for proxy in self.proxies.values():
            self._call(forward, proxy)

    def cut(self, who, to, when, command, collection, times=1):
        cut = Cut(who, when, command, collection, times)
        self._call(self.proxies[to].cuts.append, cut)
        return cut

    def close(self):
        super().close()
        for proxy in self.proxies.values():
            self._run(proxy.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
