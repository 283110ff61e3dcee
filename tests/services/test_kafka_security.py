"""Topics behind TLS: who asks says so by a password or by a certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.helpers import continua
from tests.services.kafka_broker import PASSWORD, USER, KafkaBroker
from tests.services.kafka_scripts import EACH, bids, stream


def written(options: dict[str, str]) -> str:
    return ", ".join(f"{name} => {value}" for name, value in options.items())


def by_password(kafka: KafkaBroker) -> dict[str, str]:
    return {
        "servers": f"'{kafka.secure}'",
        "security_protocol": "'SASL_SSL'",
        "sasl_mechanism": "'SCRAM-SHA-512'",
        "sasl_username": f"'{USER}'",
        "sasl_password": "secret('KAFKA_PASSWORD')",
        "ssl_ca_location": f"'{kafka.certificates.authority}'",
        "timeout": "20",
    }


def by_certificate(kafka: KafkaBroker) -> dict[str, str]:
    return {
        "servers": f"'{kafka.certified}'",
        "security_protocol": "'SSL'",
        "ssl_ca_location": f"'{kafka.certificates.authority}'",
        "ssl_certificate_location": f"'{kafka.certificates.certificate('client')}'",
        "ssl_key_location": f"'{kafka.certificates.key('client')}'",
        "timeout": "20",
    }


@pytest.mark.parametrize("ways", [by_password, by_certificate])
def test_topics_behind_tls_are_read_and_written(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ways: Callable[[KafkaBroker], dict[str, str]]
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    options = ways(kafka)
    topic, out, dead = kafka.topic(), kafka.topic(), kafka.topic()
    kafka.send(topic, *bids((1, 10, 1), (2, 20, 2)), "{")
    source = stream(kafka, topic, clauses="ORDERED BY ts ON ERROR SKIP", dead_letters=f"'{dead}'", **options)
    sink = f" INTO kafka('{out}', {written(options)});"
    (tmp_path / "s.sql").write_text(source + EACH.replace(";", sink))
    ended = continua("run", str(tmp_path / "s.sql"), "--checkpoint", str(tmp_path / "c"))
    assert ended.exit_code == 0, ended.stderr
    assert [r.value() for r in kafka.read(out)] == [b'{"item": 1, "price": 10}', b'{"item": 2, "price": 20}']
    assert [r.value() for r in kafka.read(dead)] == [b"{"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sasl_password": "'wrong'"}, "Authentication failed"),
        ({"ssl_ca_location": "stranger"}, "certificate verify failed"),
        ({"security_protocol": "'SASL_PLAINTEXT'"}, "KAFKA_UNREACHABLE"),
        ({"ssl_ca_location": "nowhere"}, "KAFKA_REFUSED"),
    ],
)
def test_who_may_not_is_told_why(
    kafka: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], why: str
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    named = {n: f"'{kafka.certificates.certificate(v)}'" if n == "ssl_ca_location" else v for n, v in change.items()}
    options = by_password(kafka) | named | {"timeout": "4"}
    (tmp_path / "s.sql").write_text(stream(kafka, kafka.topic(), **options) + EACH)
    ended = continua("run", str(tmp_path / "s.sql"))
    assert ended.exit_code != 0
    assert why in ended.stderr
    assert PASSWORD not in ended.stderr
    assert not ended.stdout


def test_without_a_certificate_nobody_is_let_in_who_needs_one(kafka: KafkaBroker, tmp_path: Path) -> None:
    options = by_certificate(kafka) | {"timeout": "4"}
    del options["ssl_certificate_location"], options["ssl_key_location"]
    (tmp_path / "s.sql").write_text(stream(kafka, kafka.topic(), **options) + EACH)
    assert "KAFKA_UNREACHABLE" in continua("run", str(tmp_path / "s.sql")).stderr
