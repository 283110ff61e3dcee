"""Sources that are DataFrames of Spark: any format that it reads, and the tables that it knows.

Their rows have no order of their own, unless columns tell partition and offset: without these none is late.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from continua.errors import Diagnostic, SourceError
from continua.lang.statements import SourceCall
from continua.sources.columnar_split import columns_of, own_names
from continua.sources.intervals import NEVER, Source
from continua.sources.partition_sequences import pieces
from continua.sources.secrets import revealed
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Piece
from continua.sources.stretches import Stretch, stretch_of

SPARK, TABLE = "spark", "table"
FRAMES = (SPARK, TABLE)
STREAMING = "streaming"
"""The option of a source that Spark reads as a stream."""
_ENDLESS = ("rate", "rate-micro-batch", "kafka", "socket")
"""The formats of Spark's that never end."""
FRAME = "<frame>"
"""What stands for a file where rows come from a frame."""


@dataclass(frozen=True)
class FrameSource:
    """A declared source whose rows are a DataFrame, as tasks know it."""

    info: Source
    spec: SourceSpec
    """``format`` is how Spark finds it: as a table of the name ``path``, or by its reader of the format ``path``."""
    first: int
    stamp: int


def is_streaming(call: SourceCall) -> bool:
    """Whether Spark reads a source as a stream, micro-batch by micro-batch: it says so, or its format never ends."""
    if call.function.text.lower() != SPARK:
        return False
    return dict(call.options).get(STREAMING, call.arguments[:1] in [(name,) for name in _ENDLESS]) is True


def option_text(value: object) -> str:
    """The value of an option as Spark takes it."""
    return str(value).lower() if isinstance(value, bool) else str(revealed(value))


def frame_spec(info: Source, call: SourceCall) -> SourceSpec:
    """What is declared of a frame. Raises SourceError where the call makes no sense."""
    function = call.function.text.lower()
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str):
        hint = "spark('format', option => value)" if function == SPARK else "table('catalog.name')"
        message = f"{function}(...) takes one name"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint))
    if function == TABLE and call.options:
        raise SourceError(Diagnostic("UNKNOWN_OPTION", "table(...) has no options", call.function.span))
    columns = tuple((f.name, f.type) for f in info.columns)
    options = tuple((name, value) for name, value in call.options if name != STREAMING)
    return SourceSpec(function, call.arguments[0], columns, options, info.skip_errors, info.name)


def read_frame(source: FrameSource, rows: pa.Table, latest: dict[int, int] | None = None) -> list[tuple[int, Stretch]]:
    """Rows of a frame with their intervals, for each partition of the source.

    ``latest`` are the latest times of partitions before these rows, and afterwards those behind them. They count only
    where an offset tells the order of rows.
    """
    names = own_names(rows.column_names, source.spec, source.spec.path)
    columns, kept, wrong = columns_of(rows, names, source.spec, FRAME, 1)
    info, known = source.info, {} if latest is None else latest
    ordered = info.partitions is not None and info.partitions.offset is not None
    found: list[tuple[int, Stretch]] = []
    for origin, piece in pieces(info, Piece(columns, kept)):
        before = known.get(origin, NEVER)
        stretch = stretch_of(info, piece, FRAME, source.stamp, before, 1, source.first, ordered)
        known[origin] = stretch.latest
        found.append((origin, stretch))
    first = found[0][1]
    first.wrong = sorted([*wrong, *first.wrong], key=lambda m: m.line)
    return found
