"""Sinks: where the answers of a query go besides the screen, epoch by epoch and each exactly once.

An epoch's answers are one file, named by the epoch and put there whole. An epoch that is run again after a crash finds
its file and leaves it.
"""

from __future__ import annotations

import json
import shutil
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from continua.algebra.plan import Kind
from continua.answers import Query, lasting
from continua.column_texts import json_objects
from continua.errors import Diagnostic, SourceError, did_you_mean
from continua.instants import TimeDomain, show_timestamp
from continua.kernels.jit import Int64s
from continua.lang.statements import SourceCall
from continua.physical.nodes import START, WEIGHT
from continua.reference.elements import Row
from continua.results import answers_from
from continua.runtime.files import make_folder, sync
from continua.sqltext.values import arrow_type, to_arrow

FORMATS = ("parquet", "csv", "json")
CONSOLE = "console"


class Sink(ABC):
    """Takes the answers of finished epochs."""

    def start(self) -> None:  # noqa: B027 (most have nothing to do)
        """Called before a query's first epoch: what is there already is not of this run."""

    def forget_staged(self) -> None:  # noqa: B027 (most have nothing to do)
        """Removes what tasks have written for an epoch that will never be finished."""

    @abstractmethod
    def write(self, epoch: int, answers: pa.Table) -> None:
        """Takes what an epoch yields: the instants ``t``, ``op`` for relations, and the query's columns."""


@dataclass
class _Delivery:
    """A sink of a query, and the epoch whose answers it gets next."""

    query: str
    sink: Sink
    following: int


class Deliveries:
    """The sinks of live queries: each gets the answers of every epoch, in order."""

    def __init__(self, answers: Callable[[str, int], pa.Table | None]) -> None:
        """``answers``: those of a query in an epoch."""
        self._answers = answers
        self._deliveries: list[_Delivery] = []

    def add(self, query: str, sink: Sink, first: int, last: int) -> None:
        """A sink that gets all from one epoch on; those up to the last that is finished now."""
        delivery = _Delivery(query, sink, first)
        self._deliver(delivery, last)
        self._deliveries.append(delivery)

    def drop(self, query: str) -> None:
        """A query has left."""
        self._deliveries = [d for d in self._deliveries if d.query != query]

    def up_to(self, epoch: int) -> None:
        """Gives every sink what it has not: one that fails does not keep the others from it, and gets it next time."""
        with ExitStack() as all_of_them:
            for delivery in reversed(self._deliveries):
                all_of_them.callback(self._deliver, delivery, epoch)

    def _deliver(self, to: _Delivery, last: int) -> None:
        while to.following <= last:
            answers = self._answers(to.query, to.following)
            if answers is not None:
                to.sink.write(to.following, answers)
            to.following += 1


@dataclass(frozen=True)
class FolderSink(Sink):
    """A folder with files for each epoch; ``lasting``: a file is on the disk itself before it has its name."""

    format: str
    folder: Path
    lasting: bool = True

    def start(self) -> None:
        """Refuses a folder with the answers of another run, and removes what one that failed has left unpublished."""
        if any(self.folder.glob(f"epoch-*.{self.format}")):
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"{self.folder} has the answers of another run",
                    hint="remove them, name another folder, or go on with the --checkpoint of that run",
                    parameters={"folder": str(self.folder)},
                )
            )
        self.forget_staged()

    def forget_staged(self) -> None:
        """Removes files that were not published."""
        shutil.rmtree(self.folder / _STAGED, ignore_errors=True)

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Writes an epoch's file, unless it is there."""
        path = self.folder / f"epoch-{epoch:010d}.{self.format}"
        if not path.exists():
            _write_file(path, answers, self.format, self.lasting)

    def publish(self, epoch: int, level: int, partition: int, answers: Callable[[], pa.Table]) -> None:
        """Gives a file that a task has written its name, unless it has it; one that is gone is written again."""
        path = self.folder / _part_name(epoch, level, partition, self.format)
        if path.exists():
            return
        try:
            (self.folder / _STAGED / path.name).rename(path)
        except FileNotFoundError:
            _write_file(path, answers(), self.format, self.lasting)

    def published(self) -> None:
        """All files of an epoch have their names."""
        with suppress(OSError):
            (self.folder / _STAGED).rmdir()
        if self.lasting and self.folder.exists():
            sync(self.folder)


