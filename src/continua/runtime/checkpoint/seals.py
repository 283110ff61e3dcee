"""Seals: what stands behind a content that is kept, so that nothing else is taken for it.

The seal says what a content is: its name, whose it is, and a digest over both and the content. So one that is damaged,
was put in the place of another or is one of another run is noticed when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic

_MAGIC = b"CTNUSEAL"
_DIGEST = 16
_LENGTH = 4
_TAIL = _LENGTH + _DIGEST + len(_MAGIC)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a content is: its name in its store, of which run it is, and in which term of that run it was written."""

    name: str
    run: str = ""
    term: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What was written: how many bytes, and the digest over what it is and what it holds."""

    size: int
    digest: str


@dataclass(frozen=True, slots=True)
class Sealed:
    """A content that is as it was written."""

    content: bytes
    identity: Identity
    digest: str


def seal(content: bytes, identity: Identity) -> tuple[bytes, Stored]:
    """What is to stand behind a content, and what is known of both once they are written."""
    told = json.dumps(asdict(identity)).encode()
    digest = _digest(content, told)
    behind = told + len(told).to_bytes(_LENGTH, "little") + digest + _MAGIC
    return behind, Stored(len(content) + len(behind), digest.hex())


def unsealed(whole: bytes, path: Path | str) -> Sealed:
    """A content that was sealed; an error if it is not what was written."""
    if len(whole) < _TAIL or whole[-len(_MAGIC) :] != _MAGIC:
        raise damaged(path)
    length = int.from_bytes(whole[-_TAIL : -_TAIL + _LENGTH], "little")
    end = len(whole) - _TAIL - length
    digest = whole[-_TAIL + _LENGTH : -len(_MAGIC)]
    if end < 0 or _digest(whole[:end], whole[end:-_TAIL]) != digest:
        raise damaged(path)
    with understood(path):
        return Sealed(whole[:end], Identity(**json.loads(whole[end:-_TAIL])), digest.hex())


def missing(path: Path | str) -> CheckpointError:
    """A file that should be there is not."""
    return _failed("FILE_MISSING", path, "is missing")


def unreadable(path: Path | str, why: str | None) -> CheckpointError:
    """A file is there, and cannot be read."""
    return _failed("FILE_UNREADABLE", path, f"cannot be read: {why}")


def damaged(path: Path | str) -> CheckpointError:
    """A file is not what was written."""
    return _failed("FILE_CORRUPT", path, "is damaged: its checksum is wrong")


def misplaced(path: Path | str, found: Identity, run: str) -> CheckpointError:
    """A file is one that was written under another name, or by another run."""
    if found.run != run:
        return _failed("FILE_MISPLACED", path, "is a file of another run")
    return _failed("FILE_MISPLACED", path, f"is not the file of this name: it was written as {found.name}")


def stale(path: Path | str) -> CheckpointError:
    """A file is whole, and not the one that the checkpoint speaks of."""
    return _failed("FILE_STALE", path, "is not the version that the checkpoint speaks of")


@contextmanager
def understood(path: Path | str) -> Iterator[None]:
    """What cannot be understood of a file, though its seal is right, is damage as well: somebody has forged it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise damaged(path) from None


def _digest(content: bytes | memoryview, told: bytes) -> bytes:
    found = sha256(content)
    found.update(told)
    return found.digest()[:_DIGEST]


def _failed(condition: str, path: Path | str, what: str) -> CheckpointError:
    return CheckpointError(Diagnostic(condition, f"{path} {what}", parameters={"path": str(path)}))
