"""The kinds of windows that the language has words for, in the order in which they are listed to its users."""

from __future__ import annotations

from continua.windows.fixed import FixedWindow
from continua.windows.in_own_rhythm import OwnRhythmWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.sessions import SessionWindow
from continua.windows.spec import WindowSpec

KINDS: tuple[type[WindowSpec], ...] = (
    TimeWindow,
    RowsWindow,
    FixedWindow,
    LandmarkWindow,
    SessionWindow,
    SequenceWindow,
    OwnRhythmWindow,
)
