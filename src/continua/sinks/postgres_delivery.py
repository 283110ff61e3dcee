"""The way of a query's answers to a table of PostgreSQL: each epoch once."""

from __future__ import annotations

import pyarrow as pa

from continua.algebra.base import Kind
from continua.answers.answer_tables import answers_table, empty_answers, written_as
from continua.answers.plain_answers import free_name
from continua.answers.query import Query
from continua.instants import TimeDomain
from continua.runtime.checkpoint.yielded import Yielded
from continua.sinks.keyed_answers import check_key
from continua.sinks.postgres_rows import Changed, last_of_each_key, types_of
from continua.sinks.postgres_sink import PostgresSink
from continua.types import BIGINT, STRING, TIMESTAMP, DataType

_EPOCH = "epoch"


class PostgresDelivery:
    """Gives the answers of a query to a table: the content by its key, or all answers with their epochs."""

    def __init__(self, query: Query, sink: PostgresSink) -> None:
        check_key(query, sink.key, str(sink))
        self._query = query
        self._sink = sink
        self._by_key = bool(sink.key) and query.kind is not Kind.STREAM
        self._columns = tuple(query.columns)
        types = types_of(query.name, self._types())
        sink.check(types)

    def _types(self) -> list[tuple[str, DataType]]:
        """The columns of the table, in the order of what is written."""
        query = self._query
        own = list(query.types.items())
        if self._by_key:
            return own
        moment = TIMESTAMP if query.domain is TimeDomain.MICROSECONDS else BIGINT
        found = [("t", moment)] if written_as(query) is Kind.STREAM else [("t", moment), ("op", STRING)]
        names = empty_answers(query).column_names[len(found) :]
        found += [(name, of) for name, (_, of) in zip(names, own, strict=True)]
        return [*found, (free_name(_EPOCH, [name for name, _ in found]), BIGINT)]

    def give(self, yielded: Yielded, epoch: int) -> None:
        """Writes an epoch's answers, unless they are."""
        results = yielded.of(self._query.name, epoch, epoch)
        if results is None:
            return
        answers = answers_table(self._query, results)
        if self._by_key:
            changed = last_of_each_key(answers, self._columns, self._sink.key)
        else:
            numbers = pa.array([epoch] * answers.num_rows, pa.int64())
            changed = Changed(answers.append_column(self._types()[-1][0], numbers))
        store = yielded.store.address
        self._sink.write_as(f"{store.run or store.url}/{self._query.name}", epoch, changed)
