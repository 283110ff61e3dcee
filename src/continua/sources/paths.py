"""Which files a path means: a file, the files of a folder, or the matches of a glob."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path

from continua.errors import Diagnostic, SourceError, did_you_mean
from continua.policy import STANDARD_INPUT, Policy
from continua.sources.compression import plain_name
from continua.sources.source_spec import SourceSpec
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

    path: Path
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
    target = base / spec.path
    shown = Path(spec.path)
    if target.is_dir():
        names = sorted(_within(target, spec.format))
        if not names:
            suffixes = " and ".join(SUFFIXES[spec.format])
            hint = f"of a folder, the files that end in {suffixes} are read"
            raise NoFilesYetError(_not_found(spec, f"the folder {spec.path} has no {spec.format} files", hint))
        return [SourceFile(target / name, (shown / name).as_posix()) for name in names]
    if target.exists():
        return [SourceFile(target, shown.as_posix())]
    hint = _hint(target, base)
    if not glob.has_magic(spec.path):
        raise SourceError(_not_found(spec, f"there is no file {spec.path}", hint))
    found = _matches(spec.path, base)
    if not found:
        raise NoFilesYetError(_not_found(spec, f"no file matches {spec.path}", hint))
    return [SourceFile(base / match, Path(match).as_posix()) for match in found]


def _standard_input() -> Path:
    """Standard input; where it is a file, that file, since other processes have a standard input of their own."""
    path = Path("/dev/stdin")
    found = path.resolve()
    return found if found.is_file() else path


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
