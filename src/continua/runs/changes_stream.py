"""The changes of a live query as a streaming DataFrame: a data source of Spark over what finished epochs have yielded.

Its offset is the number of an epoch, and an epoch yields the same whenever it is read, so that a streaming query which
goes on from its own checkpoint has every change once. What is read is found by the last manifest: in the files of
epochs or in chapters. These may be put together while somebody reads them; then they are looked for again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from continua.answers.answer_tables import answers_table, empty_answers
from continua.answers.query import Query
from continua.errors import CheckpointError, Diagnostic
from continua.runtime.checkpoint.manifests import Manifest, Manifests
from continua.runtime.checkpoint.store import Address, store_at
from continua.runtime.checkpoint.yielded import BehindHorizon, Yielded
from continua.runtime.executors.executor import InProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_EPOCHS = 256
"""So many epochs at most are read by one task."""
_TRIES = 10
"""So often files are looked for that were put together meanwhile."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class RunOnDisk:
    """Whose changes are read, and where they are."""

    store: Address
    query: Query
    since: int
    """The first epoch of the query."""

    def last(self) -> Manifest | None:
        """The last epoch that is finished."""
        return Manifests(store_at(self.store)).last()[0]

    def changes(self, first: int, last: int) -> pa.Table:
        """The answers of some epochs, as ``changes()`` of the query's handle has them."""
        found = self._read(lambda yielded: yielded.of(self.query.name, max(first, self.since), last))
        return empty_answers(self.query) if found is None else answers_table(self.query, found)

    def first_kept(self) -> int:
        """The first epoch whose changes are kept."""
        return self._read(lambda yielded: max(self.since, yielded.past.horizon.epoch + 1))

    def _read(self, ask: Callable[[Yielded], _T]) -> _T:
        store = store_at(self.store)
        for left in reversed(range(_TRIES)):
            try:
                manifests = Manifests(store)
                yielded = Yielded(store, manifests, InProcess(), None, lambda: 0, False)
                found = manifests.last()[0]
                if found is not None:
                    yielded.past = found.past
                return ask(yielded)
            except BehindHorizon as error:
                raise self._behind(error) from None
            except CheckpointError:
                if not left:
                    raise
        raise AssertionError("one of the tries has answered or failed")

    def _behind(self, error: BehindHorizon) -> CheckpointError:
        name = self.query.name
        message = f"the changes of {name} are not kept so long: those up to instant {error.until} are gone"
        hint = "SET retention says how much is kept; begin with a new checkpointLocation"
        return CheckpointError(
            Diagnostic("BEHIND_HORIZON", message, hint=hint, parameters={"query": name, "horizon": error.until})
        )

    def same_run(self, offset: dict[str, Any]) -> int:
        """The epoch of an offset; an error if that was told by another run."""
        if offset.get("run") != self.store.run:
            name = self.query.name
            message = f"the changes of {name} that were read before are those of another run"
            hint = "begin with a new checkpointLocation, or start the queries from the checkpoint of that run"
            raise CheckpointError(Diagnostic("OTHER_RUN", message, hint=hint, parameters={"query": name}))
        return int(offset["epoch"])


@dataclass
class Epochs(InputPartition):
    """Epochs that one task reads."""

    first: int
    last: int

    def __post_init__(self) -> None:
        super().__init__((self.first, self.last))


class ChangesReader(DataSourceStreamReader):
    """Reads what epochs have yielded; an offset names the last epoch that was read, and the run."""

    def __init__(self, told: RunOnDisk, schema: StructType, timezone: str) -> None:
        self._told = told
        self._schema = schema
        self._timezone = timezone

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first epoch that is kept."""
        return self._offset(self._told.first_kept() - 1)

    def latestOffset(self, start: dict[str, Any], limit: object) -> dict[str, Any]:  # noqa: ARG002, N802
        """The last epoch that is finished."""
        found = self._told.last()
        return self._offset(max(self._told.same_run(start), 0 if found is None else found.number))

    def _offset(self, epoch: int) -> dict[str, Any]:
        return {"epoch": epoch, "run": self._told.store.run}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Stretches of the epochs after one up to another."""
        first, last = self._told.same_run(start) + 1, self._told.same_run(end)
        return [Epochs(n, min(n + _EPOCHS - 1, last)) for n in range(first, last + 1, _EPOCHS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes of some epochs, as Spark makes a DataFrame of such a table."""
        from pyspark.sql.pandas.types import _check_arrow_table_timestamps_localize as localized

        assert isinstance(partition, Epochs)
        table = self._told.changes(partition.first, partition.last)
        plain = localized(table, self._schema, True, self._timezone)
        yield from plain.cast(to_arrow_schema(self._schema, timezone="UTC")).to_batches()


class ChangesSource(DataSource):
    """The changes of one live query; a class of its own is made for each."""

    told: RunOnDisk
    form: StructType
    timezone: str

    def schema(self) -> StructType:
        """That of the answers."""
        return self.form

    def streamReader(self, schema: StructType) -> ChangesReader:  # noqa: N802
        """Reads the changes."""
        return ChangesReader(self.told, schema, self.timezone)


def changes_frame(spark: SparkSession, store: Address, query: Query, since: int) -> DataFrame:
    """A streaming DataFrame of the changes of a query from an epoch on."""
    name = f"continua_changes_{uuid4().hex}"
    without_zone = spark.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
    form = from_arrow_schema(empty_answers(query).schema, prefer_timestamp_ntz=without_zone)
    timezone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    members = {
        "told": RunOnDisk(store, replace(query, content=None, rewritten=None), since),
        "form": form,
        "timezone": timezone,
        "name": classmethod(lambda _: name),
    }
    spark.dataSource.register(type(name, (ChangesSource,), members))
    return spark.readStream.format(name).load()
