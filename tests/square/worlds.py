"""Worlds: streams, relations and tables with random rows, and the settings of their session."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import gettempdir

from continua.session import Session
from tests.square.drawing import Chooser

REJECTED = Path(gettempdir()) / "continua-tests-rejected"
"""Where sessions of tests write down the rows that their sources reject; nobody reads it."""
Row = tuple[object, ...]
Rows = Mapping[str, list[Row]]
EPOCH = datetime(1970, 1, 1)

COLUMNS: dict[str, dict[str, str]] = {
    "S": {
        "k": "INT",
        "x": "INT",
        "w": "BIGINT",
        "v": "DOUBLE",
        "s": "STRING",
        "b": "BOOLEAN",
        "d": "DECIMAL(8,2)",
        "m": "TIMESTAMP",
        "e": "DECIMAL(30,5)",
    },
    "P": {
        "k": "BIGINT",
        "x": "INT",
        "v": "DOUBLE",
        "s": "STRING",
        "d": "DECIMAL(6,1)",
        "f": "FLOAT",
        "t": "DATE",
        "l": "ARRAY<INT>",
    },
    "L": {"k": "INT", "x": "INT"},
    "R": {"k": "INT", "x": "INT", "s": "STRING"},
    "K": {"k": "INT", "x": "INT", "v": "DOUBLE"},
    "C": {"k": "INT", "x": "INT", "s": "STRING", "d": "DECIMAL(8,2)"},
}
"""The columns of every input, without those that give the time."""

_PYTHON = "LANGUAGE PYTHON AS 'tests.square.user_code:{0}';\n"
FUNCTIONS = (
    "CREATE FUNCTION twice (n BIGINT) RETURNS BIGINT AS n * 2;\n"
    + "CREATE FUNCTION or_seven (n BIGINT) RETURNS BIGINT " + _PYTHON.format("or_seven")
    + "CREATE AGGREGATE spread (n BIGINT) RETURNS BIGINT " + _PYTHON.format("Spread")
    + "CREATE AGGREGATE products (n BIGINT, m BIGINT) RETURNS BIGINT " + _PYTHON.format("Products")
)  # fmt: skip
"""Functions and aggregates of the user."""
EVERY = "CREATE STREAMED VIEW Every AS SELECT C.Timepoint FROM RELATION(clockStr) C WHERE C.Timepoint % {step} = 0;\n"
"""A synchronization stream: some of the instants of the clock."""

_DEFINITIONS = """
CREATE STREAM S ({S}, ts {time}) ORDERED BY ts;
CREATE STREAM P ({P}, ts {time}) ORDERED BY ts;
CREATE STREAM L ({L}, since {time}, until {time}) VALID FROM since TO until;
CREATE RELATION R ({R}, op STRING, ts {time}) ORDERED BY ts TAGGED BY op ON ERROR SKIP;
CREATE RELATION K ({K}, op STRING, ts {time}) ORDERED BY ts TAGGED BY op KEY k ON ERROR SKIP;
CREATE TABLE C ({C});
"""

_VALUES: dict[str, tuple[object, ...]] = {
    "INT": (0, 1, 2, None, 1, 2, 3, -1),
    "BIGINT": (0, 1, 2, None, 1, 5_000_000_000, -7),
    "DOUBLE": (0.5, 0.1, 1e16, None, -1.25, 3.0, -0.0, 0.0, 0.30000000000000004, 1.0, 2.0, 0.5),
    "FLOAT": (0.5, 0.1, None, -1.25, 1.0, 2.0, -0.0, 0.0),
    "STRING": ("a", "b", "ab", None, "", "Zoë", "a"),
    "BOOLEAN": (True, False, None),
    "DECIMAL(8,2)": tuple(None if t is None else Decimal(t) for t in ("0.00", "1.25", "-3.10", None, "1.00", "999.99")),
    "DECIMAL(6,1)": tuple(None if t is None else Decimal(t) for t in ("0.0", "1.5", None, "-3.1", "1234.5", "1.0")),
    "DECIMAL(30,5)": (Decimal("1.25"), Decimal("-123456789012345678901234.56789"), None, Decimal("99999999999999.5")),
    "TIMESTAMP": (EPOCH, EPOCH + timedelta(days=400, microseconds=7), None, EPOCH - timedelta(hours=5)),
    "DATE": (EPOCH.date(), EPOCH.date() + timedelta(days=365), None, EPOCH.date() - timedelta(days=1)),
    "ARRAY<INT>": ((1, 2), (), (None,), None, (1, 2), (2,)),
}
_SPECIAL = (float("nan"), float("inf"), float("-inf"))


@dataclass(frozen=True)
class World:
    """Statements that define inputs and named queries, and the inputs' rows."""

    definitions: str
    rows: Rows
    views: tuple[str, ...] = ()
    timestamps: bool = False
    functions: bool = False
    """Whether the user's functions are there."""
    named: dict[str, dict[str, str]] = field(default_factory=dict)
    """The columns of the views and derived streams."""

    @property
    def script(self) -> str:
        """All statements."""
        return self.definitions + "".join(f"{view};\n" for view in self.views)

    def session(self) -> Session:
        """A session with the inputs, their rows and the named queries."""
        session = Session(rejects=REJECTED)
        session.execute(self.script)
        for name, rows in self.rows.items():
            session.insert(name, rows)
        return session


