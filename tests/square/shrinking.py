"""From a difference to a small script that shows it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from continua.errors import ContinuaError
from tests.square.checking import Engine, by_engine, compare
from tests.square.graphs import Cut
from tests.square.worlds import Row, Rows, World


@dataclass(frozen=True)
class Repro:
    """One query over few rows, and what is wrong with its answer."""

    definitions: str
    rows: Rows
    text: str
    cut: Cut
    what: str

    @property
    def script(self) -> str:
        """A Python script that fails as long as the difference is there."""
        rows = "".join(f"    {name!r}: {content!r},\n" for name, content in self.rows.items() if content)
        return (
            "import datetime\n"
            "from decimal import Decimal\n"
            "from tests.square.checking import agree\n"
            "from tests.square.graphs import Cut\n\n"
            f'agree(\n"""{self.definitions}""",\n{{\n{rows}}},\n"""{self.text}""",\n{self.cut!r},\n)\n'
        )


def shrunk(world: World, text: str, cut: Cut, seconds: float = 30, engine: Engine = by_engine) -> Repro | None:
    """The query alone, in fewer epochs and partitions, over fewer rows; None if it agrees when it is alone."""
    search = _Search(world, text, time.monotonic() + seconds, engine)
    what = search.differs(world.rows, cut)
    if what is None:
        return None
    plain = replace(cut, reopened=False, collecting=False, piece_rows=None)
    for simpler in (Cut(None, 1), Cut(None, cut.partitions), Cut(cut.batch_rows, 1), plain, replace(cut, partitions=1)):
        found = search.differs(world.rows, simpler)
        if found is not None:
            cut, what = simpler, found
            break
    rows, what = search.fewer(world.rows, cut, what)
    return Repro(world.script, rows, text, cut, what)


class _Search:
    """Tries rows until there is no time left."""

    def __init__(self, world: World, text: str, until: float, engine: Engine) -> None:
        self._script = world.script
        self._text = text
        self._until = until
        self._engine = engine

    def differs(self, rows: Rows, cut: Cut) -> str | None:
        """What differs, if anything does."""
        if time.monotonic() > self._until:
            return None
        try:
            return compare(self._script, rows, self._text, cut, self._engine)
        except ContinuaError:
            return None

    def fewer(self, rows: Rows, cut: Cut, what: str) -> tuple[Rows, str]:
        """Removes whole inputs, then halves, then single rows, as long as the difference stays."""
        size = max(map(len, rows.values()), default=0)
        while size:
            for smaller in _without(rows, size):
                found = self.differs(smaller, cut)
                if found is not None:
                    rows, what = smaller, found
                    break
            else:
                size //= 2
        return rows, what


def _without(rows: Rows, size: int) -> Iterator[Rows]:
    """The rows without a run of so many of one input."""
    for name, content in rows.items():
        for start in _starts(content, size):
            yield {**rows, name: content[:start] + content[start + size :]}


def _starts(content: list[Row], size: int) -> Iterable[int]:
    return range(0, len(content), size) if content else ()
