"""Continua: continuous queries over streams and relations, exact at every instant."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from continua.session import Session

__version__ = "0.1.0"
__all__ = ["Session", "__version__"]


def __getattr__(name: str) -> object:
    """The session is loaded when it is asked for, so that the command line starts without it."""
    if name == "Session":
        from continua.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
