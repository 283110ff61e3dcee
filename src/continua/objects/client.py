"""What is asked of a bucket: whole contents by key, put there once or in place of another.

Requests that fail on the way are tried again, with growing pauses, for as long as ``retry`` says (in seconds; an
option of the URL). A content that is to be there only once is special: an answer that was lost may have been a yes. So
what is there is read back, and compared with what was to be.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from continua.errors import Diagnostic, MachineError, did_you_mean
from continua.objects.urls import BucketUrl, place_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_RETRY = "retry"
_RETRY_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_MANY = 1000
_OWN = (_RETRY, "lease")
"""Options that are not the store's."""
_STATUS = re.compile(r"status code: (\d{3}) ?([^:\n]*)")
_CODE = re.compile(r"<Code>(\w+)</Code>|\"code\": ?\"?(\w+)")
_REFUSED = (400, 401, 403, 405, 411)
_GONE = (404,)
_NOT_SO_LONG = 416
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A content that is there: its key below the place, its size, what tells it from others, and its time."""

    key: str
    size: int
    version: str
    modified: float
    """When it was put, in seconds by the clock of the store."""


class Bucket:
    """The contents below a place."""

    def __init__(self, url: BucketUrl) -> None:
        self.url = url
        self._own = {key: value for key, value in url.options if key in _OWN}
        self._retry = self._seconds(_RETRY, _RETRY_SECONDS)
        self._lease = self._seconds("lease", _LEASE_SECONDS)
        self._store = _store(url, self._retry)

    @property
    def lease(self) -> float:
        """For how many seconds a driver holds a checkpoint that it does not renew its hold of."""
        return self._lease

    def _seconds(self, option: str, otherwise: float) -> float:
        text = self._own.get(option)
        try:
            found = otherwise if text is None else float(text)
        except ValueError:
            found = -1.0
        if not 0 < found <= _MOST_SECONDS:
            message = f"{option}={text} is not a number of seconds from 0 to {_MOST_SECONDS}"
            raise MachineError(Diagnostic("BAD_STORE_URL", message, parameters={"url": str(self.url)}))
        return found

    def put(self, key: str, content: bytes) -> None:
        """Puts a content there, in place of one that may be there."""
        self._ask(key, lambda store, path: store.put(path, content))

    def create(self, key: str, content: bytes) -> bool:
        """Puts a content there if there is none yet; whether it is this one that is there now."""
        from obstore.exceptions import AlreadyExistsError

        began, pause = time.monotonic(), _FIRST_PAUSE
        while True:
            try:
                self._ask(key, lambda store, path: store.put(path, content, mode="create", use_multipart=False))
                return True
            except AlreadyExistsError:
                # perhaps it was this very request, whose first answer was lost
                return self.get(key) == content
            except MachineError as error:
                if error.condition != "STORE_UNREACHABLE" or time.monotonic() - began > self._retry:
                    raise
            found = self.get(key)
            if found is not None:
                return found == content
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def get(self, key: str) -> bytes | None:
        """A content; None if there is none."""
        return self._ask(key, lambda store, path: bytes(store.get(path).bytes()), missing=True)

    def part(self, key: str, start: int, length: int) -> bytes | None:
        """Some bytes of a content, fewer where it ends before; None if there is none."""
        if not length:
            return b""
        try:
            return self._ask(key, lambda store, path: bytes(store.get_range(path, start=start, length=length)), True)
        except MachineError as error:
            if error.parameters.get("status") != _NOT_SO_LONG:
                raise
            return b""

    def head(self, key: str) -> StoredObject | None:
        """What is known of a content without reading it; None if there is none."""
        found = self._ask(key, lambda store, path: store.head(path), missing=True)
        return None if found is None else _found(found, key)

    def found(self, prefix: str) -> list[StoredObject]:
        """All that is there whose key begins with a prefix and a slash, in order."""
        asked = self._key(prefix)

        def listed(store: Any, path: str) -> list[StoredObject]:
            import obstore

            chunks = obstore.list(store, path or None, chunk_size=_MANY)
            return [_found(each, self._below(each["path"])) for chunk in chunks for each in chunk]

        found = self._ask(prefix, listed) or []
        return sorted((f for f in found if not asked or self._key(f.key).startswith(f"{asked}/")), key=lambda f: f.key)

    def delete(self, keys: Iterable[str]) -> None:
        """Removes contents; those that are not there are as good."""
        wanted = [self._key(key) for key in keys]
        for first in range(0, len(wanted), _MANY):
            some = wanted[first : first + _MANY]
            if self._deleted(some) is None:
                # one that is not there keeps some stores from removing the others
                for path in some:
                    self._deleted([path])

    def _deleted(self, paths: list[str]) -> bool | None:
        """Removes contents; None if one of them was not there."""

        def request(store: Any, _: str) -> bool:
            import obstore

            obstore.delete(store, paths)
            return True

        return self._ask("", request, missing=True)

    def _key(self, key: str) -> str:
        return "/".join(part for part in (self.url.prefix, key) if part)

    def _below(self, path: str) -> str:
        return path[len(self.url.prefix) + 1 :] if self.url.prefix else path

    def _ask(self, key: str, request: Callable[[Any, str], _Result], missing: bool = False) -> _Result | None:
        """What a request gives; ``missing``: None where there is nothing."""
        from obstore.exceptions import AlreadyExistsError, BaseError

        try:
            return request(self._store, self._key(key))
        except AlreadyExistsError:
            raise
        except FileNotFoundError as error:
            if missing and "NoSuchBucket" not in str(error):
                return None
            raise self._told(error) from None
        except (BaseError, OSError, ValueError) as error:
            raise self._told(error) from None

    def _told(self, error: Exception) -> MachineError:
        """What is wrong with a store, by name."""
        text = str(error)
        status = _STATUS.search(text)
        code = _CODE.search(text)
        told = [part for found in (status, code) if found is not None for part in found.groups() if part]
        what = " ".join(told) or text.strip().splitlines()[0].rpartition(" - ")[2]
        number = int(status[1]) if status else 0
        refused = type(error).__name__ in ("PermissionDeniedError", "UnauthenticatedError")
        if refused or number in _REFUSED or "redentials" in text:
            hint = "are the credentials in the environment those of the store, and may they read and write there?"
            return self._failed("STORE_REFUSED", f"{self.url} cannot be used: {what}", hint)
        if isinstance(error, FileNotFoundError) or number in _GONE:
            hint = "make the bucket first; a prefix in it need not be made"
            return self._failed("NO_BUCKET", f"{self.url} cannot be used: there is no such bucket ({what})", hint)
        hint = "with --checkpoint the same command goes on where it was"
        message = f"{self.url} did not answer for {self._retry:g} seconds: {what}"
        return self._failed("STORE_UNREACHABLE", message, hint, number)

    def _failed(self, condition: str, message: str, hint: str, status: int = 0) -> MachineError:
        parameters: dict[str, object] = {"url": str(self.url)} | ({"status": status} if status else {})
        return MachineError(Diagnostic(condition, message, hint=hint, parameters=parameters))


_LEASE_SECONDS = 15.0
_MOST_SECONDS = 3600


def bucket_at(url: BucketUrl) -> Bucket:
    """The contents below a place; connections are kept from one question to the next."""
    return _known(url.address, os.getpid())


@lru_cache(maxsize=64)
def _known(address: str, process: int) -> Bucket:  # noqa: ARG001 (a connection is of the process that made it)
    url = place_of(address)
    assert isinstance(url, BucketUrl)
    return Bucket(url)


def _store(url: BucketUrl, retry: float) -> ObjectStore:
    """The library's store of a bucket; keys are given to it whole."""
    try:
        from obstore.exceptions import BaseError, UnknownConfigurationKeyError
        from obstore.store import from_url
    except ImportError:
        message = f"{url} is in an object store, and what speaks to these is not installed"
        hint = "pip install continua[objectstore]"
        raise MachineError(Diagnostic("PACKAGE_MISSING", message, hint=hint, parameters={"url": str(url)})) from None
    options: dict[str, Any] = {key: value for key, value in url.options if key not in _OWN}
    plain = any(value.startswith("http://") for value in (*options.values(), *_endpoints()))
    backoff = {
        "init_backoff": timedelta(seconds=_FIRST_PAUSE),
        "max_backoff": timedelta(seconds=_LONGEST_PAUSE),
        "base": 2,
    }
    try:
        made: ObjectStore = from_url(
            f"{url.scheme}://{url.bucket}",
            config=options,
            client_options={"allow_http": True} if plain else None,
            retry_config={"max_retries": 1000, "retry_timeout": timedelta(seconds=retry), "backoff": backoff},
        )
        return made
    except UnknownConfigurationKeyError as error:
        key = next(iter(re.findall(r"'(\w+)'", str(error))), "")
        message = f"{key} is no option of {url.scheme}://"
        hint = did_you_mean(key, ("endpoint", "region", "virtual_hosted_style_request", *_OWN)) or "such as endpoint"
        raise MachineError(Diagnostic("BAD_STORE_URL", message, hint=hint, parameters={"url": str(url)})) from None
    except (BaseError, ValueError) as error:
        what = str(error).strip().splitlines()[0]
        message = f"{url} cannot be used: {what}"
        raise MachineError(Diagnostic("BAD_STORE_URL", message, parameters={"url": str(url)})) from None


def _endpoints() -> list[str]:
    """What the environment says of where stores are: those without encryption have to be allowed."""
    return [value for name, value in os.environ.items() if name.startswith(("AWS_ENDPOINT", "AZURE_", "GOOGLE_"))]


def _found(known: Any, key: str) -> StoredObject:
    version = json.dumps([known.get("e_tag"), known.get("version"), known["last_modified"].isoformat()])
    return StoredObject(key, int(known["size"]), version, known["last_modified"].timestamp())
