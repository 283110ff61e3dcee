"""How far groups of live queries are: one that begins beside others, or again, begins after what these have read."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from continua.answers.query import Query
from continua.errors import EvaluationError
from continua.instants import TimeDomain
from continua.objects.urls import Place
from continua.runs.live_options import Beside
from continua.runs.live_queries import meaning_of
from continua.runs.live_run import LiveRun
from continua.runtime.checkpoint.manifests import Manifests
from continua.runtime.checkpoint.opening import group_folder, reader_store
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.fingerprints import Function


@dataclass(frozen=True, slots=True)
class EndedGroup:
    """What is still known of a group whose last query has left."""

    position: Beside | None
    """How far it was: what it has read does not come again."""
    domain: TimeDomain | None
    known: frozenset[str]
    """The sources that it has read."""
    left: Mapping[str, Registered]
    """The queries that have left."""
    failed: Mapping[str, EvaluationError]
    has_stream: bool
    """Whether a stream of Spark has brought it rows."""
    closed: threading.Event
    """Is set once it holds nothing any more, its checkpoint neither."""

    def has_left(self, query: Query, functions: Sequence[Function]) -> bool:
        """Whether a query was in the group, as it is, and has left."""
        known = self.left.get(query.name)
        return known is not None and known.meaning == meaning_of(query, functions)


def ended_group(run: LiveRun, closed: threading.Event) -> EndedGroup:
    """What is to be known of a run that ends."""
    position, known, failed = position_of(run), frozenset(run.known), dict(run.failed)
    return EndedGroup(position, run.domain, known, run.left, failed, run.stream is not None, closed)


def position_in(checkpoint: Place | None, group: str) -> Beside | None:
    """How far a group was when its checkpoint was left; None where it had finished nothing."""
    if checkpoint is None:
        return None
    store = reader_store(group_folder(checkpoint, group) if group else checkpoint)
    last = None if store is None else Manifests(store).last()[0]
    if last is None or last.offsets.live is None:
        return None
    return Beside(max(last.until, last.offsets.live.latest), last.offsets.live.taken)


def position_of(run: LiveRun) -> Beside | None:
    """How far a run is, although it may go on: first the batches, so that their rows are among what it has read."""
    taken = run.live.taken
    return Beside(max(run.engine.until, run.live.latest), taken) if run.engine.epoch_number else None


def ahead_of(others: Sequence[Beside | None]) -> Beside | None:
    """How far the others are, all together."""
    found = [position for position in others if position is not None]
    return Beside(max(p.latest for p in found), max(p.taken for p in found)) if found else None
