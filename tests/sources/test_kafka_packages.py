"""What topics need and is not installed is told by name."""

from __future__ import annotations

import sys

import pytest

from continua.errors import SourceError
from continua.sources.kafka.packages import package


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("confluent_kafka", "confluent-kafka"),
        ("fastavro", "fastavro"),
        ("google.protobuf", "protobuf"),
        ("grpc_tools", "grpcio-tools"),
    ],
)
def test_a_package_that_is_missing_is_told(module: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SourceError) as raised:
        package(module)
    assert raised.value.condition == "PACKAGE_MISSING"
    assert raised.value.parameters["package"] == name
    assert "continua[kafka]" in (raised.value.diagnostics[0].hint or "")
