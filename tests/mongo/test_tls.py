"""MongoDB over TLS, with certificates made here."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from daemon import run_idmintd
from mongod import Mongod
from resp import Client

PASSWORD = "open%sesame"


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make_authority(folder, name):
    key, certificate = folder / f"{name}.key", folder / f"{name}.pem"
    make = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*make, "-days", "2", "-subj", f"/CN={name}", "-keyout", key, "-out", certificate)
    return key, certificate


def make_certificate(folder, authority, name, alternative):
    """Key and certificate in one file."""
    key, request, signed = (folder / f"{name}.{kind}" for kind in ("key", "csr", "crt"))
    make = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*make, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    extensions = folder / f"{name}.ext"
    extensions.write_text(f"subjectAltName={alternative}\n")
    sign = ["x509", "-req", "-in", request, "-days", "2", "-extfile", extensions, "-out", signed]
    openssl(*sign, "-CA", authority[1], "-CAkey", authority[0], "-CAcreateserial")
    both = folder / f"{name}.both"
    both.write_text(key.read_text() + signed.read_text())
    return both


class Guarded:
    """A server that speaks TLS only, and asks for passwords."""

    def __init__(self, folder):
        self.authority = make_authority(folder, "authority")
        self.other = make_authority(folder, "other")
        server = make_certificate(folder, self.authority, "server", "IP:127.0.0.1")
        self.client = make_certificate(folder, self.authority, "client", "DNS:client")
        options = ["--auth", "--tlsMode", "requireTLS", "--tlsCertificateKeyFile", str(server)]
        options += ["--tlsCAFile", str(self.authority[1])]
        self.mongod = Mongod(folder / "server", options=options)

    def start(self):
        self.mongod.start()
        files = {"tlsCAFile": self.authority[1], "tlsCertificateKeyFile": self.client}
        options = {key: str(file) for key, file in files.items()}
        with self.mongod.client(tls=True, **options) as client:
            client.admin.command("createUser", "minter", pwd=PASSWORD, roles=["root"])
        return self

    def uri(self, authority=None, client=True, tls=True):
        options = ["authSource=admin"]
        if tls:
            options += ["tls=true", f"tlsCAFile={(authority or self.authority)[1]}"]
        if tls and client:
            options.append(f"tlsCertificateKeyFile={self.client}")
        return f"mongodb://minter@{self.mongod.address}/?" + "&".join(options)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    guarded = Guarded(tmp_path_factory.mktemp("tls"))
    try:
        yield guarded.start()
    finally:
        guarded.mongod.kill()


@pytest.fixture
def password_file(tmp_path):
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    return file


def check(uri, file):
    told = run_idmintd("--check-store", "--store", uri, "--set", f"mongo.password_file={file}")
    assert PASSWORD not in told.stdout + told.stderr
    return told


def test_served(guarded, password_file, start_daemon):
    settings = {"mongo.password_file": password_file, "limits.request": "20s"}
    daemon = start_daemon(store=guarded.uri(), settings=settings)
    with Client(daemon.address) as client:
        assert client.call("NEXT", "orders") == 1


def test_refused(guarded, password_file):
    """By name where the cause is known here. All at once, since a start waits for a server."""
    asked = {
        guarded.uri(authority=guarded.other): "certificate verify failed",
        guarded.uri(client=False): "MongoDB: no server takes writes: ",
        guarded.uri(tls=False): "MongoDB: no server takes writes: ",
        guarded.uri(authority=(None, "/missing.pem")): "tlscafile: /missing.pem: No such file",
    }
    with ThreadPoolExecutor() as pool:
        for told, expected in zip(
            pool.map(lambda uri: check(uri, password_file), asked), asked.values()
        ):
            assert told.returncode != 0 and expected in told.stderr
            assert told.stderr.count("\n") == 1
