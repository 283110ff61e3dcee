"""Who may do what: what scripts may call, read and write, by configuration of the process and not of the script.

A policy is a value, read from a TOML file or made in Python. It is asked in plain words (a module, a path, a host) and
answers with what is wrong, or with nothing. Who asks for a script is :mod:`continua.binding.permissions`; who lists the
files of a source asks again for each of them, since folders, globs and links lead further than what a script says.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from continua.errors import BindError, Diagnostic, did_you_mean, listing
from continua.objects.urls import BucketUrl, Place, is_known, is_url, place_of

VARIABLE = "CONTINUA_POLICY"
"""The variable of the environment that names the file of a process's policy."""
DATA = "<data>"
"""What stands for the folder of a session's data in lists of paths."""
STANDARD_INPUT = "-"
OWN_SOURCES = ("csv", "jsonl", "parquet", "orc", "text", "nexmark", "rate", "python", "kafka", "socket")
"""The sources that reach nothing but what the lists of paths, hosts and functions permit."""
OWN_SINKS = ("console", "csv", "json", "jsonl", "parquet", "kafka", "postgres")
_PATHS = ("read", "write", "checkpoints")
_MAGIC = re.compile(r"[*?\[]")
_PLAIN_TABLE = re.compile(r"\w+(\.\w+)*")
_STORES_OWN = ("retry", "lease")