_STAGED = "_staged"
"""The folder, within that of a sink, with files that tasks have written and that are not published yet."""


@dataclass(frozen=True)
class FolderWriter:
    """Writes the answers of a query to the folder of its sink, from tasks: they are published with their epoch."""

    sink: FolderSink
    kind: Kind
    domain: TimeDomain
    columns: tuple[str, ...]

    def stage(self, epoch: int, level: int, partition: int, rows: pa.Table, durable: bool) -> None:
        """Writes what a partition of a level yields in an epoch."""
        path = self.sink.folder / _STAGED / _part_name(epoch, level, partition, self.sink.format)
        _write_file(path, _plain_answers(rows, self.kind, self.domain, self.columns), self.sink.format, durable)


def writer_for(query: Query, sink: Sink) -> FolderWriter | None:
    """How tasks write the answers of a query; None where the answers of one instant can be in several partitions."""
    if not isinstance(sink, FolderSink) or query.kind is Kind.TAGGED:
        return None
    return FolderWriter(sink, written_as(query), query.domain, tuple(query.columns))


def written_as(query: Query) -> Kind:
    """As what answers are written: elements that last are told by where they begin and end, as changes are."""
    lasts = query.kind is Kind.STREAM and lasting(query.bound.plan, query.chronon)
    return Kind.RELATION if lasts else query.kind


def refuse_shared_folders(sinks: Mapping[str, Sink]) -> None:
    """Refuses two queries that write to one folder: their answers could not be told apart."""
    owners: dict[Path, str] = {}
    for query, sink in sinks.items():
        if not isinstance(sink, FolderSink):
            continue
        other = owners.setdefault(sink.folder.resolve(), query)
        if other != query:
            message = f"the queries {other} and {query} write to one folder, {sink.folder}"
            parameters: dict[str, object] = {"folder": str(sink.folder), "queries": [other, query]}
            raise SourceError(Diagnostic("SINK_SHARED", message, hint="name a folder for each", parameters=parameters))


def _part_name(epoch: int, level: int, partition: int, form: str) -> str:
    return f"epoch-{epoch:010d}-{level}-{partition}.{form}"


def _write_file(path: Path, answers: pa.Table, form: str, lasting: bool) -> None:
    """Writes a file that has its name only when it is whole."""
    make_folder(path.parent, lasting)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    match form:
        case "parquet":
            pyarrow.parquet.write_table(answers, partial)
        case "csv":
            pyarrow.csv.write_csv(answers, partial)
        case _:
            with partial.open("w", encoding="utf-8") as file:
                file.writelines(json_objects(answers))
    if lasting:
        sync(partial)
    partial.replace(path)
    if lasting:
        sync(path.parent)


@dataclass
class FunctionSink(Sink):
    """A function that gets the number of an epoch and its answers; after a crash it may get one again."""

    function: Callable[[int, pa.Table], None]

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Calls the function."""
        self.function(epoch, answers)


@dataclass
class MemorySink(Sink):
    """Keeps the answers in memory."""

    epochs: dict[int, pa.Table] = field(default_factory=dict)

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Keeps an epoch's answers."""
        self.epochs[epoch] = answers

    def table(self) -> pa.Table:
        """All answers so far, in the order of epochs."""
        found = [self.epochs[number] for number in sorted(self.epochs)]
        return pa.concat_tables(found) if found else pa.table({})


