"""An engine for one process and one run: the same operators and levels, with nothing that outlives the process.

Small bounded inputs without a checkpoint need no files, no blocks and no manifests. Everything else is as in
:mod:`continua.runtime.engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from continua.catalog import AggregateInfo, FunctionInfo
from continua.instants import INFINITY
from continua.physical.evaluator import evaluator_with
from continua.physical.execute import Epoch, Parcel, Partition, Produced
from continua.physical.nodes import START, Sink
from continua.physical.stages import stages_of
from continua.runtime.progress import Progress
from continua.sources.intervals import check_start
from continua.sources.positions import Position, positions_after
from continua.sources.readings import Reading, following
from continua.sources.stretches import FileSource, Summary, read_stretch, with_true_lines


class VolatileEngine:
    """Runs the graph of its queries in this process, with state in memory."""

    def __init__(
        self,
        sinks: Iterable[Sink],
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        partitions: int = 1,
        sources: Mapping[str, FileSource] | None = None,
        alone: bool = False,
    ) -> None:
        self.stages = stages_of(sinks, alone)
        self._sources = dict(sources or {})
        self.partitions = partitions
        self._evaluator = evaluator_with(functions)
        self._parts: dict[tuple[int, int], Partition] = {}
        self._results: dict[str, list[tuple[int, pa.Table]]] = {}
        self.epoch_number = 0
        self.until = -INFINITY
        self.offsets: dict[str, int] = {}
        self.positions: dict[str, Position] = {}
        self.progress: list[Progress] = []

    def epoch(
        self,
        fed: Mapping[str, pa.Table],
        until: int,
        offsets: Mapping[str, int] | None = None,
        readings: Sequence[Reading] = (),
        frames: Sequence[str] = (),
    ) -> Progress:
        """Closes the instants up to ``until``, with the rows that sources have brought meanwhile."""
        assert not frames, "only Spark reads frames"
        epoch = Epoch(self.epoch_number + 1, self.until, until)
        done = Progress(epoch.number, until)
        parcels = self._read(epoch, fed, done) if fed or not readings else []
        last: Summary | None = None
        for reading in readings:
            source = self._sources[reading.source]
            known = following(source, reading, last)
            found, last = read_stretch(source, reading.number, known.split, known.latest, epoch.after)
            done.summaries.append(last)
            done.rows_in[reading.source] = done.rows_in.get(reading.source, 0) + last.rows
            if last.failed:
                mine = [s for s in done.summaries if s.source == reading.source]
                raise with_true_lines(mine)[0][0].error(source.info.name)
            check_start(source.info, found.start, source.first)
            parcels += self._read(epoch, {reading.source: found.rows}, done)
        for level in range(1, len(self.stages.levels)):
            parcels = [p for p in parcels if p.channel.level != level] + self._level(epoch, level, parcels, done)
        self.epoch_number, self.until, self.offsets = epoch.number, until, dict(offsets or {})
        self.positions = positions_after(self.positions, done.summaries)
        self.progress.append(done)
        return done

    def _read(self, epoch: Epoch, fed: Mapping[str, pa.Table], done: Progress) -> list[Parcel]:
        """Level 0."""
        produced = self._partition(0, 0).run(epoch, {}, fed)
        self._noted(epoch.number, produced, done)
        return produced.parcels

    def _level(self, epoch: Epoch, level: int, parcels: list[Parcel], done: Progress) -> list[Parcel]:
        sent: list[Parcel] = []
        for number in range(self.partitions):
            received: dict[str, list[pa.Table]] = {}
            for parcel in parcels:
                if parcel.channel.level == level and parcel.partition == number:
                    received.setdefault(parcel.channel.name, []).append(parcel.table)
            produced = self._partition(level, number).run(epoch, received)
            self._noted(epoch.number, produced, done)
            sent += produced.parcels
        return sent

    def _partition(self, level: int, number: int) -> Partition:
        if (level, number) not in self._parts:
            self._parts[level, number] = Partition(self.stages, level, number, self.partitions, self._evaluator)
        return self._parts[level, number]

    def _noted(self, epoch: int, produced: Produced, done: Progress) -> None:
        for query, table in produced.results.items():
            self._results.setdefault(query, []).append((epoch, table))
            done.rows_out[query] = done.rows_out.get(query, 0) + table.num_rows
            latest = int(pc.max(table.column(START)).as_py())
            done.latest[query] = max(done.latest.get(query, latest), latest)
        for node, count in produced.state_rows.items():
            done.state_rows[node] = done.state_rows.get(node, 0) + count

    def intent(self) -> None:
        """Nothing was begun before."""

    def results(self, query: str, first: int = 1, last: int | None = None) -> pa.Table | None:
        """The result rows of a query in finished epochs, in the order of epochs; None when there are none."""
        until = self.epoch_number if last is None else last
        tables = [table for epoch, table in self._results.get(query, []) if first <= epoch <= until]
        return pa.concat_tables(tables) if tables else None

    def close(self) -> None:
        """Lets go of everything."""
        self._parts.clear()
        self._results.clear()
