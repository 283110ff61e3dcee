"""SyncSQL 6.1: differential operators. What an operator puts out for one insert or delete, added to what it had put out
before, is the operator over the new input; an update is a delete and an insert.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.streaming import Tag
from continua.reference.elements import Modification
from continua.session import Session
from continua.windows.occurrences import Row
from tests.acceptance.sync_helpers import ask, written

Pair = tuple[int, int]
Bag = Counter[Pair]
Rows = Counter[Row]
Change = dict[Row, int]
RELATIONS = """
CREATE RELATION R (a INT, b INT, op STRING, ts INT) ORDERED BY ts TAGGED BY op;
CREATE RELATION T (a INT, b INT, op STRING, ts INT) ORDERED BY ts TAGGED BY op;
"""


class Operator(NamedTuple):
    """A query, its meaning over two bags, and the change that it answers to one row more (1) or less (-1) of R or T."""

    query: str
    meaning: Callable[[Bag, Bag], Rows]
    change: Callable[[Bag, Bag, str, Pair, int], Change]


def joined(r: Bag, t: Bag) -> Rows:
    """The rows (a, b, b') of R and T with equal a."""
    return Counter({(a, b, d): n * m for (a, b), n in r.items() for (c, d), m in t.items() if a == c})


def totals(r: Bag) -> Rows:
    """Count and sum of b for each a."""
    groups = {a for a, _ in r}
    counts = {a: sum(n for (c, _), n in r.items() if c == a) for a in groups}
    sums = {a: sum(b * n for (c, b), n in r.items() if c == a) for a in groups}
    return Counter({(a, counts[a], sums[a]): 1 for a in groups})


def of_first(change: Callable[[Bag, Pair, int], Change]) -> Callable[[Bag, Bag, str, Pair, int], Change]:
    """A unary operator over R answers nothing to a change of T."""
    return lambda r, _, name, row, sign: change(r, row, sign) if name == "R" else {}


def of_join(r: Bag, t: Bag, name: str, row: Pair, sign: int) -> Change:
    """(R ± r) ⋈ T = R ⋈ T ± r ⋈ T, and the same on the right."""
    new = Counter({row: 1})
    found = joined(new, t) if name == "R" else joined(r, new)
    return {key: sign * count for key, count in found.items()}


def of_difference(r: Bag, t: Bag, name: str, row: Pair, sign: int) -> Change:
    """A row of R counts when R has it more often than T; a row of T takes one away, or gives it back."""
    if name == "R":
        return {row: sign} if (r[row] >= t[row] if sign > 0 else r[row] > t[row]) else {}
    return {row: -sign} if (r[row] > t[row] if sign > 0 else r[row] >= t[row]) else {}


def of_intersection(r: Bag, t: Bag, name: str, row: Pair, sign: int) -> Change:
    """A row counts as long as the other side has at least as many."""
    own, other = (r[row], t[row]) if name == "R" else (t[row], r[row])
    return {row: sign} if (own < other if sign > 0 else own <= other) else {}


def of_aggregation(r: Bag, row: Pair, sign: int) -> Change:
    """The row of the group goes, and comes back with its new totals."""
    old = {key: -1 for key in totals(r) if key[0] == row[0]}
    after = r + Counter({row: 1}) if sign > 0 else r - Counter({row: 1})
    new = {key: 1 for key in totals(after) if key[0] == row[0]}
    return added(old, new)


def added(left: Change, right: Change) -> Change:
    sums = {key: left.get(key, 0) + right.get(key, 0) for key in left | right}
    return {key: count for key, count in sums.items() if count}


OPERATORS = {
    "select": Operator(
        "select a, b from ℜ(R) where a < b",
        lambda r, _: Counter({row: n for row, n in r.items() if row[0] < row[1]}),
        of_first(lambda _, row, sign: {row: sign} if row[0] < row[1] else {}),
    ),
    "project": Operator(
        "select b + 1 as c from ℜ(R)",
        lambda r, _: sum((Counter({(b + 1,): n}) for (_a, b), n in r.items()), Counter()),
        of_first(lambda _, row, sign: {(row[1] + 1,): sign}),
    ),
    "join": Operator("select R.a, R.b, T.b from ℜ(R) R, ℜ(T) T where R.a = T.a", joined, of_join),
    "union": Operator(
        "select a, b from ℜ(R) union all select a, b from ℜ(T)",
        lambda r, t: Counter([*r.elements(), *t.elements()]),
        lambda _r, _t, _name, row, sign: {row: sign},
    ),
    "difference": Operator(
        "select a, b from ℜ(R) except all select a, b from ℜ(T)", lambda r, t: Counter(r - t), of_difference
    ),
    "intersection": Operator(
        "select a, b from ℜ(R) intersect all select a, b from ℜ(T)", lambda r, t: Counter(r & t), of_intersection
    ),
    "duplicate elimination": Operator(
        "select distinct a, b from ℜ(R)",
        lambda r, _: Counter(set(r)),
        of_first(lambda r, row, sign: {row: sign} if r[row] == (0 if sign > 0 else 1) else {}),
    ),
    "aggregation": Operator(
        "select a, count(*) as n, sum(b) as s from ℜ(R) group by a",
        lambda r, _: totals(r),
        of_first(of_aggregation),
    ),
}

Step = tuple[str, Pair, int]
CHOICES = st.lists(
    st.tuples(st.sampled_from("RT"), st.tuples(st.integers(0, 1), st.integers(0, 2)), st.booleans()), max_size=10
)


def valid(choices: Sequence[tuple[str, Pair, bool]]) -> list[Step]:
    """Inserts, and deletes of rows that are there."""
    content = {"R": Bag(), "T": Bag()}
    steps = []
    for name, row, wants_delete in choices:
        sign = -1 if wants_delete and content[name][row] else 1
        content[name][row] += sign
        steps.append((name, row, sign))
    return steps


def session_over(steps: Sequence[Step]) -> Session:
    """The steps at the instants 1, 2, ..."""
    session = Session(dialect="sync")
    session.execute(RELATIONS)
    for name in "RT":
        rows = [(*row, "+" if sign > 0 else "-", at) for at, (n, row, sign) in enumerate(steps, 1) if n == name]
        session.insert(name, rows)
    return session


def applied(state: Rows, modifications: Sequence[Modification], key: Sequence[int]) -> Rows:
    """A relation after modifications; deletes and updates find their row by the key, if there is one."""
    after = Counter(state)
    for m in modifications:
        if m.op in "-u":
            (old,) = (row for row in after if all(row[i] == m.row[i] for i in key)) if key else (m.row,)
            after[old] -= 1
            after = +after
        if m.op in "+u":
            after[m.row] += 1
    return after


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=20, deadline=None, print_blob=True)
@given(choices=CHOICES)
def test_S16_the_output_for_an_insert_or_a_delete_is_what_the_equation_says(
    name: str, choices: list[tuple[str, Pair, bool]]
) -> None:
    operator, steps = OPERATORS[name], valid(choices)
    session = session_over(steps)
    query = ask(session, operator.query)
    plan = query.bound.plan
    assert isinstance(plan, Tag)
    key = [plan.schema.names.index(k) for k in plan.key]
    output = session.reference([query])[query.name].tagged(plan)
    content = {"R": Bag(), "T": Bag()}
    state: Rows = Counter()
    for at, (relation, row, sign) in enumerate(steps, 1):
        change = operator.change(content["R"], content["T"], relation, row, sign)
        content[relation][row] += sign
        content[relation] = +content[relation]
        modifications = [m for m in output if m.instant == at]
        after = applied(state, modifications, key)
        assert after == operator.meaning(content["R"], content["T"]), f"at {at}"
        assert after == added(dict(state), change), f"at {at}"
        assert sum(map(abs, change.values())) == sum(2 if m.op == "u" else 1 for m in modifications), f"at {at}"
        state = after
    assert all(1 <= m.instant <= len(steps) for m in output)


