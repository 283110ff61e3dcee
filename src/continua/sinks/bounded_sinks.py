"""The sinks of a bounded run: what each gets when an epoch is finished, and what is taken back of a run that fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from continua.answers.query import Query
from continua.runtime.engine import Engine
from continua.runtime.jobs import ResultWriter
from continua.runtime.progress import Progress
from continua.sinks.bucket_sink import BucketSink
from continua.sinks.delivery import Delivered, Delivery
from continua.sinks.named import refuse_shared
from continua.sinks.one_writer import HeldFolders
from continua.sinks.sink import Earlier, Sink


class Outlets:
    """The sinks of queries, by their names."""

    def __init__(
        self, sinks: Mapping[str, Sink], has_checkpoint: bool, earlier: Mapping[str, Earlier] | None = None
    ) -> None:
        """``has_checkpoint``: whether an epoch that is finished stays so, and no other run begins anew.

        ``earlier``: what queries that were corrected have yielded before.
        """
        self._earlier = dict(earlier or {})
        refuse_shared(sinks)
        self._has_checkpoint = has_checkpoint
        self.sinks = dict(sinks)
        self._deliveries: dict[str, Delivery] = {}
        self._held = HeldFolders()

    def __contains__(self, query: str) -> bool:
        return query in self.sinks

    def drop(self, queries: Collection[str]) -> None:
        """Queries have left: what they have written stays, and others may have their folders."""
        for name in queries:
            sink = self.sinks.pop(name, None)
            if sink is not None and name in self._held:
                sink.forget_staged()
        self._held.let_go(queries)

    def writers(self, queries: Sequence[Query]) -> dict[str, ResultWriter]:
        """How tasks write the answers of the queries of the run, where they can."""
        known = self._deliveries
        mine = [q for q in queries if q.name in self]
        self._deliveries = {q.name: known.get(q.name) or Delivery(q, self.sinks[q.name], by_tasks=True) for q in mine}
        return {name: found.writer for name, found in self._deliveries.items() if found.writer is not None}

    def written(self, query: str) -> Delivered:
        """What this run has written of a query."""
        return self._deliveries[query].written

    def open(self, engine: Engine) -> None:
        """Takes the folders for this run, and refuses those with answers that its engine has not given."""
        for name, sink in self.sinks.items():
            self._held.take(name, sink)
        # an epoch whose manifest is damaged is run again just so, and may have been published
        last = engine.epoch_number + (engine.damaged is not None)
        if not last:
            for name, other in self.sinks.items():
                other.take_back(self._earlier.get(name, Earlier()))
                other.start(engine.yielded.spark)
        for sink in self.sinks.values():
            sink.refuse_later(last)

    def deliver_again(self, engine: Engine) -> None:
        """Gives the sinks what finished epochs have yielded: a crash may have kept it from them."""
        for epoch in range(1, engine.epoch_number + 1):
            self._deliver(engine, epoch, checked=True)
        self._forget_staged()

    def deliver(self, engine: Engine, done: Progress) -> None:
        """Gives the sinks what an epoch has yielded."""
        for name, delivery in self._deliveries.items():
            if delivery.is_counted:
                delivery.written.rows += done.rows_out.get(name, 0)
        self._deliver(engine, done.epoch)

    def _deliver(self, engine: Engine, epoch: int, checked: bool = False) -> None:
        for delivery in self._deliveries.values():
            if self._has_checkpoint or not delivery.sink.stays:
                delivery.give(engine.yielded, epoch, checked)

    def finish(self, engine: Engine) -> None:
        """The run is at its end: what can not be taken back is written now, unless a checkpoint has had it written."""
        for delivery in self._deliveries.values():
            if not self._has_checkpoint and delivery.sink.stays:
                for epoch in range(1, engine.epoch_number + 1):
                    delivery.give(engine.yielded, epoch)

    def take_back(self) -> None:
        """Removes the files that this run has made, and no others."""
        for delivery in self._deliveries.values():
            written = delivery.written
            if isinstance(delivery.sink, BucketSink):
                delivery.sink.remove(written.objects)
            for path in written.files:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            written.files.clear()
            written.objects.clear()
            written.rows = 0

    def close(self) -> None:
        """Lets others have the folders."""
        self._forget_staged()
        self._held.close()

    def _forget_staged(self) -> None:
        """What was not published belongs to no finished epoch, or is written again from what the checkpoint has."""
        for name, sink in self.sinks.items():
            if name in self._held:
                sink.forget_staged()