@dataclass(frozen=True)
class ConsoleSink(Sink):
    """Writes an answer a line, as ``continua run`` does."""

    query: str

    def write(self, epoch: int, answers: pa.Table) -> None:  # noqa: ARG002
        """Writes an epoch's answers."""
        for row in answers.to_pylist():
            instant = row.pop("t")
            line = {"query": self.query, "t": show_timestamp(instant) if isinstance(instant, datetime) else instant}
            if "op" in answers.column_names[1:2]:
                line["op"] = row.pop("op")
            sys.stdout.write(json.dumps({**line, "row": row}, default=str, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def live_sink(query: Query, folder: Path, lasting: bool = True) -> Sink | None:
    """Where a live query writes by itself: what INTO names, if it names anything."""
    if query.sink is not None and query.sink.function.text.lower() == CONSOLE:
        return ConsoleSink(query.name)
    sink = sink_for(query.sink, folder)
    return replace(sink, lasting=lasting) if isinstance(sink, FolderSink) else sink


def sink_for(call: SourceCall | None, folder: Path) -> Sink | None:
    """The sink that INTO names; None for the console."""
    if call is None or call.function.text.lower() == CONSOLE:
        return None
    name = call.function.text.lower()
    form = "json" if name == "jsonl" else name
    if form not in FORMATS:
        raise SourceError(
            Diagnostic(
                "UNKNOWN_SINK",
                f"INTO {call.function}(...) is not a sink that can be written",
                call.function.span,
                did_you_mean(name, (*FORMATS, CONSOLE)) or f"sinks: {', '.join((CONSOLE, *FORMATS))}",
                {"sink": name},
            )
        )
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str):
        message = f"INTO {call.function}(...) takes one folder"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, f"{name}('folder')"))
    return FolderSink(form, folder / call.arguments[0])


def content_table(query: Query, rows: Sequence[Row]) -> pa.Table:
    """The content of a query's relation as a table."""
    return pa.table(
        {
            name: pa.array([to_arrow(row[i], of) for row in rows], arrow_type(of))
            for i, (name, of) in enumerate(query.types.items())
        }
    )


def empty_answers(query: Query) -> pa.Table:
    """The answers of a query that has none yet."""
    columns = {"t": _instants(np.array([], np.int64), query.domain)}
    if written_as(query) is not Kind.STREAM:
        columns["op"] = pa.array([], pa.string())
    for name, of in query.types.items():
        columns[_free(name, columns)] = pa.array([], arrow_type(of))
    return pa.table(columns)


def answers_table(query: Query, results: pa.Table) -> pa.Table:
    """An epoch's answers as a table, in the order of time; the result rows are elements or net changes."""
    if query.kind is Kind.TAGGED:
        return _tagged_table(query, results)
    return _plain_answers(results, written_as(query), query.domain, query.columns)


def _plain_answers(results: pa.Table, kind: Kind, domain: TimeDomain, names: Sequence[str]) -> pa.Table:
    """Elements or net changes as answers, in the order of time."""
    weight = np.asarray(results.column(WEIGHT).to_numpy(), np.int64)
    start = np.asarray(results.column(START).to_numpy(), np.int64)
    order = _in_order(start, weight)
    if order is None:
        chosen, times, signs = results, start, weight
    else:
        chosen, times, signs = results.take(pa.array(order)), start[order], weight[order]
    columns = {"t": _instants(times, domain)}
    if kind is Kind.RELATION:
        columns["op"] = pc.if_else(pa.array(signs > 0), "+", "-")
    for place, name in enumerate(names):
        columns[_free(name, columns)] = chosen.column(place)
    return pa.table(columns)


def _free(name: str, taken: Collection[str]) -> str:
    """A column's name, with a number where the instant, the operation or another column has it already."""
    number, found = 2, name
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def _in_order(start: Int64s, weight: Int64s) -> Int64s | None:
    """The rows by instant, deletions before insertions, as often as they count; None where they stand so already."""
    single = bool((np.abs(weight) == 1).all())
    later, level = start[1:] > start[:-1], start[1:] == start[:-1]
    if bool((later | (level & (weight[1:] >= weight[:-1]))).all()):
        return None if single else np.repeat(np.arange(start.size), np.abs(weight))
    order = np.lexsort((weight, start))
    return order if single else np.repeat(order, np.abs(weight[order]))


def _tagged_table(query: Query, results: pa.Table) -> pa.Table:
    found = answers_from(query, results)
    columns = {
        "t": _instants(np.array([a.instant for a in found], np.int64), query.domain),
        "op": pa.array([a.op for a in found], pa.string()),
    }
    rows = [dict(zip(a.columns, a.row, strict=True)) for a in found]
    for name, of in query.types.items():
        columns[_free(name, columns)] = pa.array([to_arrow(row.get(name), of) for row in rows], arrow_type(of))
    return pa.table(columns)


def _instants(values: np.ndarray[tuple[int], np.dtype[np.int64]], domain: TimeDomain) -> pa.Array:
    array = pa.array(values)
    return array.cast(pa.timestamp("us", "UTC")) if domain is TimeDomain.MICROSECONDS else array
