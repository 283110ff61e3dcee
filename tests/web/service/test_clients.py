"""The client of Python, the shell at a server, alerts, TLS and OpenID Connect."""

from __future__ import annotations

import datetime
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import jwt
import pyarrow as pa
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

import continua as product
from continua.client.remote import RemoteError, RemoteQuery
from tests.web.service.conftest import BIDS, Serve, continua


@contextmanager
def answering(answer: Callable[[str, bytes], tuple[int, bytes]]) -> Iterator[str]:
    """A server on this machine that others call; its address."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body = answer(self.path, content)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing is told."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_the_client_has_the_names_of_a_session(serve: Serve) -> None:
    server = serve()
    session = product.connect(server.url)
    session.execute(BIDS)
    assert session.insert("Bid", [(1, 10, 5), {"item": 2, "price": 20, "ts": 6}], key="a") == 2
    assert session.insert("Bid", [(1, 10, 5), {"item": 2, "price": 20, "ts": 6}], key="a") == 2
    session.insert("Bid", pa.table({"item": [3, 9], "price": [30, 1], "ts": [8, 12]}))
    server.until("top", 11)
    top = session.queries["top"]
    assert top.isActive and sorted(top.snapshot(6).to_pylist(), key=str) == [
        {"item": 1, "top": 10},
        {"item": 2, "top": 20},
    ]
    changes, position = session.queries["new"].changes()
    assert [c["row"]["item"] for c in changes] == [1, 2, 3]
    assert session.queries["new"].changes(position) == ([], position)
    first = next(session.queries["new"].follow())
    assert first["event"] == "changes" and first["changes"][0] == {"t": 5, "row": {"item": 1, "price": 10}}
    query = session.sql("REGISTER QUERY high AS SELECT price FROM Bid [NOW] WHERE price > 15")
    assert isinstance(query, RemoteQuery) and "Filter" in query.explain("physical") + query.explain()
    query.stop()
    assert query.info["state"] == "stopped"
    query.start()
    query.drop()
    with pytest.raises(RemoteError, match="did you mean item") as wrong:
        session.sql("SELECT itm FROM Bid [NOW]")
    assert (wrong.value.condition, wrong.value.diagnostics[0].span.column) == ("UNKNOWN_COLUMN", 8)  # type: ignore[union-attr]


def test_the_shell_has_a_server_run_what_is_typed(serve: Serve) -> None:
    server = serve()
    typed = BIDS + "DESCRIBE Bid;\nSELECT itm FROM Bid [NOW];\n"
    done = subprocess.run(
        continua("shell", "--connect", server.url), input=typed, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "query top is live" in done.stderr and "UNKNOWN_COLUMN" in done.stderr
    assert "orders the stream" in done.stdout
    assert [q["name"] for q in server.ask("GET", "/api/queries")[1]["queries"]] == ["top", "new"]


def test_an_alert_is_told_at_least_once_and_goes_on_after_a_kill(serve: Serve, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('hosts = ["127.0.0.1:*"]\n')
    told: list[dict[str, Any]] = []
    refusing = [True]

    def called(_: str, content: bytes) -> tuple[int, bytes]:
        if refusing[0]:
            refusing[0] = False
            return 503, b""
        told.append(json.loads(content))
        return 200, b""

    def rows() -> list[int]:
        return [change["row"]["item"] for call in told for change in call["changes"]]

    def wait(wanted: list[int]) -> None:
        end = time.monotonic() + 30
        while rows() != wanted:
            assert time.monotonic() < end, told
            time.sleep(0.05)

    with answering(called) as url:
        server = serve("--policy", str(policy))
        server.run(BIDS)
        alert = {"name": "high", "query": "new", "url": f"{url}/hook", "when": "gets"}
        assert server.ask("POST", "/api/alerts", alert)[0] == 201
        server.ask("POST", "/api/streams/Bid/rows", [[1, 10, 5], [2, 20, 6]])
        wait([1])
        calls = [c["result"] for c in server.ask("GET", "/api/alerts")[1]["calls"]]
        assert calls == ["it answered 503", "delivered"]
        server.kill()
        server = serve("--policy", str(policy))
        server.ask("POST", "/api/streams/Bid/rows", [[3, 1, 9]])
        wait([1, 2])


def test_connections_are_encrypted_by_a_certificate(serve: Serve, tmp_path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(1))
    builder = builder.not_valid_after(now + datetime.timedelta(1))
    own = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = builder.add_extension(own, critical=False).sign(key, hashes.SHA256())
    pem, private = tmp_path / "cert.pem", tmp_path / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    server = serve("--tls-cert", str(pem), "--tls-key", str(private))
    assert server.url.startswith("https://")
    assert product.connect(server.url, certificates=str(pem)).whoami()["role"] == "admin"
    address = f"host=127.0.0.1 port={server.postgres} user=x sslmode=verify-ca sslrootcert={pem}"
    found = subprocess.run(["psql", "-XAt", address, "-c", "SELECT 1"], capture_output=True, text=True)
    assert found.stdout == "1\n", found.stderr


def test_an_issuer_says_who_somebody_is(serve: Serve) -> None:
    key, other = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    where: list[str] = []

    def answer(path: str, _: bytes) -> tuple[int, bytes]:
        keys = {"keys": [{**public, "kid": "k", "alg": "RS256", "use": "sig"}]}
        told = {"issuer": where[0], "jwks_uri": f"{where[0]}/keys"}
        return 200, json.dumps(keys if path == "/keys" else told).encode()

    with answering(answer) as issuer:
        where.append(issuer)
        server = serve("--require-token", "--oidc-issuer", issuer)
        now = int(time.time())
        fine = {"iss": issuer, "aud": "continua", "sub": "ada", "exp": now + 60, "continua_role": "write"}

        def who(told: dict[str, object], by: rsa.RSAPrivateKey = key) -> tuple[int, Any]:
            signed = jwt.encode(told, by, algorithm="RS256", headers={"kid": "k"})
            return server.ask("GET", "/api/me", Authorization=f"Bearer {signed}")

        status, me = who({**fine, "continua_queries": ["top"]})
        assert (status, me["name"], me["role"], me["queries"]) == (200, "ada", "write", ["top"])
        assert who(fine, other)[0] == 401
        for wrong in ({"exp": now - 10}, {"aud": "somebody"}, {"iss": "https://evil"}, {"continua_role": "root"}):
            assert who({**fine, **wrong})[0] == 401, wrong
        unsigned = jwt.encode(fine, None, algorithm="none", headers={"kid": "k"})  # type: ignore[arg-type]
        assert server.ask("GET", "/api/me", Authorization=f"Bearer {unsigned}")[0] == 401
