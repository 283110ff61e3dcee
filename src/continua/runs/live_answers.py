"""What live queries have answered, as far as history is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.from_results import content_from
from continua.answers.query import Query
from continua.answers.relation_behind import only_grows
from continua.errors import BindError, Diagnostic
from continua.instants import INFINITY, TimeDomain, show_instant
from continua.physical.nodes import END, START
from continua.runtime.checkpoint.yielded import BehindHorizon
from continua.runtime.engine import Engine
from continua.runtime.late_rows import late_table
from continua.sources.intervals import NEVER, Source
from continua.windows.occurrences import Row


def results_of(engine: Engine, query: Query, first: int, since: int | None) -> pa.Table | None:
    """The result rows of a query from its first epoch on, or of what happened after an instant."""
    horizon = engine.yielded.past.horizon
    with _horizon_told(query.domain):
        if since is None:
            return engine.results(query.name, first)
        if horizon.epoch >= first and since < horizon.until:
            raise BehindHorizon(horizon.until)
        found = engine.results(query.name, max(first, horizon.epoch + 1))
        return None if found is None else found.filter(pc.field(START) > since)


def content_of(engine: Engine, query: Query, first: int, instant: int | None) -> list[Row]:
    """What a query's relation holds at an instant, by default at the latest that is closed."""
    at = engine.until if instant is None else instant
    if at > engine.until:
        message = f"{show_instant(at, query.domain)} is not closed yet"
        reached = engine.until
        closed = "nothing" if reached <= NEVER else f"what is up to {show_instant(reached, query.domain)}"
        hint = f"{closed} is closed: an instant is closed when all sources are complete up to it"
        raise BindError(Diagnostic("INSTANT_OPEN", message, hint=hint, parameters={"instant": at, "closed": reached}))
    with _horizon_told(query.domain):
        if only_grows(query):
            return _grown(query, engine.results(query.name, first), at)
        rows = engine.yielded.held(query.name, at, first, engine.epoch_number)
    return content_from(query.bound.logical, rows, at)


def _grown(query: Query, elements: pa.Table | None, instant: int) -> list[Row]:
    """What the relation behind a stream holds that only grows: every element that the stream has had."""
    if elements is not None:
        lasting = pa.array(np.full(elements.num_rows, INFINITY, np.int64))
        elements = elements.set_column(elements.schema.get_field_index(END), END, lasting)
    return content_from(query.bound.logical, elements, instant)


def late_rows_of(engine: Engine, source: Source, since: int | None = None) -> pa.Table:
    """The rows of a source that came too late, since the beginning; or those of them with times after an instant."""
    with _horizon_told(source.domain):
        found = engine.late(source.name.casefold())
    if found is not None and since is not None:
        found = found.filter(pc.field(START) > since)
    return late_table(source, found)


@contextmanager
def _horizon_told(domain: TimeDomain) -> Iterator[None]:
    """What is behind the horizon is refused, and the horizon is named."""
    try:
        yield
    except BehindHorizon as error:
        shown = "the beginning" if error.until <= NEVER else show_instant(error.until, domain)
        raise BindError(
            Diagnostic(
                "BEHIND_HORIZON",
                f"history is kept after {shown} only: what was before is folded into the content at that instant",
                hint="SET retention says how much is kept: a length of time, a number of epochs, or unlimited",
                parameters={"horizon": error.until},
            )
        ) from None