@dataclass(frozen=True, slots=True)
class Policy:
    """What scripts may do. A list that is None permits everything of its kind; an empty one permits nothing."""

    functions: tuple[str, ...] | None = None
    """Modules whose functions may be called; ``module.*`` with the modules in it; ``module:name`` for one function."""
    sources: tuple[str, ...] | None = None
    """Formats that may be read, such as ``csv``; ``spark:jdbc`` is what Spark reads by that name."""
    sinks: tuple[str, ...] | None = None
    """Formats that may be written, in the same way."""
    read: tuple[str, ...] | None = None
    """Files, folders and URLs that may be read, with all that is in them; ``-`` is standard input."""
    write: tuple[str, ...] | None = None
    """The same of what may be written."""
    checkpoints: tuple[str, ...] | None = None
    """Where state may be kept."""
    hosts: tuple[str, ...] | None = None
    """Machines with their ports, such as ``broker-*:9092``, that may be connected to."""
    secrets: tuple[str, ...] | None = None
    """Names, such as ``SHOP_*``, for which secret('NAME') may stand."""
    tables: tuple[str, ...] | None = None
    """Tables of Spark, such as ``shop.*``, that may be read and written."""
    data: Path = Path()
    """The folder that relative paths of scripts are in."""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that it does not permit."""
        return any(getattr(self, f.name) is not None for f in fields(self) if f.name != "data")

    def over(self, data: Path) -> Policy:
        """The policy of a session whose data are in a folder."""
        return replace(self, data=data)

    # Code.

    def function(self, path: str) -> Diagnostic | None:
        """What is wrong with calling ``module:name``, before anything is imported."""
        module, _, name = path.partition(":")
        if self.functions is None or any(_holds(entry, module, name) for entry in self.functions):
            return None
        return self._refused(
            "FUNCTION_NOT_PERMITTED", f"{path} may not be called", "functions", self.functions, {"function": path}
        )

    def imported(self, path: str, found: object) -> Diagnostic | None:
        """What is wrong with what was found under ``module:name``: a module also knows what it has imported itself."""
        if self.functions is None or path in self.functions:
            return None
        home = getattr(found, "__module__", None) or getattr(type(found), "__module__", "")
        if any(_holds(entry, str(home), "") for entry in self.functions):
            return None
        message = f"{path} may not be called: it is a function of {home}"
        return self._refused("FUNCTION_NOT_PERMITTED", message, "functions", self.functions, {"function": path})

    # Formats.

    def source(self, name: str) -> Diagnostic | None:
        """What is wrong with reading a format."""
        return self._format(name, "sources", self.sources, OWN_SOURCES, "read")

    def sink(self, name: str) -> Diagnostic | None:
        """What is wrong with writing a format."""
        return self._format(name, "sinks", self.sinks, OWN_SINKS, "written")

    def _format(
        self, name: str, kind: str, permitted: tuple[str, ...] | None, own: tuple[str, ...], done: str
    ) -> Diagnostic | None:
        if permitted is None:
            # what Spark reaches by its own formats and tables is more than the other lists can tell
            if not self.is_limited or name in own or (name == "table" and self.tables is not None):
                return None
            permitted = own
        if name.casefold() in (entry.casefold() for entry in permitted):
            return None
        return self._refused("FORMAT_NOT_PERMITTED", f"{name} may not be {done}", kind, permitted, {"format": name})

    # Places.

    def reads(self, path: str) -> Diagnostic | None:
        """What is wrong with reading a path of a script, be it a file, a folder, a glob or a URL."""
        if path == STANDARD_INPUT and self.read is not None:
            return None if STANDARD_INPUT in self.read else self._no_place(path, "read", "read")
        return self._place(path, "read", "read")

    def reads_file(self, path: str) -> Diagnostic | None:
        """The same of a file that was found, wherever links lead, and of an object."""
        if self.read is not None and is_url(path):
            return self.reads(path)
        if self.read is None or _within(Path(path).resolve(), self._folders(self.read)):
            return None
        return self._no_place(path, "read", "read")

    def writes(self, path: str) -> Diagnostic | None:
        """What is wrong with writing to a path of a script."""
        return self._place(path, "write", "written")

    def keeps(self, place: Place) -> Diagnostic | None:
        """What is wrong with a checkpoint at a place."""
        path = place.address if isinstance(place, BucketUrl) else str(place.absolute())
        return self._place(path, "checkpoints", "a checkpoint")

    def _place(self, path: str, kind: str, done: str) -> Diagnostic | None:
        permitted: tuple[str, ...] | None = getattr(self, kind)
        if permitted is None:
            return None
        place = place_of(path) if is_url(path) and is_known(path) else Path(path)
        if isinstance(place, BucketUrl):
            fits = _in_bucket(place, permitted)
        elif is_url(path) and not is_known(path):
            fits = False
        else:
            fits = _stays(place) and _within((self.data / _fixed(place)).resolve(), self._folders(permitted))
        return None if fits else self._no_place(path, kind, done)

    def _no_place(self, path: str, kind: str, done: str) -> Diagnostic:
        message = f"{path} may not be {done}"
        return self._refused("PATH_NOT_PERMITTED", message, kind, getattr(self, kind), {"path": path})

    def _folders(self, permitted: Iterable[str]) -> list[Path]:
        """The folders and files of a list of places, as they are on this machine."""
        found = (self.data if entry == DATA else place_of(entry) for entry in permitted if entry != STANDARD_INPUT)
        return [place.resolve() for place in found if isinstance(place, Path)]

    # What is elsewhere.

    def host(self, host: str, port: int | str) -> Diagnostic | None:
        """What is wrong with a connection."""
        address = f"{host}:{port}"
        return self._named(address, "hosts", "HOST_NOT_PERMITTED", f"{address} may not be connected to", "host")

    def secret(self, name: str) -> Diagnostic | None:
        """What is wrong with a secret, be it in the environment or in a file."""
        return self._named(name, "secrets", "SECRET_NOT_PERMITTED", f"secret('{name}') may not be used", "secret")

    def table(self, name: str) -> Diagnostic | None:
        """What is wrong with a table of Spark. Spark takes some names for files, such as csv.`/path`."""
        if self.tables is None and not self.is_limited:
            return None
        message = f"the table {name} may not be used"
        if _PLAIN_TABLE.fullmatch(name) is None:
            return self._refused("TABLE_NOT_PERMITTED", message, "tables", self.tables or (), {"table": name})
        return self._named(name, "tables", "TABLE_NOT_PERMITTED", message, "table")

    def _named(self, name: str, kind: str, condition: str, message: str, parameter: str) -> Diagnostic | None:
        permitted: tuple[str, ...] | None = getattr(self, kind)
        if permitted is None or any(fnmatchcase(name.casefold(), entry.casefold()) for entry in permitted):
            return None
        return self._refused(condition, message, kind, permitted, {parameter: name})

    def _refused(
        self, condition: str, message: str, kind: str, permitted: Iterable[str], parameters: Mapping[str, object]
    ) -> Diagnostic:
        told = listing([*permitted])
        hint = f"the policy of this process permits {told}" if told else f"the policy of this process permits no {kind}"
        return Diagnostic(condition, message, hint=hint, parameters={**parameters, "policy": kind})


ANYTHING = Policy()
"""Everything is permitted: the script is the user's own."""
NOTHING = Policy((), OWN_SOURCES, OWN_SINKS, (), (), (), (), (), ())
"""Nothing is permitted but what is generated, inserted and shown."""
_LISTS = tuple(f.name for f in fields(Policy) if f.name != "data")


