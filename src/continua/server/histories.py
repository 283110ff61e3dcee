"""What a query has held over time, in short: when it changed, how many rows it had, in what range its numbers were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from continua.algebra.base import Kind
from continua.answers.answer_columns import Part, epoch_part
from continua.answers.query import Answer, Query
from continua.instants import asked_instant
from continua.runs.live_run import LiveRun
from continua.server.written import closed
from continua.sources.intervals import NEVER
from continua.types import Value
from continua.windows.occurrences import Row

CHANGES = 2_000
"""About so many of the latest changes are looked at."""
WIDE = 300
"""Of contents that had more rows only their number is told."""
LATEST = 200
"""So many changes are told one by one."""


@dataclass
class History:
    """The instants at which something changed, and for each of them what the content was like."""

    query: Query
    begin: int | None = None
    until: int | None = None
    whole: bool = True
    """Whether these are all changes that are kept."""
    instants: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    series: dict[str, tuple[list[float | None], list[float | None]]] = field(default_factory=dict)
    """By column of numbers the least and the greatest of them."""
    latest: list[Answer] = field(default_factory=list)


def history_of(run: LiveRun, name: str) -> History:
    """The history of a live query, its latest part where it is long."""
    with run.live.lock:
        query = run.running(name)
        until = closed(run)
        history = History(query, until=until)
        if until is None:
            return history
        answers, begun, history.whole = _latest_answers(run, query)
        horizon = run.engine.yielded.past.horizon.until
        first = answers[0].instant if answers else until
        kept = max(horizon, query.start) if horizon > NEVER else query.start
        history.begin = min(max(kept, first) if history.whole else kept, until)
        before: Sequence[Row] = ()
        if query.kind is Kind.RELATION and answers and begun is not None and not history.whole:
            before = run.content(name, asked_instant(begun, query.domain))
    _follow(history, answers, before)
    return history


def _latest_answers(run: LiveRun, query: Query) -> tuple[list[Answer], int | None, bool]:
    """The latest answers, the instant before them, and whether there are no others."""
    first = max(run.since(query.name), run.engine.yielded.past.horizon.epoch + 1)
    last, epochs = run.engine.epoch_number, 4
    while True:
        begin = max(first, last - epochs + 1)
        table = run.engine.results(query.name, begin, last)
        answers = list(_one_by_one(epoch_part(query, table, run.engine.until)))
        if begin <= first or len(answers) >= CHANGES:
            break
        epochs *= 4
    whole = begin <= first and first <= run.since(query.name)
    if len(answers) > CHANGES:
        cut = answers[-CHANGES].instant
        answers, whole = [a for a in answers if a.instant >= cut], False
    return answers, answers[0].instant - 1 if answers else None, whole


def _one_by_one(part: Part) -> Sequence[Answer]:
    return part if isinstance(part, list) else part.answers()


def _follow(history: History, answers: Sequence[Answer], before: Iterable[Row]) -> None:
    """Goes through the changes, and writes down what the content is like at each of them."""
    query = history.query
    content: Counter[Row] = Counter(before)
    numbers = [(place, n) for place, (n, of) in enumerate(query.types.items()) if of.is_numeric]
    history.series = {name: ([], []) for _, name in numbers}
    is_relation = query.kind is Kind.RELATION
    for instant, found in groupby(answers, key=lambda a: a.instant):
        if history.until is not None and instant > history.until:
            break
        now = list(found)
        rows: Iterable[Row] = [a.row for a in now]
        if is_relation:
            for answer in now:
                content[answer.row] += 1 if answer.op == "+" else -1
            content = +content
            rows = content
        size = content.total() if is_relation else len(now)
        history.instants.append(instant)
        history.counts.append(size)
        for place, name in numbers:
            values = [_number(row[place]) for row in rows if row[place] is not None] if size <= WIDE else []
            least, greatest = history.series[name]
            least.append(min(values, default=None))
            greatest.append(max(values, default=None))
    history.latest = [a for a in answers if history.until is None or a.instant <= history.until][-LATEST:]


def _number(value: Value) -> float:
    return float(value)  # type: ignore[arg-type]
