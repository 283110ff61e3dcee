"""Continua: continuous queries over streams and relations, exact at every instant."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from continua.client.remote import connect
    from continua.runs.live_options import LiveOptions
    from continua.session import Session

__version__ = "0.1.0"
__all__ = ["LiveOptions", "Session", "__version__", "connect"]

_HOMES = {
    "LiveOptions": "continua.runs.live_options",
    "Session": "continua.session",
    "connect": "continua.client.remote",
}


def __getattr__(name: str) -> object:
    """What is here is loaded when it is asked for, so that the command line starts without it."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
