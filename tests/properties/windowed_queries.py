"""Random windowed queries over random streams in integer time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

from continua.session import Session
from tests.square.worlds import REJECTED

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

DEFINITIONS = """
CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM L (k INT, x INT, since BIGINT, until BIGINT) VALID FROM since TO until;
CREATE RELATION R (k INT, x INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op ON ERROR SKIP;
CREATE TABLE C (k INT, x INT) AS VALUES (0, 0), (1, 2), (1, 2), (NULL, 1);
"""

_VALUES = st.sampled_from((0, 1, 2, None))


@dataclass(frozen=True)
class Case:
    """The rows of the streams and a query over them."""

    rows: dict[str, list[tuple[object, ...]]]
    text: str

    def session(self) -> Session:
        """A session with the streams and their rows."""
        session = Session(rejects=REJECTED)
        session.execute(DEFINITIONS)
        for name, rows in self.rows.items():
            session.insert(name, rows)
        return session


@dataclass
class WindowGrammar:
    """Draws windows and queries. Simple alternatives come first."""

    draw: Draw  # type: ignore[type-arg]

    def pick(self, options: Sequence[T]) -> T:
        chosen: T = self.draw(st.sampled_from(options))
        return chosen

    def number(self, least: int, most: int) -> int:
        return int(self.draw(st.integers(least, most)))

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    # Windows.

    def window(self) -> str:
        """A window of any kind."""
        sequences = (self.sequence, self.row_sequence, self.own_rhythm)
        body = self.pick((self.range, self.rows, self.partitioned, self.fixed, self.session, *sequences))()
        return f"WINDOW({body})" if self.chance(15) and not body.startswith("RANGE 0") else f"[{body}]"

    def range(self) -> str:
        size = self.pick((f"RANGE {self.number(0, 9)}", "NOW", "RANGE UNBOUNDED"))
        if size == "NOW":
            return size
        moves = self.pick(("", f" SLIDE {self.number(1, 7)}{self.aligned()}", f" SLIDE {self.number(1, 3)} ROWS"))
        return size + moves + self.lag() + ("" if size.endswith("UNBOUNDED") else self.full())

    def rows(self) -> str:
        size = self.pick((f"ROWS {self.number(1, 4)}", "ROWS UNBOUNDED"))
        extra = f" RANGE {self.number(1, 6)}" if self.chance(25) else ""
        by_time = f" SLIDE {self.number(1, 5)} TICKS{self.aligned()}" if self.chance(15) else ""
        moves = by_time or (f" SLIDE {self.number(1, 3)}" if self.chance(40) else "")
        full = "" if extra or size.endswith("UNBOUNDED") else self.full()
        return size + extra + moves + self.lag() + full

    def partitioned(self) -> str:
        return f"PARTITION BY {self.pick(('k', 'k, x'))} {self.rows()}"

    def fixed(self) -> str:
        return self.pick((f"FIXED {self.number(1, 8)}", f"LANDMARK {self.number(0, 15)}"))

    def session(self) -> str:
        partition = self.pick(("", " PARTITION BY k", " PARTITION BY k, x"))
        return f"SESSION GAP {self.number(1, 5)}{partition}"

    def sequence(self) -> str:
        """Bounds in time: alpha(j) = a*j + b, beta(j) = (a + d)*j + b + e, evaluated every a + d + r."""
        a, d, b, e = (self.number(0, most) for most in (4, 2, 3, 5))
        rate = max(a + d + self.number(0, 2), 1)
        partition = "PARTITION BY k " if self.chance(20) else ""
        alpha = f"GREATEST({a}*j + {b}, {b + 2})" if self.chance(15) and e >= 2 else f"{a}*j + {b}"
        counted = f"{rate} ROWS" if self.chance(15) else str(rate)
        return f"{partition}FROM {alpha} TO {a + d}*j + {b + e} EVERY {counted}{self.lag()}"

    def row_sequence(self) -> str:
        a, b, e = self.number(0, 3), self.number(0, 2), self.number(0, 3)
        partition = "PARTITION BY k " if self.chance(20) else ""
        every = f"{max(a, 1) + self.number(0, 1)} ROWS" if self.chance(70) else str(self.number(1, 5))
        return f"{partition}FROM {a}*j + {b} ROWS TO {a}*j + {b + e} ROWS EVERY {every}{self.lag()}"

    def own_rhythm(self) -> str:
        """Rates by a CASE, and loops."""
        back = self.number(0, 5)
        if self.chance(30):
            following = self.pick((f"t + {self.number(1, 6)}", "2 * t + 1"))
            loop = f"t = {self.number(0, 5)}; t < {self.number(0, 30)}; t = {following}"
            return f"FOR ({loop}) WINDOWIS (t - {back}, t)"
        period = self.number(2, 9)
        condition = f"t % {period} < {self.number(0, period)}"
        rates = f"CASE WHEN {condition} THEN {self.number(1, 4)} ELSE {self.number(1, 6)} END"
        return f"FROM t - {back} TO t EVERY {rates}{self.aligned()}"

    def lag(self) -> str:
        return f" {self.pick(('LAG', 'DELAY'))} {self.number(1, 4)}" if self.chance(15) else ""

    def full(self) -> str:
        return " FULL" if self.chance(15) else ""

    def aligned(self) -> str:
        return self.pick((" ALIGNED TO START", f" ALIGNED TO {self.number(0, 9)}")) if self.chance(25) else ""

    # Queries.

    def stream(self) -> str:
        return f"{self.pick(('S', 'S', 'S', 'P', 'L'))} {self.window()}"

    def derived(self) -> str:
        """A window over a relation-to-stream operator over a window."""
        operator = self.pick(("ISTREAM", "DSTREAM", "ISTREAM", "RSTREAM"))
        source = f"{self.pick(('S', 'P'))} {self.window() if operator != 'RSTREAM' else '[NOW]'}"
        return f"({operator}(SELECT {self.pick(('k, x', 'x AS k, k AS x'))} FROM {source})) {self.window()}"

    def item(self) -> str:
        return self.pick((self.stream, self.stream, self.derived, self.relation))()

    def relation(self) -> str:
        return self.pick(("R", "C"))

    def condition(self, alias: str) -> str:
        match self.number(0, 4):
            case 0:
                return f"{alias}.x > {self.number(0, 1)}"
            case 1:
                return f"{alias}.k = {alias}.x"
            case 2:
                return f"{alias}.x IN (SELECT i.k FROM {self.item()} AS i)"
            case 3:
                return f"NOT EXISTS (SELECT * FROM {self.item()} AS i WHERE i.k = {alias}.k)"
            case _:
                return f"{alias}.x = (SELECT MAX(i.x) FROM {self.item()} AS i WHERE i.k = {alias}.k)"

    def clocked(self) -> str:
        """A condition on the present instant."""
        condition = self.pick(
            (
                f"ts > NOW - {self.number(0, 6)}",
                f"ts + x <= NOW - {self.number(0, 3)}",
                f"ts + {self.number(0, 5)} < NOW AND NOW < ts + {self.number(5, 9)}",
                f"NOW = ts + x + {self.number(0, 3)}",
                f"NOW % {self.number(2, 4)} = x",
                f"NOW >= {self.number(0, 20)}",
            )
        )
        return f"SELECT k, x FROM S {self.pick(('[RANGE UNBOUNDED]', '[RANGE 5]', '[ROWS 3]'))} WHERE {condition}"

    def query(self) -> str:
        form = self.pick(("filter", "aggregate", "group", "join", "outer", "set", "distinct", "top", "clock"))
        first = f"{self.item()} AS a"
        match form:
            case "filter":
                return f"SELECT a.k, a.x FROM {first}" + (f" WHERE {self.condition('a')}" if self.chance(60) else "")
            case "aggregate":
                return f"SELECT COUNT(*) AS n, SUM(a.x) AS s, MAX(a.k) AS m FROM {first}"
            case "group":
                return f"SELECT a.k, COUNT(*) AS n FROM {first} GROUP BY a.k HAVING COUNT(*) > {self.number(0, 1)}"
            case "join":
                return f"SELECT a.x, b.x AS y FROM {first}, {self.item()} AS b WHERE a.k = b.k"
            case "outer":
                kind = self.pick(("LEFT", "RIGHT", "FULL"))
                return f"SELECT a.x, b.x AS y FROM {first} {kind} JOIN {self.item()} AS b ON a.k = b.k"
            case "set":
                word = self.pick(
                    ("UNION ALL", "UNION", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL", "UNION MAX", "EXCEPT STRICT")
                )
                return f"SELECT a.k FROM {first} {word} SELECT b.k FROM {self.item()} AS b"
            case "distinct":
                return f"SELECT DISTINCT a.k FROM {first}"
            case "top":
                return f"SELECT a.k, a.x FROM {first} ORDER BY a.x LIMIT {self.number(1, 2)}"
            case _:
                return self.clocked()


@st.composite
def cases(draw: Draw) -> Case:  # type: ignore[type-arg]
    """Streams of a few elements and a query over them."""
    rows: dict[str, list[tuple[object, ...]]] = {}
    times = st.lists(st.integers(0, 20), max_size=6).map(sorted)
    for name in ("S", "P"):
        rows[name] = [(draw(_VALUES), draw(_VALUES), ts) for ts in draw(times)]
    rows["L"] = [(draw(_VALUES), draw(_VALUES), ts, ts + draw(st.integers(1, 4))) for ts in draw(times)[:3]]
    rows["R"] = [(draw(_VALUES), draw(_VALUES), "+", ts) for ts in draw(times)[:4]]
    if rows["R"] and draw(st.booleans()):
        gone = rows["R"][0]
        last = rows["R"][-1][3]
        assert isinstance(last, int)
        rows["R"].append((gone[0], gone[1], "-", last + draw(st.integers(0, 5))))
    return Case(rows, WindowGrammar(draw).query())