class Settings(Chooser):
    """Draws the settings of a session, or of one query."""

    def script(self, timestamps: bool) -> str:
        """A statement for each setting."""
        chronon = self.pick(("1 second", "1 second", "1 microsecond")) if timestamps else "1 microsecond"
        start = self.number(1, 9) if self.chance(15) else 0
        settings = {
            "dialect": "pipes" if self.chance(15) else "cql",
            "chronon": f"'{chronon}'",
            "range_bounds": "half_open" if self.chance(15) else "closed",
            "start_time": f"'{_timestamp(start)}'" if timestamps else str(start),
        }
        return "".join(f"SET {name} = {value};\n" for name, value in settings.items())


class WorldMaker(Chooser):
    """Draws a world: at most so many elements a stream, in so many instants."""

    def __init__(self, rng: random.Random, most: int = 25, span: int = 40) -> None:
        super().__init__(rng)
        self._most = most
        self._span = span
        self._odd = self.chance(15)
        """Whether there are doubles that are no numbers, or infinite."""

    def world(self) -> World:
        """Settings, definitions and rows."""
        timestamps = self.chance(20)
        columns = {n: ", ".join(f"{c} {t}" for c, t in cs.items()) for n, cs in COLUMNS.items()}
        definitions = _DEFINITIONS.format(time="TIMESTAMP" if timestamps else "BIGINT", **columns)
        if not timestamps:
            definitions += EVERY.format(step=self.number(1, 5))
        functions = self.chance(15)
        if functions:
            definitions += FUNCTIONS
        time: Callable[[int], object] = _timestamp if timestamps else int
        return World(Settings(self.rng).script(timestamps) + definitions, self._rows(time), (), timestamps, functions)

    def _rows(self, time: Callable[[int], object]) -> Rows:
        """Rows in the order of time, often several at one instant."""
        rows: dict[str, list[Row]] = {}
        for name in ("S", "P"):
            rows[name] = [(*self._payload(name), time(t)) for t in self._times(self._most)]
        rows["L"] = [(*self._payload("L"), time(t), time(t + self.number(1, 6))) for t in self._times(self._most // 3)]
        rows["R"] = self._modifications("R", ("+",), time)
        rows["K"] = self._modifications("K", ("+", "u", "u"), time)
        rows["C"] = [self._payload("C") for _ in range(self.number(0, 5))]
        return rows

    def _times(self, most: int) -> list[int]:
        count = self.number(most // 3, most) if self.chance(90) else self.number(0, 2)
        return sorted(self.number(0, self._span) for _ in range(count))

    def _payload(self, name: str) -> Row:
        return tuple(self._value(t) for t in COLUMNS[name].values())

    def _value(self, data_type: str) -> object:
        special = self._odd and data_type in ("DOUBLE", "FLOAT") and self.chance(20)
        return self.pick(_SPECIAL if special else _VALUES[data_type])

    def _modifications(self, name: str, tags: tuple[str, ...], time: Callable[[int], object]) -> list[Row]:
        """Insertions and updates, and deletions of rows that are there, or sometimes are not."""
        found: list[Row] = []
        known: list[Row] = []
        for t in self._times(self._most // 2):
            if known and self.chance(35):
                row = known.pop(self.number(0, len(known) - 1))
                found.append((*row, "-", time(t)))
                continue
            row = self._payload(name)
            known.append(row)
            found.append((*row, self.pick(tags) if self.chance(95) else "-", time(t)))
        return found


def _timestamp(second: int) -> datetime:
    return EPOCH + timedelta(seconds=second)
