"""Which files a path means: a file, the files of a folder, or the matches of a glob."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from continua.errors import Diagnostic, SourceError, did_you_mean
from continua.objects.urls import BucketUrl, is_url, place_of
from continua.policy import STANDARD_INPUT, Policy
from continua.sources.compression import plain_name
from continua.sources.source_spec import SourceSpec
from continua.sources.stored_files import object_at, objects_below
from continua.sources.valued_folders import is_part

SUFFIXES: dict[str, tuple[str, ...]] = {
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "orc": (".orc",),
    "text": (".txt", ".log", ".text"),
}
"""The endings by which the files of a format are known in a folder."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to open, and its name as messages and rows tell it."""

    path: str
    shown: str


class NoFilesYetError(SourceError):
    """There is no file, but a place where there may be some later."""


def find_files(spec: SourceSpec, base: Path, policy: Policy) -> list[SourceFile]:
    """The files of a source in the order in which they are read.

    Raises SourceError when there are none, and where one is, perhaps by links, what a policy does not let be read.
    """
    found = _found(spec, base)
    refused = next((r for file in found if (r := policy.reads_file(file.path)) is not None), None)
    if refused is not None and spec.path != STANDARD_INPUT:
        raise SourceError(refused)
    return found


def _found(spec: SourceSpec, base: Path) -> list[SourceFile]:
    if spec.path == STANDARD_INPUT:
        return [SourceFile(_standard_input(), "<stdin>")]
    if is_url(spec.path):
        place = place_of(spec.path)
        if isinstance(place, BucketUrl):
            return _objects(spec, place)
        spec = replace(spec, path=str(place))
    target = base / spec.path
    shown = Path(spec.path)
    if target.is_dir():
        names = sorted(_within(target, spec.format))
        if not names:
            suffixes = " and ".join(SUFFIXES[spec.format])
            hint = f"of a folder, the files that end in {suffixes} are read"
            raise NoFilesYetError(_not_found(spec, f"the folder {spec.path} has no {spec.format} files", hint))
        return [SourceFile(str(target / name), (shown / name).as_posix()) for name in names]
    if target.exists():
        return [SourceFile(str(target), shown.as_posix())]
    hint = _hint(target, base)
    if not glob.has_magic(spec.path):
        raise SourceError(_not_found(spec, f"there is no file {spec.path}", hint))
    found = _matches(spec.path, base)
    if not found:
        raise NoFilesYetError(_not_found(spec, f"no file matches {spec.path}", hint))
    return [SourceFile(str(base / match), Path(match).as_posix()) for match in found]


def _objects(spec: SourceSpec, place: BucketUrl) -> list[SourceFile]:
    """The objects that a URL means: one, those of a folder, or the matches of a glob."""
    if not glob.has_magic(place.prefix):
        if object_at(place):
            return [SourceFile(place.address, str(place))]
        names = [(name, address) for name, address in objects_below(place) if _is_within(name, spec.format)]
        if not names:
            suffixes = " and ".join(SUFFIXES[spec.format])
            hint = f"below a prefix, the objects that end in {suffixes} are read"
            raise NoFilesYetError(_not_found(spec, f"there is no object {place}, and none below it", hint))
        return [SourceFile(address, f"{place}/{name}") for name, address in sorted(names)]
    parts = place.prefix.split("/")
    fixed = next(number for number, part in enumerate(parts) if glob.has_magic(part))
    above = replace(place, prefix="/".join(parts[:fixed]))
    below = [(name.split("/"), address) for name, address in objects_below(above)]
    found = sorted((f"{above}/{'/'.join(name)}", address) for name, address in below if _fits(name, parts[fixed:]))
    if not found:
        raise NoFilesYetError(_not_found(spec, f"no object matches {place}", f"objects are looked for below {above}"))
    return [SourceFile(address, shown) for shown, address in found]


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a name matches a glob, part by part: two stars are any parts, and hidden ones have to be named."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and _fits(parts, pattern[1:]):
        return True
    if not parts or (parts[0].startswith((".", "_")) and not pattern[0].startswith(parts[0][0])):
        return False
    if pattern[0] == "**":
        return _fits(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _is_within(name: str, format_: str) -> bool:
    """Whether an object is of a format, and below a prefix with nothing between them but names that are values."""
    *folders, last = name.split("/")
    return all(map(is_part, folders)) and _belongs(last, format_)


def _standard_input() -> str:
    """Standard input; where it is a file, that file, since other processes have a standard input of their own."""
    path = Path("/dev/stdin")
    found = path.resolve()
    return str(found if found.is_file() else path)


def _within(folder: Path, format_: str, below: str = "") -> list[str]:
    """The files of a format in a folder, and in the folders within it whose names are values."""
    found: list[str] = []
    for path in folder.iterdir():
        if path.is_dir() and is_part(path.name):
            found += _within(path, format_, f"{below}{path.name}/")
        elif path.is_file() and _belongs(path.name, format_):
            found.append(below + path.name)
    return found


def _belongs(name: str, format_: str) -> bool:
    return not name.startswith((".", "_")) and plain_name(name).casefold().endswith(SUFFIXES[format_])


def _matches(pattern: str, base: Path) -> list[str]:
    own = "_" if Path(pattern).name.startswith("_") else ""
    # Path.glob takes no absolute pattern and shows hidden files.
    found = glob.iglob(pattern, root_dir=base, recursive=True)  # noqa: PTH207
    return sorted(m for m in found if (base / m).is_file() and (own or not Path(m).name.startswith("_")))


def _not_found(spec: SourceSpec, message: str, hint: str) -> Diagnostic:
    parameters: dict[str, object] = {"source": spec.name, "path": spec.path}
    return Diagnostic("SOURCE_NOT_FOUND", message, hint=hint, parameters=parameters)


def _hint(target: Path, base: Path) -> str:
    """What the first part of the path that does not exist may have been meant to be."""
    missing = target
    while not missing.parent.exists() and missing.parent != missing:
        missing = missing.parent
    try:
        siblings = sorted(p.name for p in missing.parent.iterdir() if not p.name.startswith("."))
    except OSError:
        siblings = []
    return did_you_mean(missing.name, siblings) or f"paths are relative to {base}"
