"""URLs of places: folders, and prefixes in the buckets of object stores.

Options of a store, such as its endpoint, may stand behind the question mark of a URL. Credentials may not: a URL is
shown in messages and in lists of processes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

from continua.errors import Diagnostic, MachineError, did_you_mean, listing

BUCKETS = ("s3", "gs", "az")
"""The schemes of URLs that name a bucket, or a container."""
_OTHER_SPELLINGS = {"s3a": "s3", "gcs": "gs", "azure": "az"}
_KNOWN = ("file", *BUCKETS)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SECRET = re.compile(r"secret|password|token|access_key|account_key|service_account|credential|sas", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BucketUrl:
    """A prefix in a bucket."""

    scheme: str
    bucket: str
    prefix: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """The URL without its options."""
        return "/".join(part for part in (f"{self.scheme}://{self.bucket}", self.prefix) if part)

    def __truediv__(self, name: str) -> BucketUrl:
        """What lies below, under a name."""
        return replace(self, prefix="/".join(part for part in (self.prefix, name.strip("/")) if part))

    @property
    def name(self) -> str:
        """The last part of the prefix."""
        return self.prefix.rpartition("/")[2]

    @property
    def address(self) -> str:
        """The URL with its options: what :func:`place_of` makes this of."""
        told = "&".join(f"{key}={value}" for key, value in self.options)
        return f"{self}?{told}" if told else str(self)


Place: TypeAlias = Path | BucketUrl
"""A folder, or a prefix in a bucket: both have ``/``, ``name``, and a text."""


def address_of(place: Place) -> str:
    """The text that :func:`place_of` makes a place of again."""
    return place.address if isinstance(place, BucketUrl) else str(place)


def is_url(text: str) -> bool:
    """Whether a text is a URL and no path."""
    return _SCHEME.match(text) is not None


def is_known(url: str) -> bool:
    """Whether a URL is one of a kind that a place can have."""
    scheme = url.partition("://")[0].lower()
    return _OTHER_SPELLINGS.get(scheme, scheme) in _KNOWN


def place_of(text: str | Path | BucketUrl) -> Place:
    """The place that a path or a URL stands for. Raises MachineError if there can be none."""
    if not isinstance(text, str):
        return text
    found = _SCHEME.match(text)
    if found is None:
        return Path(text)
    scheme = _OTHER_SPELLINGS.get(found[1].lower(), found[1].lower())
    if scheme not in _KNOWN:
        hint = did_you_mean(scheme, _KNOWN) or f"a folder, or a URL of {listing(_KNOWN)}"
        raise _bad(text, f"no store is known for {found[1]}://", hint)
    parts = urlsplit(text)
    if scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise _bad(text, f"{text} names a machine, and only files of this one can be reached", "file:///path")
        return Path(unquote(parts.path))
    if not parts.netloc or "@" in parts.netloc:
        # who may use it must not be shown, if that stands there
        shown = f"{scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise _bad(shown, f"{shown} does not name a bucket, or more than that", f"{scheme}://bucket/prefix")
    options = tuple(parse_qsl(parts.query, keep_blank_values=True))
    for key, _ in options:
        if _SECRET.search(key):
            hint = "credentials are found in the environment, as the store's own tools find them"
            raise _bad(str(BucketUrl(scheme, parts.netloc)), f"{key} must not stand in a URL", hint)
    return BucketUrl(scheme, parts.netloc, parts.path.strip("/"), options)


def _bad(url: str, message: str, hint: str) -> MachineError:
    return MachineError(Diagnostic("BAD_STORE_URL", message, hint=hint, parameters={"url": url}))
