"""What the windows of a query hold at an instant, by the reference semantics over rows that can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from continua.algebra.leaves import Source
from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.by_reference import read_for, reference_content
from continua.answers.query import Query, floored
from continua.binding.defaults import BoundQuery
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import ContinuaError
from continua.explain.pictures.drawn_window import windows_of
from continua.reference.elements import Inputs
from continua.reference.semantics import Reference
from continua.runs.live_run import LiveRun
from continua.runtime.inputs import InputReader
from continua.runtime.reference_rows import reference_rows
from continua.sources.generated import generated
from continua.sources.intervals import NEVER
from continua.sources.source_spec import Unit
from continua.sources.split_reader import read_split
from continua.sources.splits import Split
from continua.sources.stretches import stretch_of
from continua.windows.occurrences import Element, Row
from continua.windows.spec import WindowSpec

MOST_SHOWN = 200
"""So many rows of a window are shown."""
MOST_BYTES = 64 << 20
"""Sources whose files are larger are not read for a look into a window."""
MOST_NUMBERS = 40_000
"""So many numbers of a generated source are made again for it: the reference is slow."""
AnySource: TypeAlias = StreamInfo | RelationInfo


@dataclass(frozen=True, slots=True)
class WindowContent:
    """A window, and what it holds; or why that is not known."""

    query: Query
    text: str
    source: str
    rows: list[Row]
    why: str | None = None


def window_contents(
    query: Query, run: LiveRun, at: int, inputs: InputReader, may: Callable[[str], bool]
) -> Iterator[WindowContent]:
    """What each window of a live query holds at a closed instant, of streams that somebody may see."""
    seen: set[Window] = set()
    for window in windows_of(query.bound.logical):
        plain = _plain(window)
        if plain in seen:
            continue
        seen.add(plain)
        names = dict.fromkeys(n.name for n in nodes_of(window) if isinstance(n, Source))
        mine = tuple(s for s in query.sources if s.name.casefold() in {n.casefold() for n in names})
        bound = BoundQuery(plain, plain, query.domain, (), query.bound.tree)
        asked = Query("window", bound, query.start, query.chronon, mine)
        text = window.spec.text or f"[{window.spec.body(query.domain)}]"
        source = ", ".join(names) or "a subquery"
        try:
            hidden = next((name for name in names if not may(name)), None)
            found = f"you have no right to {hidden}" if hidden else _rows(asked, window, run, at, inputs)
        except ContinuaError as error:
            found = error.diagnostics[0].message
        rows, why = ([], found) if isinstance(found, str) else (found, None)
        yield WindowContent(asked, text, source, rows, why)


def _rows(asked: Query, window: Window, run: LiveRun, at: int, inputs: InputReader) -> list[Row] | str:
    """What a window holds, or why that is not known."""
    read: Inputs | None = None
    if len(asked.sources) == 1 and isinstance(window.input, Source) and inputs.follows(asked.sources[0]):
        made = _made(asked.sources[0], window.spec, run, at, inputs)
        if isinstance(made, str):
            return made
        read = made
    else:
        why = next(filter(None, (_why_not(s, inputs) for s in asked.sources)), None)
        if why is not None:
            return why
    reference = Reference(floored(read_for(asked, inputs, read), asked.chronon), (), asked.start, asked.chronon)
    return reference_content(asked, at, reference)


def _made(info: AnySource, spec: WindowSpec, run: LiveRun, at: int, inputs: InputReader) -> Inputs | str:
    """The latest rows of a generated source up to an instant, if these are all that its window can hold."""
    file = inputs.files(info)
    if file is None or file.source.spec.unit is not Unit.NUMBERS:
        return _never_ends(info)
    begun = (f.begun_at for p in run.engine.positions.values() for f in p.files.values())
    begun_at = min((moment for moment in begun if moment is not None), default=None)
    found = generated(file.source.spec, begun_at)
    due = found.generator.due(at)
    while found.generator.instant(due) <= at:  # times are rounded down: what is due a little later has this one too
        due += 1
    end = due if found.count is None else min(due, found.count)
    first = max(end - MOST_NUMBERS, 0)
    if first and not _is_past(spec, found.generator.instant(first), at):
        return f"the window holds more of {info.name} than is made again for a look into it"
    split = Split(found.shown, found.shown, first, end, end, begun_at=found.begun_at, width=found.width)
    piece = read_split(file.source.spec, split)
    table = stretch_of(info, piece, split.shown, file.source.stamp, NEVER).rows
    return Inputs({info.name.casefold(): tuple(e for e in reference_rows(info, table) if isinstance(e, Element))})


def _is_past(spec: WindowSpec, instant: int, at: int) -> bool:
    """Whether elements of an instant have left the window, and so all earlier ones."""
    if not spec.knows_ends:
        return False
    validity = spec.validity(instant)
    return validity is None or validity[1] <= at


def _never_ends(info: AnySource) -> str:
    return f"the rows of {info.name} never end: SELECT * with this window as a query shows it"


def _plain(window: Window) -> Window:
    """The window over its stream, whatever the alias by which its query names that."""
    below = window.input
    if not isinstance(below, Source):
        return window
    columns = tuple(replace(f, name=f"{below.name}.{f.short}") for f in below.columns)
    return Window(replace(below, alias=below.name, columns=columns), window.spec)


def _why_not(source: AnySource, inputs: InputReader) -> str | None:
    try:
        if inputs.waits_for_rows(source):
            return f"the rows of {source.name} are inserted and not kept: SELECT * with this window as a query shows it"
        if inputs.follows(source):
            return _never_ends(source)
        found = inputs.files(source)
    except ContinuaError as error:
        return error.diagnostics[0].message
    if found is not None and found.size > MOST_BYTES:
        return f"the files of {source.name} are too large for a look into the window"
    return None
