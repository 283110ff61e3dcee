"""What the windows of a query hold at an instant, by the reference semantics over rows that can be read again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from continua.algebra.leaves import Source
from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.by_reference import read_for, reference_content
from continua.answers.query import Query, floored
from continua.binding.defaults import BoundQuery
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import ContinuaError
from continua.explain.pictures.drawn_window import windows_of
from continua.reference.semantics import Reference
from continua.runs.live_run import LiveRun
from continua.runtime.inputs import InputReader
from continua.windows.occurrences import Row

MOST_SHOWN = 200
"""So many rows of a window are shown."""
MOST_BYTES = 64 << 20
"""Sources whose files are larger are not read for a look into a window."""


@dataclass(frozen=True, slots=True)
class WindowContent:
    """A window, and what it holds; or why that is not known."""

    query: Query
    text: str
    source: str
    rows: list[Row]
    why: str | None = None


def window_contents(query: Query, run: LiveRun, at: int, inputs: InputReader) -> Iterator[WindowContent]:
    """What each window of a live query holds at a closed instant."""
    del run
    seen: set[Window] = set()
    for window in windows_of(query.bound.logical):
        plain = _plain(window)
        if plain in seen:
            continue
        seen.add(plain)
        names = [n.name for n in nodes_of(window) if isinstance(n, Source)]
        mine = tuple(s for s in query.sources if s.name.casefold() in {n.casefold() for n in names})
        bound = BoundQuery(plain, plain, query.domain, (), query.bound.tree)
        asked = Query("window", bound, query.start, query.chronon, mine)
        text = window.spec.text or f"[{window.spec.body(query.domain)}]"
        source = ", ".join(dict.fromkeys(names)) or "a subquery"
        why = next(filter(None, (_why_not(s, inputs) for s in mine)), None)
        if why is not None:
            yield WindowContent(asked, text, source, [], why)
            continue
        try:
            reference = Reference(floored(read_for(asked, inputs), query.chronon), (), query.start, query.chronon)
            yield WindowContent(asked, text, source, reference_content(asked, at, reference))
        except ContinuaError as error:
            yield WindowContent(asked, text, source, [], error.diagnostics[0].message)


def _plain(window: Window) -> Window:
    """The window over its stream, whatever the alias by which its query names that."""
    below = window.input
    if not isinstance(below, Source):
        return window
    columns = tuple(replace(f, name=f"{below.name}.{f.short}") for f in below.columns)
    return Window(replace(below, alias=below.name, columns=columns), window.spec)


def _why_not(source: StreamInfo | RelationInfo, inputs: InputReader) -> str | None:
    try:
        if inputs.waits_for_rows(source):
            return f"the rows of {source.name} are inserted and not kept: SELECT * with this window as a query shows it"
        if inputs.follows(source):
            return f"the rows of {source.name} never end: SELECT * with this window as a query shows it"
        found = inputs.files(source)
    except ContinuaError as error:
        return error.diagnostics[0].message
    if found is not None and found.size > MOST_BYTES:
        return f"the files of {source.name} are too large for a look into the window"
    return None
