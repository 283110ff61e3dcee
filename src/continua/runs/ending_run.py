"""How a live run ends: when it is stopped, when it has failed, or when its last query has left."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from typing import TYPE_CHECKING

from continua.runs.live_options import Surroundings
from continua.runs.live_queries import LiveQueries
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.engine import Engine
from continua.runtime.intake import Intake, Reader
from continua.runtime.live import Live
from continua.sinks.live_sinks import Deliveries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class EndingRun(ABC):
    """A live run as whoever ends it sees it."""

    engine: Engine
    live: Live
    spark: SparkSession | None
    stream: StreamingQuery | None
    intake: Intake
    arrivals: Reader
    _around: Surroundings
    _members: LiveQueries
    _sinks: Deliveries
    _has_ended: bool
    _is_closed: bool = False

    @property
    def left(self) -> dict[str, Registered]:
        """What is known of the queries that have left."""
        return {name: known for name, known in self._members.registered.items() if known.dropped}

    def end_if_empty(self, ended: Callable[[], None]) -> bool:
        """Ends the run where no query is in it, of which it tells before anybody else sees it; whether it has."""
        with self.live.lock:
            if self._members.visible or self._has_ended:
                return False
            self._has_ended = True
            ended()
            self.given_up()
        self.stop()
        return True

    def given_up(self) -> None:
        """Nobody works on it any more. What is taken in waits for it only where another process can go on with it."""
        if self.engine.lasting is None or not self._members.queries:
            self.arrivals.close()

    def stop(self) -> None:
        """Stops everything, after the micro-batch that is worked on; the lock is not held meanwhile: it needs that."""
        self.live.stop()
        try:
            if self.stream is not None and self.spark is not None:
                from continua.runtime.structured_streaming import stop_streaming

                stop_streaming(self.live, self.stream, self.spark)
        finally:
            with self.live.lock:
                self._has_ended = True
                if not self._is_closed:
                    self._is_closed = True
                    if self._around.intake is None:
                        self.intake.close()
                    self._sinks.close()
                    self.engine.close()
