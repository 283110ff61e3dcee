"""Files wherever they are: on this machine by their paths, and in the buckets of object stores by their URLs.

What reads files asks here for their sizes and for stretches of them. Of an object such a stretch is one request, and it
is whole from the beginning on: nobody adds to it, and another one of its name is another one.
"""

from __future__ import annotations

import io
import stat
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from continua.objects.client import Bucket, StoredObject, bucket_at
from continua.objects.urls import BucketUrl, is_known, is_url, place_of

_BUFFER = 1 << 20
"""So much of an object is read at least, where it is read piece by piece."""
_MOST_KNOWN = 1 << 17


@dataclass(frozen=True, slots=True)
class FileState:
    """How large a file is, and what tells it from another one of its name."""

    size: int
    identity: object
    is_regular: bool = True


_listed: OrderedDict[str, FileState] = OrderedDict()
"""Objects as this process has listed them last, so that it need not ask for each of them again."""


def is_object(path: str) -> bool:
    """Whether a path is the URL of what is in a bucket, or of a part of that."""
    return is_url(path) and is_known(path) and isinstance(place_of(path), BucketUrl)


def name_of(path: str) -> str:
    """A path as it is shown: a URL without the options of its store."""
    return str(place_of(path)) if is_object(path) else path


def objects_below(url: BucketUrl) -> list[tuple[str, str]]:
    """The objects below a place: the path of each behind it, and its address."""
    bucket, found = bucket_at(_whole(url)), []
    for known in bucket.found(url.prefix):
        address = replace(url, prefix=known.key).address
        _remember(address, known)
        found.append((known.key[len(url.prefix) :].lstrip("/"), address))
    return found


def object_at(url: BucketUrl) -> bool:
    """Whether there is an object of just that name."""
    found = bucket_at(_whole(url)).head(url.prefix) if url.prefix else None
    if found is not None:
        _remember(url.address, found)
    return found is not None


def _remember(address: str, found: StoredObject) -> None:
    _listed[address] = FileState(found.size, found.version)
    _listed.move_to_end(address)
    while len(_listed) > _MOST_KNOWN:
        _listed.popitem(last=False)


def state_of(path: str) -> FileState:
    """How a file is now; of an object that was listed, how it was then. Raises FileNotFoundError."""
    if not is_object(path):
        found = Path(path).stat()
        return FileState(found.st_size, (found.st_ino, found.st_mtime_ns), stat.S_ISREG(found.st_mode))
    known = _listed.get(path)
    if known is None:
        bucket, key = _object(path)
        there = bucket.head(key)
        if there is None:
            raise _gone(path)
        known = FileState(there.size, there.version)
    return known


def exists(path: str) -> bool:
    """Whether there is such a file."""
    if not is_object(path):
        return Path(path).exists()
    bucket, key = _object(path)
    return bucket.head(key) is not None


def part_of(path: str, begin: int, count: int) -> bytes:
    """Bytes of a file, fewer where it ends before."""
    if is_object(path):
        bucket, key = _object(path)
        content = bucket.part(key, begin, count)
        if content is None:
            raise _gone(path)
        return content
    with Path(path).open("rb", buffering=0) as file:
        file.seek(begin)
        found = bytearray()
        while len(found) < count and (part := file.read(count - len(found))):
            found += part
    return bytes(found)


def opened(path: str) -> BinaryIO:
    """A file to read from, wherever in it."""
    if not is_object(path):
        return Path(path).open("rb")
    return cast(BinaryIO, io.BufferedReader(_Object(path), _BUFFER))


class _Object(io.RawIOBase):
    """An object as a file."""

    def __init__(self, path: str) -> None:
        self._path, self._place, self._size = path, 0, state_of(path).size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        wanted = min(len(buffer), max(self._size - self._place, 0))
        content = part_of(self._path, self._place, wanted) if wanted else b""
        buffer[: len(content)] = content
        self._place += len(content)
        return len(content)


def _object(path: str) -> tuple[Bucket, str]:
    url = place_of(path)
    assert isinstance(url, BucketUrl)
    return bucket_at(_whole(url)), url.prefix


def _whole(url: BucketUrl) -> BucketUrl:
    return replace(url, prefix="")


def _gone(path: str) -> FileNotFoundError:
    return FileNotFoundError(2, "there is no such object", str(place_of(path)))
