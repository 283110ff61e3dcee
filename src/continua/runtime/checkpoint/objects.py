"""Contents as objects in a bucket: they are there whole or not at all by themselves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from continua.objects.client import bucket_at
from continua.objects.urls import BucketUrl
from continua.runtime.checkpoint.files import step
from continua.runtime.checkpoint.seals import damaged, missing


class Objects:
    """Contents below a prefix of a bucket."""

    def __init__(self, place: BucketUrl) -> None:
        self.place = place
        self.address = place.address
        self._bucket = bucket_at(place)

    def write(self, name: str, parts: Iterable[bytes], durable: bool) -> None:  # noqa: ARG002 (they always are)
        """Puts an object there."""
        self._step("write", name)
        self._bucket.put(name, b"".join(parts))
        self._step("done", name)

    def create(self, name: str, parts: Iterable[bytes], durable: bool) -> bool:  # noqa: ARG002
        """Puts one there that is the first of its name: whether it is."""
        self._step("write", name)
        made = self._bucket.create(name, b"".join(parts))
        self._step("done", name)
        return made

    def read(self, name: str) -> bytes:
        """The bytes of an object."""
        found = self._bucket.get(name)
        if found is None:
            raise missing(f"{self.place}/{name}")
        return found

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of an object; whoever asks knows what they should be."""
        found = self._bucket.part(name, start, length)
        if found is None:
            raise missing(f"{self.place}/{name}")
        return found

    def version(self, name: str) -> str:
        """As the store tells versions apart."""
        found = self._bucket.head(name)
        if found is None:
            raise missing(f"{self.place}/{name}")
        if not found.size:
            raise damaged(f"{self.place}/{name}")
        return found.version

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        return self._bucket.head(name) is not None

    def sizes(self, folder: str) -> dict[str, int]:
        """The objects below a prefix, with their sizes."""
        return {found.key: found.size for found in self._bucket.found(folder)}

    def delete(self, names: Iterable[str]) -> None:
        """Removes objects; those that are not there are as good."""
        wanted = list(names)
        for name in wanted:
            self._step("remove", name)
        self._bucket.delete(wanted)

    def tidy(self, folders: Iterable[str]) -> None:
        """There is never anything partial."""

    def _step(self, what: str, name: str) -> None:
        step(what, Path(str(self.place), name))
