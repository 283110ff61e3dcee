"""Live queries on a screen: what each holds, what changed last, and how the run goes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live as Screen
from rich.table import Table
from rich.text import Text

from continua.algebra.base import Kind
from continua.cli.epoch_answers import EpochAnswers
from continua.cli.live_content import Cells, LiveContent
from continua.cli.table_output import OP_STYLES
from continua.cli.tables import clean
from continua.explain.show_queries import show_heartbeat, show_lag
from continua.runs.live_run import LiveRun
from continua.sources.intervals import NEVER

_SPAN = 5.0
"""Rates are those of so many seconds."""
_FEWEST = 3
"""So many rows of each query are shown at least."""
_PRINTED = 10
"""So many are shown where there is no terminal."""


class LiveView:
    """Keeps a screen up to date."""

    def __init__(self, answers: Sequence[EpochAnswers], console: Console, title: str = "") -> None:
        """``answers``: those of each group of queries."""
        self._answers = answers
        self._runs = [some.run for some in answers]
        self._console = console
        self._title = title
        self._contents: dict[str, LiveContent] = {}
        self._in_run: dict[str, LiveRun] = {}
        for some in answers:
            with some.run.live.lock:
                self._contents |= {n: LiveContent(q, _held(some.run, n)) for n, q in some.queries.items()}
                self._in_run |= dict.fromkeys(some.queries, some.run)
                some.skip()
        self.rows: int | None = None
        """After so many rows there is enough to see."""
        self._began = time.monotonic()
        self._marks: deque[tuple[float, dict[str, int], dict[str, int]]] = deque()
        self._screen = Screen(console=console, screen=console.is_terminal, auto_refresh=False)

    def __enter__(self) -> LiveView:
        if self._console.is_terminal:
            self._screen.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._screen.stop()
        if kind is None:
            for answers in self._answers:
                self._take(answers)
            self._console.print(self._drawn())

    @property
    def changed(self) -> int:
        """How many changes there were since it shows them."""
        return sum(content.changed for content in self._contents.values())

    @property
    def is_enough(self) -> bool:
        """Whether so many rows have come as were asked for."""
        return self.rows is not None and sum(self._rows().values()) >= self.rows

    def _rows(self) -> dict[str, int]:
        """How many rows of sources have come: where several groups read one, as the first of them has them."""
        return {name: count for run in reversed(self._runs) for name, count in dict(run.totals.rows).items()}

    def show(self, answers: EpochAnswers) -> None:
        """Draws the screen anew, with what is new of a group."""
        self._take(answers)
        if self._console.is_terminal:
            self._screen.update(self._drawn(), refresh=True)

    def _take(self, answers: EpochAnswers) -> None:
        """Takes in what has happened since."""
        parts, _ = answers.next()
        for name, part in parts.items():
            self._contents[name].add(part)
        answers.done()
        changed = {name: content.changed for name, content in self._contents.items()}
        self._marks.append((time.monotonic(), self._rows(), changed))
        while len(self._marks) > 2 and self._marks[-1][0] - self._marks[1][0] > _SPAN:
            self._marks.popleft()

    def _rate(self, name: str, place: int) -> float:
        """How many a second, of late: rows of a source or changes of a query."""
        first, last = self._marks[0], self._marks[-1]
        before, now = (first[1], last[1]) if place == 1 else (first[2], last[2])
        return (now.get(name, 0) - before.get(name, 0)) / max(last[0] - first[0], 1e-9)

    # What is drawn.

    def _drawn(self) -> RenderableType:
        room = self._console.height - sum(len(run.known) + 6 for run in self._runs)
        each = max((room // max(len(self._contents), 1)) - 4, _FEWEST) if self._console.is_terminal else _PRINTED
        parts: list[RenderableType] = []
        for run in self._runs:
            parts += [self._summary(run), self._sources(run)]
            parts += [self._query(content, each) for n, content in self._contents.items() if self._in_run[n] is run]
        return Group(*parts)

    def _summary(self, run: LiveRun) -> Text:
        totals = run.totals
        by_source = dict(totals.rows)
        rows, rate = sum(by_source.values()), sum(self._rate(name, 1) for name in by_source)
        parts = [
            f"{_length(time.monotonic() - self._began)}",
            f"epoch {run.engine.epoch_number:,}",
            f"{rows:,} rows, {rate:,.0f}/s",
            f"{totals.last_seconds * 1000:,.0f} ms an epoch",
            f"state {_size(totals.state_bytes)}",
        ]
        title = f"\ngroup {run.group}" if run.group else self._title or "continua"
        return Text.assemble((title, "bold cyan"), "  ", "  ·  ".join(parts))

    def _sources(self, run: LiveRun) -> Table:
        table = _table("source", ">rows", ">rows/s", "complete up to", ">lag", ">late")
        until = run.engine.until
        lags = run.live.lag(until)
        for name, info in sorted(run.known.items()):
            lag = lags.get(name)
            table.add_row(
                info.name,
                f"{run.totals.rows[name]:,}",
                f"{self._rate(name, 1):,.0f}",
                show_heartbeat(until, info.domain),
                "" if lag is None else show_lag(lag, info.domain),
                f"{run.totals.late[name]:,}",
            )
        return table

    def _query(self, content: LiveContent, rows: int) -> RenderableType:
        query = content.query
        rate = f"{self._rate(query.name, 2):,.1f} changes/s"
        relation = query.kind is Kind.RELATION
        held = f"{content.size:,} rows" if relation else query.kind.value
        took = f"{self._in_run[query.name].totals.last_query_seconds.get(query.name, 0.0) * 1000:,.1f} ms an epoch"
        title = Text.assemble("\n", (query.name, "bold"), f"  {held}  ·  {rate}  ·  {took}", style="")
        if relation:
            table = _table(*query.columns)
            for cells in content.first(rows):
                table.add_row(*map(_cell, cells))
        else:
            table = _changes(content, list(content.changes)[-rows:])
        latest = Text("")
        if relation and content.changes:
            when, op, cells = content.changes[-1]
            latest = Text.assemble(("  last: ", "dim"), (f"{op} ", OP_STYLES.get(op, "")), f"{when} {_line(cells)}")
        return Group(title, table, latest) if relation else Group(title, table)


def _held(run: LiveRun, name: str) -> list[tuple[object, ...]]:
    """What a query holds at the beginning: something where the run goes on from a checkpoint."""
    if run.queries[name].kind is not Kind.RELATION or run.engine.until <= NEVER:
        return []
    return list(run.content(name))


def _changes(content: LiveContent, changes: list[tuple[str, str, Cells]]) -> Table:
    """The latest elements of a stream, or changes, the newest at the end."""
    table = _table("t", "", *content.query.columns)
    for when, op, cells in changes:
        table.add_row(when, Text(op, style=OP_STYLES.get(op, "")), *map(_cell, cells))
    return table


def _table(*columns: str) -> Table:
    """A table whose columns that begin with > stand at the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for column in columns:
        right = column.startswith(">")
        table.add_column(clean(column.removeprefix(">")), justify="right" if right else "left", no_wrap=True)
    return table


def _cell(cell: str | None) -> Text:
    return Text("NULL", style="dim") if cell is None else Text(clean(cell))


def _line(cells: Cells) -> str:
    return ", ".join("NULL" if cell is None else clean(cell) for cell in cells)


def _length(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _size(count: int) -> str:
    return f"{count / 2**20:,.1f} MB" if count >= 1 << 20 else f"{count / 2**10:,.0f} KB"
