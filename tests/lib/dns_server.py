"""A name server for one process: what it is asked for is answered from a table, whatever the
machine's own name server says. Needs root, for port 53 and a mount namespace."""

import itertools
import socket
import threading

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

# `$0` is to be the process's resolv.conf. In a chroot the root is no mount point and can not be
# made private: then nothing may be shared with the outside.
SURROUND = """
mount --make-rprivate / 2>/dev/null || ! grep -q shared: /proc/self/mountinfo || exit 1
mount --bind "$0" "$(readlink -f /etc/resolv.conf)" && exec "$@"
"""


class DnsServer:
    """records: {(name, type): [texts]}, as a zone file writes them. It serves in `with`."""

    def __init__(self, folder, records):
        self.records = records
        self.asked = []
        self.socket = self._bind()
        self.resolv_conf = f"{folder}/resolv.conf"
        with open(self.resolv_conf, "w", encoding="ascii") as file:
            file.write(f"nameserver {self.socket.getsockname()[0]}\n")
        self.thread = threading.Thread(target=self._serve)

    @staticmethod
    def _bind():
        """Another test run may have the first."""
        for number in itertools.count(1):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            try:
                sock.bind((f"127.53.0.{number}", 53))
                return sock
            except OSError:
                sock.close()
                if number == 200:
                    raise

    def wrap(self):
        """What to put before a command, so that it asks this server."""
        unshare = ["unshare", "--mount", "--propagation", "unchanged"]
        return [*unshare, "sh", "-c", SURROUND, self.resolv_conf]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", self.socket.getsockname())
        self.thread.join()
        self.socket.close()

    def _serve(self):
        while True:
            data, client = self.socket.recvfrom(4096)
            if not data:
                return
            self.socket.sendto(self._reply(dns.message.from_wire(data)), client)

    def _reply(self, query):
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.AA | dns.flags.RA
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        if texts := self.records.get((name, kind)):
            reply.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *texts))
        elif not any(known == name for known, _ in self.records):
            reply.set_rcode(dns.rcode.NXDOMAIN)
        return reply.to_wire()
