"""Astral, section 5.2: queries that start at different times, and windows of one found among those of the other."""

from __future__ import annotations

from itertools import product

import pytest

from continua.physical import nodes
from continua.physical.placement import in_order
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.later_queries import Continuation, NotTransposed, outcomes
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.sharing.transposition import Description, NotTransposedError, synchronization_factor
from continua.windows.measures import Linear, Rate
from continua.windows.occurrences import Element, Timeline
from continua.windows.sequence import SequenceWindow

START = 20
"""t0 of the earlier query."""


def windows(a: int, b: int, c: int, d: int, rate: int, start: int) -> Description:
    """The sequence [a i + b, c i + d, r] of a query with a start, in instants."""
    return Description(Linear(a, b + start, start), Linear(c, d + start), rate)


def failing(later: Description, earlier: Description, start: int, slide: int = 0) -> str | None:
    """The condition of property 4 that does not hold."""
    try:
        synchronization_factor(later, earlier, start, slide)
    except NotTransposedError as failed:
        return failed.condition
    return None


@pytest.mark.parametrize("n", range(4))
def test_A6_example_7_has_one_valid_matching_n_1(n: int) -> None:
    """[2i + 3, 5i + 3, 5] from t0 and [2i + 2, 5i + 8, 5] from t1 = t0 + 5n: 2 = 5 - 3n."""
    later, earlier = windows(2, 2, 5, 8, 5, START + 5 * n), windows(2, 3, 5, 3, 5, START)
    if n == 1:
        assert synchronization_factor(later, earlier, START + 5) == 2, "K = 1 + (t1 - t0) / 5"
    else:
        assert failing(later, earlier, START + 5 * n) == "LOWER_BOUND"


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 6])
def test_A6_example_7_starts_must_be_a_number_of_rates_apart(apart: int) -> None:
    later, earlier = windows(2, 2, 5, 8, 5, START + apart), windows(2, 3, 5, 3, 5, START)
    assert failing(later, earlier, START + apart) == "SYNCHRONIZATION"


def test_A6_each_condition_of_property_4_is_told() -> None:
    earlier = windows(5, 0, 5, 3, 5, START)
    assert failing(windows(5, 0, 4, 3, 5, START + 5), earlier, START + 5) == "FORM"
    assert failing(windows(5, 0, 5, 3, 5, START + 7), earlier, START + 7) == "SYNCHRONIZATION"
    assert failing(windows(5, 1, 5, 3, 5, START + 5), earlier, START + 5) == "LOWER_BOUND"
    slow = windows(2, 0, 4, 3, 5, START)
    assert failing(windows(2, 0, 4, 3, 5, START + 5), slow, START + 5) == "UPPER_BOUND"
    assert synchronization_factor(windows(5, 0, 5, 3, 5, START + 10), earlier, START + 10) == 2


def test_A6_positions_slide_by_the_elements_between_the_starts() -> None:
    """Corollary 2 for positions: D, the elements between the starts, is a multiple of the rate."""
    rows = Description(Linear(10, 0, 0), Linear(10, 9), 10)
    assert synchronization_factor(rows, rows, 0, slide=30) == 3
    assert failing(rows, rows, 0, slide=31) == "SYNCHRONIZATION"


def test_A6_corollary_2_usual_windows_are_transposed_as_they_are() -> None:
    """c = r, a = 0 and b <= 0 or a = r, and t1 - t0 a multiple of r."""
    for a, b, c, d, rate, apart in product((0, 2, 3), (-4, 0, 1), (2, 3), (0, 5), (2, 3), range(7)):
        later, earlier = windows(a, b, c, d, rate, START + apart), windows(a, b, c, d, rate, START)
        natural = c == rate and ((a == 0 and b <= 0) or a == rate) and apart % rate == 0
        if natural:
            assert synchronization_factor(later, earlier, START + apart) == apart // rate


