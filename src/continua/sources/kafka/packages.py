"""The packages that topics need, which are not always there."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from continua.errors import Diagnostic, SourceError

_PACKAGES = {
    "confluent_kafka": ("confluent-kafka", "kafka(...)"),
    "fastavro": ("fastavro", "the format avro"),
    "google.protobuf": ("protobuf", "the format protobuf"),
    "grpc_tools": ("grpcio-tools", "the format protobuf"),
}
"""By module the package that has it, and what needs it."""


def package(module: str) -> ModuleType:
    """A module of a package. Raises SourceError where that is not installed."""
    try:
        return import_module(module)
    except ImportError:
        name, needed_by = _PACKAGES[module]
        message = f"{needed_by} needs the package {name}, which is not installed"
        parameters: dict[str, object] = {"package": name}
        hint = "pip install 'continua[kafka]'"
        raise SourceError(Diagnostic("PACKAGE_MISSING", message, hint=hint, parameters=parameters)) from None