KEYED = "CREATE RELATION R (k INT, v INT, op STRING, ts INT) ORDERED BY ts TAGGED BY op KEY k"
UPDATES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=8)


@pytest.mark.parametrize(
    "text",
    [
        "select k, v from ℜ(R) where v > 1",
        "select v from ℜ(R)",
        "select distinct v from ℜ(R)",
        "select v, count(*) as n from ℜ(R) group by v",
        "select sum(v) as s from ℜ(R)",
        "select X.k, Y.k from ℜ(R) X, ℜ(R) Y where X.v < Y.v",
        "select v from ℜ(R) where k = 0 except select v from ℜ(R) where k = 1",
    ],
)
@settings(max_examples=10, deadline=None, print_blob=True)
@given(values=UPDATES)
def test_S16_an_update_is_a_delete_and_an_insert(text: str, values: list[Pair]) -> None:
    updates: list[Row] = []
    pairs: list[Row] = []
    current: dict[int, int] = {}
    for at, (k, v) in enumerate(values, 1):
        if k in current:
            updates.append((k, v, "u", at))
            pairs.append((k, current[k], "-", at))
        else:
            updates.append((k, v, "+", at))
        pairs.append((k, v, "+", at))
        current[k] = v
    outputs = []
    for rows in (updates, pairs):
        session = Session(dialect="sync")
        session.execute(KEYED)
        session.insert("R", rows)
        outputs.append(written(session.answers([ask(session, text)])))
    assert outputs[0] == outputs[1]


def test_S16_the_equations_of_the_selection_by_hand() -> None:
    steps: list[Step] = [("R", (0, 2), 1), ("R", (1, 1), 1), ("R", (0, 2), 1), ("R", (1, 1), -1), ("R", (0, 2), -1)]
    session = session_over(steps)
    found = written(session.answers([ask(session, OPERATORS["select"].query)]))
    assert found == ["+<0,2>1", "+<0,2>3", "-<0,2>5"]


def test_S16_the_equations_of_the_difference_by_hand() -> None:
    steps: list[Step] = [
        ("R", (0, 0), 1),
        ("T", (0, 0), 1),
        ("T", (0, 0), 1),
        ("R", (0, 0), 1),
        ("R", (0, 0), 1),
        ("T", (0, 0), -1),
        ("R", (0, 0), -1),
    ]
    session = session_over(steps)
    found = written(session.answers([ask(session, OPERATORS["difference"].query)]))
    assert found == ["+<0,0>1", "-<0,0>2", "+<0,0>5", "+<0,0>6", "-<0,0>7"]
