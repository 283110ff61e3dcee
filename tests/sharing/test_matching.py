"""Queries that are answered from others: never from one that is not enough, and from most that are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.algebra.base import Plan
from continua.algebra.traverse import nodes_of
from continua.answers.query import Answer
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runs.plans import candidate, chosen_forms, matching_of
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.sharing import answering
from continua.sharing.query_matching import Answered, Candidate, Missed, match, relation_of, relation_of_plan
from continua.sharing.recorded_plans import recalled, recorded
from tests.sharing.fuzz_matching import LEAST_RECALL, check
from tests.sharing.matching_pairs import DEFINITIONS, KINDS, World, pair

VIEW = "SELECT k, x, COUNT(*) AS n, SUM(y) AS s, MIN(z) AS m FROM S [RANGE 6 SLIDE 2] WHERE x > 1 GROUP BY k, x"


def session(*texts: str, setting: str = "") -> Session:
    found = Session()
    found.execute(DEFINITIONS + setting)
    found.execute(";".join(f"REGISTER QUERY q{i} AS {text}" for i, text in enumerate(texts)))
    return found


def outcome(query: str, view: str = VIEW) -> Answered | Missed | None:
    """What comes of matching a query with a view."""
    found = session(view, query)
    return match(candidate(found.queries["q1"]), candidate(found.queries["q0"]))


def condition(query: str, view: str = VIEW) -> str:
    """The condition that fails; empty where none does."""
    found = outcome(query, view)
    return found.condition if isinstance(found, Missed) else "" if isinstance(found, Answered) else "no inputs"


def test_random_pairs_agree_with_the_reference_and_most_that_are_contained_are_found() -> None:
    found = check(range(200))
    print("\n".join(found.lines()))
    assert not found.wrong, found.wrong[0]
    assert found.recall() >= LEAST_RECALL, found.missed[0]
    assert all(found.built[kind] > 5 for kind in KINDS)


def window(size: int, slide: int = 2) -> str:
    return f"FROM S [RANGE {size} SLIDE {slide}]"


@pytest.mark.parametrize(
    ("query", "failed"),
    [
        (f"SELECT k, COUNT(*) AS n {window(6)} GROUP BY k", "PREDICATE"),
        (f"SELECT k, COUNT(*) AS n {window(6)} WHERE x > 0 GROUP BY k", "PREDICATE"),
        (f"SELECT k, COUNT(*) AS n {window(6, 3)} WHERE x > 1 GROUP BY k", "SYNCHRONIZATION"),
        (f"SELECT k, COUNT(*) AS n {window(6)} WHERE x > 1 AND y = 2 GROUP BY k", "COLUMNS"),
        (f"SELECT z, COUNT(*) AS n {window(6)} WHERE x > 1 GROUP BY z", "COLUMNS"),
        (f"SELECT k, SUM(x * y) AS n {window(6)} WHERE x > 1 GROUP BY k", "COLUMNS"),
        (f"SELECT k, COUNT(DISTINCT y) AS n {window(6)} WHERE x > 1 GROUP BY k", "COLUMNS"),
        (f"SELECT k, x {window(6)} WHERE x > 1", "GROUPING"),
        (f"SELECT k, COUNT(*) AS n {window(7)} WHERE x > 1 GROUP BY k", "no inputs"),
        ("SELECT k, COUNT(*) AS n FROM S [ROWS 6] WHERE x > 1 GROUP BY k", "no inputs"),
        (f"SELECT k, COUNT(*) AS n {window(6)} WHERE x > 1 OR y > 1 GROUP BY k", "PREDICATE"),
        (f"SELECT k, COUNT(*) AS n {window(6)} WHERE NOT x <= 1 AND x IS NOT NULL GROUP BY k", ""),
        (f"SELECT COUNT(*) AS n, AVG(x) AS a {window(6, 4)} WHERE x BETWEEN 2 AND 5 AND (k = 1 OR k = 2)", "COLUMNS"),
        (f"SELECT COUNT(*) AS n, MAX(x) AS a {window(6, 4)} WHERE x BETWEEN 2 AND 5 AND (k = 1 OR k = 2)", ""),
    ],
)  # fmt: skip
def test_the_condition_that_fails_is_named(query: str, failed: str) -> None:
    assert condition(query) == failed


@pytest.mark.parametrize(
    ("known", "asked", "holds"),
    [
        ("x > 5", "x >= 6", True),
        ("x >= 5", "x > 5", False),
        ("x = 5", "x IN (4, 5)", True),
        ("x IN (4, 5)", "x = 5", False),
        ("x IN (4, 5) AND x > 4", "x = 5", True),
        ("x > 5", "x IS NOT NULL", True),
        ("x IS NULL", "x IS NOT NULL", False),
        ("x NOT IN (1, 2)", "x <> 1", True),
        ("x NOT IN (1, NULL)", "x <> 2", False),
        ("x = k AND k > 3", "x > 2", True),
        ("x = k OR k > 3", "x > 2", False),
        ("x < k", "x <= k", True),
        ("x < k", "k > x", True),
        ("x < k", "x <> k", True),
        ("x <= k", "x < k", False),
        ("x < 3 AND k > 4", "x < k", True),
        ("x < 3 OR x > 7", "x <> 5", True),
        ("x < 3 OR x > 5", "x <> 5", True),
        ("x < 3 OR x > 4", "x <> 5", False),
        ("x > 1 AND x < 3", "x = 2", True),
        ("z > 'b'", "z >= 'b'", True),
        ("z LIKE 'a%'", "z LIKE 'a%'", True),
        ("z LIKE 'a%'", "z LIKE 'ab%'", False),
        ("x % 2 = 0", "0 = x % 2", True),
        ("x % 4 = 0", "x % 2 = 0", False),
        ("x > 5 AND x < 2", "y = 7", True),
    ],
)
def test_implication_of_predicates(known: str, asked: str, holds: bool) -> None:
    text = "SELECT k, x, y, z FROM S [RANGE 6] WHERE "
    assert isinstance(outcome(text + known, text + asked), Answered) == holds


def test_columns_that_are_equal_stand_for_each_other() -> None:
    view = "SELECT a.k, a.x, b.w FROM S [RANGE 6] a, P [RANGE 4] b WHERE a.k = b.k"
    found = outcome("SELECT b.k, w FROM P [RANGE 4] b JOIN S [RANGE 6] a ON b.k = a.k WHERE x = 3", view)
    assert isinstance(found, Answered)
    assert condition("SELECT b.k, w FROM P [RANGE 4] b JOIN S [RANGE 6] a ON b.k = a.x", view) == "PREDICATE"


def test_what_can_fail_is_not_asked_of_more_rows() -> None:
    plain = "SELECT k, x FROM S [RANGE 6] WHERE k > 1"
    assert condition(plain, "SELECT k, x, x * y AS p FROM S [RANGE 6] WHERE k > 0") == "CAN_FAIL"
    assert condition(f"{plain} AND x + y > 3", "SELECT k, x, y FROM S [RANGE 6]") == "CAN_FAIL"
    same = "SELECT k, x * y AS p FROM S [RANGE 6] WHERE k > 0"
    assert condition(same, "SELECT k, x, x * y AS p FROM S [RANGE 6] WHERE 0 < k") == ""


def test_an_rstream_lists_what_is_there_at_its_own_instants() -> None:
    text = "SELECT RSTREAM(k, x) FROM S [RANGE 6 SLIDE {}] WHERE x > {}"
    assert condition(text.format(4, 3), text.format(2, 1)) == "RSTREAM"
    assert condition("SELECT ISTREAM(k, x) FROM S [RANGE 6 SLIDE 4] WHERE x > 3", text.format(2, 1)) == ""


def test_queries_of_a_run_are_answered_from_one_another_in_any_order() -> None:
    fine = "SELECT k, x, y FROM S [RANGE 6] WHERE x > 1"
    middle = "SELECT k, x FROM S [RANGE 6] WHERE x > 2"
    narrow = "SELECT k FROM S [RANGE 6] WHERE x > 3"
    for texts in ((fine, middle, narrow), (narrow, middle, fine), (middle, fine, narrow)):
        found = matching_of(list(session(*texts).queries.values()))
        assert set(found.answered) == {f"q{i}" for i, text in enumerate(texts) if text != fine}


def test_matching_can_be_switched_off() -> None:
    text = "SELECT k, x FROM S [RANGE 6] WHERE x > {}"
    found = session(text.format(1), text.format(2), setting="SET disabled_rules = 'query_matching';")
    assert not matching_of(list(found.queries.values())).answered


def test_a_plan_is_written_down_and_read_back() -> None:
    average = f"SELECT k, AVG(y) AS a {window(6)} WHERE x IN (2, 3) GROUP BY k HAVING COUNT(y) > 1"
    found = session(VIEW, average, VIEW.replace("MIN(z) AS m", "MIN(z) AS m, COUNT(y) AS c"))
    for form in chosen_forms(list(found.queries.values()), []):
        assert recalled(recorded(form.query.optimized)) == form.query.optimized


def texts_of(answers: list[Answer]) -> list[str]:
    return sorted(map(repr, answers))


def test_the_engine_agrees_with_the_reference_however_the_input_is_cut(tmp_path: Path) -> None:
    world = World(random.Random(5))
    made = [pair(seed) for seed in range(40, 60)]
    for number, one in enumerate(m for m in made if m.relation == "contained"):
        world.session.execute(f"REGISTER QUERY v{number} AS {one.view}; REGISTER QUERY w{number} AS {one.query}")
    queries = list(world.session.queries.values())
    forms = chosen_forms(queries, [])
    assert sum(form.own is not None for form in forms) > len(queries) // 4
    inputs = world.session.inputs.read({s for q in queries for s in q.sources})
    expected = texts_of(world.session.answers())
    for options in (BoundedOptions(None, partitions=1), BoundedOptions(3, tmp_path / "there", partitions=2)):
        with BoundedRun(queries, inputs, [], InProcess(), options) as run:
            run.to_the_end()
            assert texts_of(run.answers()) == expected


NARROW = f"SELECT k, SUM(y) AS s, COUNT(*) AS n {window(6)} WHERE x > 2 GROUP BY k"
ROWS = [(i % 3, i % 5, i, "a", i // 2) for i in range(60)]


def test_a_live_query_goes_on_from_a_view_that_has_left(tmp_path: Path) -> None:
    def begun(*texts: str) -> Session:
        found = Session(master="none")
        found.execute(DEFINITIONS + ";".join(texts))
        found.start(options=LiveOptions(checkpoint=tmp_path / "there", partitions=1, durable=False))
        return found

    view, query = f"REGISTER QUERY wide AS {VIEW}", f"REGISTER QUERY narrow AS {NARROW}"
    found = begun(view, query)
    assert found.live is not None
    plan = found.live.queries["narrow"].optimized
    assert any(name.startswith("wide.") for name in names_in(plan))
    found.insert("S", ROWS[:30])
    found.live.process()
    found.live.drop("wide")
    found.stop()
    again = begun(query)
    assert again.live is not None
    assert again.live.queries["narrow"].optimized == plan
    again.insert("S", ROWS[30:])
    again.live.process()
    until = ROWS[-1][-1] - 1
    judge = session(NARROW)
    judge.insert("S", ROWS)
    expected = judge.snapshot(judge.queries["q0"], until)
    assert sorted(map(repr, again.live.content("narrow", until))) == sorted(map(repr, expected))
    again.stop()


def names_in(plan: Plan) -> set[str]:
    """The columns of all parts of a plan."""
    return {name for node in nodes_of(plan) for name in node.schema.names}


def test_plans_of_pairs_are_the_same_relation() -> None:
    found = session("SELECT k, x FROM S [RANGE 6]", "SELECT x FROM S [RANGE 6] WHERE k = 1")
    view, query = found.queries.values()
    answer = match(candidate(query), candidate(view))
    assert isinstance(answer, Answered)
    assert answer.text == "q1 is answered from q0 by view matching (5.2), with filter S.k = 1"
    assert relation_of_plan(answer.build(relation_of(candidate(view)))).schema.names == query.columns


def test_what_is_compared_does_not_grow_with_the_square_of_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def counted(query: Candidate, view: Candidate) -> Answered | Missed | None:
        asked.append((query.name, view.name))
        return match(query, view)

    monkeypatch.setattr(answering, "match", counted)
    synchronized = [
        f"SELECT k, COUNT(*) AS n FROM S [RANGE 12 SLIDE {2 + i % 2}] WHERE x > 1 AND y = {i} GROUP BY k"
        for i in range(40)
    ]
    of_many_inputs = [f"SELECT k FROM S [RANGE {i + 20}]" for i in range(40)]
    known = [candidate(q) for q in session(*synchronized, *of_many_inputs).queries.values()]
    found = answering.answering(known, most=2)
    assert not found.answered
    assert len(asked) < 4 * len(known)
