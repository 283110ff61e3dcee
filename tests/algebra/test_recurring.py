"""Conditions on a time point that recur: the instants that are worked out meet them, and no others."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from continua.algebra.recurring import recurring
from continua.algebra.relational import Filter
from continua.algebra.traverse import nodes_of
from continua.instants import INFINITY, instant_of
from continua.session import Session
from continua.windows.change_points import EVERY_INSTANT, Points
from continua.windows.periodic import Periodic

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


class Conditions:
    """Random conditions on a time point."""

    def __init__(self, rng: random.Random, timestamps: bool) -> None:
        self.rng = rng
        self._part = self._of_timestamp if timestamps else self._of_tick

    def condition(self, depth: int = 2) -> str:
        rng = self.rng
        if depth and rng.random() < 0.6:
            left, right = self.condition(depth - 1), self.condition(depth - 1)
            return rng.choice((f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"))
        return self._part()

    def _of_tick(self) -> str:
        rng = self.rng
        step = rng.randint(2, 9)
        value = rng.choice(
            (
                f"t % {step}",
                f"(t + {rng.randint(0, 5)}) % {step}",
                f"t DIV {rng.randint(2, 4)} % {step}",
                f"MOD(t, {step}) * 2 - 1",
                f"t % {2 * step} DIV 2",
                f"t % {2 * step} % {step}",
                f"t % {step} - t % {rng.randint(2, 5)}",
            )
        )
        return self._compared(value, step)

    def _of_timestamp(self) -> str:
        rng = self.rng
        unit, most = rng.choice(
            (("SECOND", 60), ("MINUTE", 60), ("HOUR", 24), ("DAYOFWEEK", 8), ("DAY", 32), ("MONTH", 13), ("QUARTER", 5))
        )
        number = rng.randint(2, 9)
        return rng.choice(
            (
                self._compared(f"{unit}(t)", most),
                self._compared(f"EXTRACT({unit} FROM t) % {number}", number),
                self._compared(f"UNIX_SECONDS(t) % {7 * number}", 7 * number),
                self._compared(f"HOUR(t) - MINUTE(t) DIV {number}", 24),
                f"t % INTERVAL '{number}' HOURS {self._comparison()} INTERVAL '{rng.randint(0, 9)}' MINUTES",
                f"(t + INTERVAL '90' MINUTES) % INTERVAL '1' DAY >= INTERVAL '{number}' HOURS",
                f"t {self._comparison()} DATE_TRUNC('{rng.choice(('minute', 'hour', 'day'))}', t)",
            )
        )

    def _comparison(self) -> str:
        return self.rng.choice(("=", "<>", "<", "<=", ">", ">="))

    def _compared(self, value: str, most: int) -> str:
        low, high = sorted(self.rng.randint(0, most) for _ in range(2))
        return self.rng.choice(
            (f"{value} {self._comparison()} {low}", f"{value} BETWEEN {low} AND {high}", f"{value} IN ({low}, {high})",
             f"{low} {self._comparison()} {value}")
        )  # fmt: skip


def meeting(conditions: list[str], values: list[object], kind: str) -> list[tuple[Periodic | None, list[object]]]:
    """For each condition the instants that are worked out, and those among some values that meet it."""
    session = Session()
    session.execute(f"CREATE TABLE T (t {kind})")
    session.insert("T", [(value,) for value in values])
    found = []
    for condition in conditions:
        query = session.sql(f"SELECT t FROM T WHERE {condition}")
        assert query is not None
        predicate = next(node.predicate for node in nodes_of(query.bound.plan) if isinstance(node, Filter))
        found.append((recurring(predicate, "T.t"), [answer.row[0] for answer in session.answers([query])]))
    return found


def instants(moments: list[object]) -> set[int]:
    return {instant_of(m) if isinstance(m, datetime) else int(str(m)) for m in moments}


@pytest.mark.parametrize("timestamps", [False, True], ids=["ticks", "timestamps"])
def test_what_is_worked_out_are_the_instants_that_meet_the_condition(timestamps: bool) -> None:
    rng = random.Random(f"recurring {timestamps}")
    drawn = Conditions(rng, timestamps)
    conditions = [drawn.condition() for _ in range(40)]
    values: list[object] = list(range(150))
    if timestamps:
        whole = [EPOCH + rng.randrange(40_000) * _DAY + timedelta(minutes=rng.randrange(1440)) for _ in range(250)]
        values = [m + timedelta(microseconds=rng.choice((-1, 0, 0, 1))) for m in whole]
    answers = meeting(conditions, values, "TIMESTAMP" if timestamps else "BIGINT")
    for condition, (found, met) in zip(conditions, answers, strict=True):
        if found is None and re.search(r"MONTH|QUARTER|\bDAY\b", condition):
            continue  # four hundred years of days and hours are too many stretches
        assert found is not None, condition
        assert {t for t in instants(values) if found.contains(t)} == instants(met), condition


@pytest.mark.parametrize(
    "condition", ["YEAR(t) = 2024", "t > TIMESTAMP '2024-01-01 00:00:00'", "t IS NULL", "HOUR(t) = n", "NOW > t"]
)
def test_what_does_not_recur_is_not_worked_out(condition: str) -> None:
    session = Session()
    session.execute("CREATE TABLE T (t TIMESTAMP, n INT); CREATE STREAM S (ts TIMESTAMP) ORDERED BY ts")
    query = session.sql(f"SELECT t FROM T, S WHERE {condition}")
    assert query is not None
    predicate = next(node.predicate for node in nodes_of(query.bound.plan) if isinstance(node, Filter))
    assert recurring(predicate, "T.t") is None


def drawn_instants(rng: random.Random) -> Periodic:
    period = rng.randint(1, 24)
    return Periodic.of(period, [sorted(rng.choices(range(period + 1), k=2)) for _ in range(rng.randint(0, 4))])  # type: ignore[misc]


def test_sets_of_recurring_instants_are_sets() -> None:
    rng = random.Random(5)
    for _ in range(300):
        one, two = drawn_instants(rng), drawn_instants(rng)
        either, both = one.or_else(two), one.and_also(two)
        assert either is not None
        assert both is not None
        for t in range(60):
            assert either.contains(t) == (one.contains(t) or two.contains(t))
            assert both.contains(t) == (one.contains(t) and two.contains(t))
            assert one.inverted().contains(t) == (not one.contains(t))


def test_the_next_and_the_last_of_recurring_instants() -> None:
    rng = random.Random(6)
    for _ in range(300):
        found, chronon = drawn_instants(rng), rng.randint(1, 4)
        among = found.among(chronon)
        members = [t for t in range(-200, 500) if t % chronon == 0 and found.contains(t)]
        assert among is not None
        places = np.arange(0, 120, chronon, dtype=np.int64)
        if not members:
            assert among.ceils(places).tolist() == [INFINITY] * len(places)
            continue
        expected = [min(m for m in members if m >= t) for t in places]
        assert among.ceils(places).tolist() == expected
        assert [among.ceil(int(t)) for t in places] == expected
        last = [among.floor(int(t)) // chronon * chronon for t in places]
        assert last == [max(m for m in members if m <= t) for t in places]


def test_points_that_are_regular_are_known_as_such() -> None:
    assert Periodic.at(Points(6, 2)).points == Points(6, 2)
    assert Periodic.of(12, [(2, 3), (8, 9)]).points == Points(6, 2)
    assert Periodic.of(3, [(0, 2), (2, 3)]).points == EVERY_INSTANT
    assert Periodic.of(12, [(2, 3), (9, 10)]).points is None
    assert Periodic.of(120, [(0, 60)]).regular(60) == Points(120, 0)
