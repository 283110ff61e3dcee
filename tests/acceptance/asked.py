"""Every query that tests with ids ask of a session, with its rows and its answer: to be run in other ways.

The functions of the tests are called here and left as soon as they have asked enough. What they assert is not looked
at: that is done where they run as tests. Of a test with drawn examples those of a fixed seed are looked at, and the one
with the most rows is taken.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from unittest import SkipTest

import pyarrow as pa
import pytest
from hypothesis import is_hypothesis_test, reject

from continua.answers.query import Answer, Query, answers_of
from continua.catalog import RelationInfo, is_by_arrival
from continua.errors import ContinuaError
from continua.reference.semantics import Reference
from continua.runtime.fingerprints import Function
from continua.session import Session
from continua.sources.given import FileInput
from continua.sources.intervals import Source
from continua.windows.occurrences import Row
from tests.inserted import inserted_rows

MODULES = ("acceptance/test_*.py", "reference/test_answers.py")
"""Where tests that carry ids ask queries of sessions."""
MOST = 2
"""So many queries of one call of a test are taken."""
DRAWN = 4
"""So many queries of a test with drawn examples are looked at."""
CALLS = 4
"""So many parametrisations of a test are called, from first to last."""
ENDLESS = "test_cql_user_defined::test_C20_a_window_in_python_takes_a_length_of_time_over_timestamps"
"""The reference cannot write its answer down, and takes long to find that out."""
_ID = re.compile(r"test_([CPQSA]\d+)_")
_TESTS = Path(__file__).parent.parent


class EnoughError(SkipTest):
    """Leaves a test; hypothesis lets it through at once."""


@dataclass(frozen=True)
class Arrived:
    """What a source of a query has: rows that can be written to a file, a file, or rows that are a table already."""

    info: Source
    rows: tuple[Row, ...] = ()
    file: FileInput | None = None
    table: pa.Table | None = None


@dataclass(frozen=True)
class Asked:
    """A query as a test asked it, with what it reads and what the reference answers, or why it does not."""

    test: str
    query: Query
    functions: tuple[Function, ...]
    sources: tuple[Arrived, ...]
    first: int
    """The instant before which no source has rows."""
    answers: list[Answer] | ContinuaError

    @property
    def id(self) -> str:
        """The id that the test carries."""
        return id_of(self.test)


def functions() -> dict[str, Callable[..., object]]:
    """The functions of all tests that carry an id, by module and name."""
    found: dict[str, Callable[..., object]] = {}
    for path in sorted(path for pattern in MODULES for path in _TESTS.glob(pattern)):
        module = importlib.import_module(f"tests.{path.parent.name}.{path.stem}")
        found |= {f"{path.stem}::{name}": f for name, f in vars(module).items() if _ID.match(name)}
    del found[ENDLESS]
    return found


def id_of(test: str) -> str:
    """The id that a test carries."""
    found = _ID.search(test)
    assert found is not None
    return found[1]


def asked_by(test: str, function: Callable[..., object], folder: Path) -> list[Asked]:
    """The queries that a test asks."""
    drawn = is_hypothesis_test(function)
    found: list[Asked] = []
    calls = list(parametrisations(function))
    for number, values in enumerate(calls[:: -(-len(calls) // CALLS)]):
        mine = folder / f"{test.partition('::')[2]}-{number}"
        noted = _Drawn(test) if drawn else _Noted(test)
        with pytest.MonkeyPatch.context() as patch, suppress(EnoughError):
            patch.setattr(Session, "reference", noted.reference(Session.reference))
            if drawn:
                patch.setattr(function, "_hypothesis_internal_use_seed", number, raising=False)
            function(**values, **_fixtures(function, values, mine))
        found += noted.asked
    return found


def parametrisations(function: Callable[..., object]) -> Iterator[dict[str, object]]:
    """The arguments of each call that pytest would make."""
    choices: list[list[dict[str, object]]] = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            continue
        names, values = mark.args[:2]
        several = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
        single = isinstance(names, str) and len(several) == 1
        choices.append([dict(zip(several, [v] if single else v, strict=True)) for v in values])
    for chosen in product(*choices):
        yield {name: value for part in chosen for name, value in part.items()}


def _fixtures(function: Callable[..., object], values: Mapping[str, object], folder: Path) -> dict[str, object]:
    """The fixtures that a test takes; only folders are known."""
    wanted = {n for n in inspect.signature(function).parameters if n not in values}
    assert wanted <= {"tmp_path"}, (function, wanted)
    if wanted:
        folder.mkdir()
    return dict.fromkeys(wanted, folder)


Ask = Callable[[Session, Iterable[Query]], Mapping[str, Reference]]


@dataclass
class _Noted:
    """Takes down what is asked of sessions."""

    test: str
    asked: list[Asked] = field(default_factory=list)
    _seen: list[tuple[Query, int]] = field(default_factory=list)

    def reference(self, original: Ask) -> Ask:
        """What stands in for the function that answers."""

        def noting(session: Session, queries: Iterable[Query]) -> Mapping[str, Reference]:
            chosen = list(queries)
            try:
                found = original(session, chosen)
            except ContinuaError as error:
                self.asked += [taken(self.test, session, q, error) for q in chosen]
                raise
            for query in chosen:
                self.note(session, query, found[query.name])
            self.end()
            return found

        return noting

    def note(self, session: Session, query: Query, reference: Reference) -> None:
        """Takes a query down, unless it was asked before over as many rows."""
        if (query, reference.inputs.size) not in self._seen:
            self._seen.append((query, reference.inputs.size))
            self.asked.append(taken(self.test, session, query, reference))

    def end(self) -> None:
        """Leaves the test when it has asked enough."""
        if len(self.asked) >= MOST:
            raise EnoughError("it has asked enough")


@dataclass
class _Drawn(_Noted):
    """Takes down the largest of the queries that are asked; nothing is answered but that one."""

    _largest: int = -1

    def note(self, session: Session, query: Query, reference: Reference) -> None:
        """Takes a query down if it is the largest so far."""
        self._seen.append((query, reference.inputs.size))
        if reference.inputs.size > self._largest:
            self._largest = reference.inputs.size
            self.asked = [taken(self.test, session, query, reference)]

    def end(self) -> None:
        """Goes on with the next example."""
        if len(self._seen) >= DRAWN:
            raise EnoughError("it has asked enough")
        reject()


def taken(test: str, session: Session, query: Query, known: Reference | ContinuaError) -> Asked:
    """A query of a session as it is now, with its answer."""
    sources = tuple(_arrived(session, info) for info in query.sources)
    try:
        answers = known if isinstance(known, ContinuaError) else answers_of(query, known)
    except ContinuaError as error:
        answers = error
    first = min(0, session.catalog.settings.start_time)
    return Asked(test, query, tuple(session.functions), sources, first, answers)


def _arrived(session: Session, info: Source) -> Arrived:
    """Rows that were stamped when they came, and those of a definition, stay a table."""
    name = info.name.casefold()
    defined = isinstance(info, RelationInfo) and info.rows is not None
    if is_by_arrival(info) or defined:
        return Arrived(info, table=session.inputs.given([info]).tables.get(name))
    if info.source is not None:
        with suppress(ContinuaError):
            return Arrived(info, file=session.inputs._file_input(info))
    return Arrived(info, inserted_rows(session, info))