def _holds(entry: str, module: str, name: str) -> bool:
    """Whether an entry of a list of functions is for a function of a module."""
    if ":" in entry:
        return entry == f"{module}:{name}"
    if entry.endswith(".*"):
        return module == entry[:-2] or module.startswith(entry[:-1])
    return module == entry


def _fixed(path: Path) -> Path:
    """The part of a path before its first wildcard. A file may really have such a name; then it is looked for above."""
    kept: list[str] = []
    for part in path.parts:
        if _MAGIC.search(part):
            break
        kept.append(part)
    return Path(*kept)


def _stays(path: Path) -> bool:
    """Whether a path does not go up again behind a wildcard, from wherever that leads."""
    return ".." not in path.parts[len(_fixed(path).parts) :]


def _within(path: Path, permitted: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in permitted)


def _in_bucket(url: BucketUrl, permitted: Iterable[str]) -> bool:
    """Whether a URL is below one that is permitted, and of the same store: its options are the same ones."""
    parts = PurePosixPath(url.prefix).parts
    if any(unquote(part) in (".", "..") for part in url.prefix.split("/")):
        return False
    for entry in permitted:
        known = place_of(entry) if is_url(entry) else None
        if not isinstance(known, BucketUrl) or (known.scheme, known.bucket) != (url.scheme, url.bucket):
            continue
        above = PurePosixPath(known.prefix).parts
        if parts[: len(above)] == above and _of_store(url) == _of_store(known):
            return True
    return False


def _of_store(url: BucketUrl) -> frozenset[tuple[str, str]]:
    return frozenset((key, value) for key, value in url.options if key not in _STORES_OWN)


def refuse(found: Diagnostic | None) -> None:
    """Raises what is wrong, if anything is."""
    if found is not None:
        raise BindError(found)


def read_policy(path: Path) -> Policy:
    """The policy of a file. What it does not name is not permitted, but for formats that other lists limit."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _bad(path, f"it cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _bad(path, f"it is no TOML: {error}") from None
    lists: dict[str, Any] = dict.fromkeys(_LISTS, ())
    lists |= {"sources": None, "sinks": None}
    for name, value in told.items():
        if name not in _LISTS:
            raise _bad(path, f"there is no list {name}", did_you_mean(name, _LISTS) or f"there are {listing(_LISTS)}")
        lists[name] = _entries(path, name, value)
    return Policy(**lists)


def _entries(path: Path, name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise _bad(path, f"{name} is no list of texts", f'{name} = ["...", "..."]')
    if name not in _PATHS:
        return tuple(value)
    # what a policy permits must not depend on where a process was started
    folder = path.absolute().parent
    for entry in filter(is_url, value):
        if not is_known(entry):
            raise _bad(path, f"no store is known for {entry}")
    return tuple(e if e in (DATA, STANDARD_INPUT) or is_url(e) else str(folder / e) for e in value)


def _bad(path: Path, reason: str, hint: str | None = None) -> BindError:
    message = f"the policy {path} cannot be used: {reason}"
    return BindError(Diagnostic("BAD_POLICY", message, hint=hint, parameters={"path": str(path)}))


def policy_of_process() -> Policy:
    """What the environment says of scripts: the file that it names, or everything is permitted."""
    named = os.environ.get(VARIABLE)
    return read_policy(Path(named)) if named else ANYTHING