def content(window: SequenceWindow, elements: list[Element], t: int, start: int, since: int) -> list[int]:
    """What is in a window by definition, of elements from an instant on."""
    stream = Timeline(elements, start=start, chronon=1)
    return [o.instant for o in window.content(stream, t, lambda _: 0) if o.instant >= since]


def test_A6_property_4_by_the_definition_of_windows() -> None:
    """Where its conditions hold, the earlier windows without what came before t1 are the later ones."""
    elements = [Element((t,), t, t + 1, t) for t in range(START, START + 60)]
    held = 0
    cases = product((0, 2, 5), (0, 2, 3), (0, 2, 3), (3, 4, 5), (3, 8), (3, 8), (5,), (0, 5, 6))
    for a, b, b2, c, d, d2, rate, apart in cases:
        start = START + apart
        if c > rate or a > c or max(b, b2) > min(d, d2):
            continue
        earlier, later = windows(a, b, c, d, rate, START), windows(a, b2, c, d2, rate, start)
        if failing(later, earlier, start) is not None:
            continue
        held += 1
        first = SequenceWindow(earlier.alpha, earlier.beta, Rate(rate), start=START)
        second = SequenceWindow(later.alpha, later.beta, Rate(rate), start=start)
        for t in range(later.beta(0), START + 60):
            assert content(first, elements, t, START, start) == content(second, elements, t, start, start)
    assert held > 20


Q1 = "SELECT k, COUNT(*) AS n FROM S [FROM 2*j + 3 TO 5*j + 3 EVERY 5 ALIGNED TO START] GROUP BY k"
Q2 = "SELECT k, COUNT(*) AS n FROM S [FROM 2*j + 2 TO 5*j + 8 EVERY 5 ALIGNED TO START] GROUP BY k"


def outcome(first: str, second: str, apart: int) -> Continuation | NotTransposed:
    """How the second of two queries goes on with the operators of the first, or why it does not."""
    session = Session(master="none")
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts; REGISTER QUERY earlier AS {first};")
    session.execute(f"SET start_time = {apart}; REGISTER QUERY later AS {second};")
    ((_, found),) = outcomes(list(session.queries.values()), [])
    return found


def test_A6_example_7_in_a_run() -> None:
    found = outcome(Q1, Q2, 5)
    assert isinstance(found, Continuation)
    (window,) = found.later.windows
    assert (window.windows, window.theorem, found.later.after) == (2, "property 4", 13)
    for apart in (10, 15):
        missed = outcome(Q1, Q2, apart)
        assert isinstance(missed, NotTransposed)
        assert missed.condition == "LOWER_BOUND"
    missed = outcome(Q1, Q2, 7)
    assert isinstance(missed, NotTransposed)
    assert missed.condition == "SYNCHRONIZATION"


def test_A6_example_7_by_its_values() -> None:
    """With an element an instant: window j of Q2 is [2j + 7, 5j + 13], which is window j + 2 of Q1."""
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    session.execute(f"REGISTER QUERY one AS {Q1}; SET start_time = 5; REGISTER QUERY two AS {Q2};")
    session.insert("S", [(0, t) for t in range(40)])
    one, two = session.queries["one"], session.queries["two"]
    assert [session.snapshot(two, t) for t in (12, 13, 18, 23)] == [[], [(0, 7)], [(0, 10)], [(0, 13)]]
    assert [session.snapshot(one, t) for t in (13, 18, 23)] == [[(0, 7)], [(0, 10)], [(0, 13)]]
    queries = [one, two]
    with BoundedRun(queries, session.inputs.read(set(one.sources)), [], InProcess(), BoundedOptions(7)) as run:
        run.to_the_end()
        found = {q.name: [(a.instant, a.op, a.row) for a in run.answers() if a.query == q.name] for q in queries}
        shared = {node.id for node in in_order(run.engine.graphs) if isinstance(node, nodes.Aggregate)}
    assert found == {q.name: [(a.instant, a.op, a.row) for a in session.answers([q])] for q in queries}
    assert len(shared) == 2, "one for both, and one for the initial phase of the later"
