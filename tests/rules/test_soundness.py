"""Queries on which a rule once changed the answer: with all rules it is that of the plan as it was written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import FALSE, Call, Literal
from continua.algebra.relational import Filter, Join, JoinKind
from continua.errors import EvaluationError
from continua.rules import driver
from continua.rules.driver import Phase, rewrite
from continua.rules.examples import plan_of
from continua.rules.laws import empty_plans
from continua.rules.rewriting_text import rewrites_text
from continua.rules.rule import Facts, Rule
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.types import BOOLEAN, INT

DEFINITIONS = """
CREATE STREAM S (x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM N (a INT NOT NULL, ts BIGINT) ORDERED BY ts;
CREATE STREAM T (k INT, v STRING, d DOUBLE, ts BIGINT) ORDERED BY ts;
CREATE STREAM I (k INT, a BIGINT, b BIGINT) VALID FROM a TO b;
"""
ROWS: dict[str, list[tuple[object, ...]]] = {
    "S": [(1, i) for i in range(20)],
    "P": [(9, 1)],
    "N": [(1, 1)],
    "T": [(1, "a", 1e16, 1), (1, "b", 2.0, 1), (2, "3", 0.5, 2)],
    "I": [(1, 1, 4)],
}


def _answers(session: Session) -> list[str] | str:
    queries = list(session.queries.values())
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    try:
        with BoundedRun(queries, inputs, [], InProcess(), BoundedOptions(2)) as run:
            run.to_the_end()
            return sorted(map(repr, run.answers()))
    except EvaluationError as error:
        return error.condition


def _expected(session: Session) -> list[str] | str:
    try:
        return sorted(map(repr, session.answers()))
    except EvaluationError as error:
        return error.condition


@pytest.mark.parametrize(
    "text",
    [
        # a scalar aggregate has a row also where nothing meets
        "SELECT COUNT(*) AS n FROM S [RANGE 500] s, P [ROWS 1] p WHERE s.x = p.x",
        # what lasts leaves its view again
        "SELECT DSTREAM(i.k) FROM RELATION(I) i",
        "SELECT COUNT(*) AS n FROM (ISTREAM(SELECT i.k FROM RELATION(I) i)) AS z",
        # the points of a slide begin with its first element, not with the first that passes a filter
        "SELECT RSTREAM(p.x, s.x) FROM P [RANGE 4 SLIDE 2] p"
        " LEFT JOIN (SELECT x FROM S [RANGE 4 SLIDE 3] WHERE x > 5) s ON p.x = s.x",
        # division by zero is NULL
        "SELECT x FROM P [RANGE 5] WHERE x NOT IN (SELECT a % 0 FROM N [RANGE 5])",
        "SELECT x FROM P [RANGE 5] WHERE x NOT IN (SELECT a DIV 0 FROM N [RANGE 5])",
        # a condition that can fail does not overtake one that keeps rows from it
        "SELECT e FROM (SELECT k * k + k AS e, v FROM T [RANGE 50]) z WHERE e * e > 5 AND CAST(v AS INT) = 3",
        "SELECT k FROM T [RANGE 5] WHERE k + NOW > 100 AND CAST(v AS INT) = 3",
        # a failing column is computed, whether it is looked at or not
        "SELECT CASE WHEN k = 1 THEN 0 ELSE w END AS r FROM (SELECT k, CAST(v AS INT) AS w FROM T [RANGE 50]) z",
        # elements of one instant of a derived stream are in the order of all their columns
        "SELECT k, v FROM (ISTREAM(SELECT k, d, v FROM T [RANGE 9])) [PARTITION BY k ROWS 1]",
    ],
)
def test_the_answer_is_that_of_the_plan_as_written(text: str) -> None:
    session = Session()
    session.execute(DEFINITIONS)
    for name, rows in ROWS.items():
        session.insert(name, rows)
    session.sql(text)
    assert _answers(session) == _expected(session)


def test_a_mark_of_an_unknown_condition_is_not_false() -> None:
    people, bids = plan_of("SELECT id FROM Person [NOW]"), plan_of("SELECT price FROM Bid [NOW]")
    unknown = Join(JoinKind.MARK, people, bids, Literal(None, BOOLEAN), mark="m")
    assert empty_plans.RULE.rewrite(unknown, Facts()) is None
    assert empty_plans.RULE.rewrite(replace(unknown, predicate=FALSE), Facts()) is not None


def test_a_rule_that_undoes_itself_is_stopped_and_told() -> None:
    def turned(plan: Plan, facts: Facts) -> Plan | None:  # noqa: ARG001
        match plan:
            case Filter(predicate=Call(function="=", arguments=(left, right)) as call):
                return replace(plan, predicate=replace(call, arguments=(right, left)))
            case _:
                return None

    rule = Rule("turn_around", "a = b is b = a", ("1. None.",), turned)
    plan = plan_of("SELECT price FROM Bid [RANGE 9] WHERE item_id = price")
    done = rewrite(plan, [Phase("turning", (rule,)), Phase("nothing", ())], Facts())
    assert done.ran_out == ["turning"]
    (notice,) = done.notices
    assert notice.condition == "RULES_RAN_OUT" and notice.parameters["phase"] == "turning"
    assert notice.message in rewrites_text(done)


def test_a_query_whose_rules_run_out_is_registered_with_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "MOST_STEPS", 1)
    session = Session(master="none")
    session.execute("CREATE STREAM S (a INT, t INT) ORDERED BY t")
    text = "REGISTER QUERY q AS SELECT a + 0 FROM (SELECT a FROM S [RANGE 5] WHERE 1 < 2) AS x WHERE a > 1 AND 2 < 3"
    outcomes = session.execute(text)
    assert "RULES_RAN_OUT" in [n.condition for n in outcomes[-1].notices]


@pytest.mark.parametrize(("most", "ran_out"), [(3, []), (2, ["counting"])])
def test_a_phase_that_settles_with_its_last_step_has_not_run_out(
    most: int, ran_out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(plan: Plan, facts: Facts) -> Plan | None:  # noqa: ARG001
        match plan:
            case Filter(predicate=Call(function="<", arguments=(left, Literal(value=int(value)))) as call) if value < 3:
                return replace(plan, predicate=replace(call, arguments=(left, Literal(value + 1, INT))))
            case _:
                return None

    monkeypatch.setattr(driver, "MOST_STEPS", most)
    rule = Rule("count_up", "until three", ("1. None.",), counted)
    plan = plan_of("SELECT price FROM Bid [RANGE 9] WHERE item_id < 0")
    done = rewrite(plan, [Phase("counting", (rule,))], Facts())
    assert (len(done.steps), done.ran_out) == (most, ran_out)


def test_rules_that_run_out_when_a_run_plans_again_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (a INT, t INT) ORDERED BY t; CREATE STREAM R (a INT, t INT) ORDERED BY t")
    session.insert("S", [(1, 1)])
    session.insert("R", [(1, 1)])
    joined = "SELECT S.a FROM S [RANGE 5], R [RANGE 5] WHERE S.a = R.a"
    session.execute(f"REGISTER QUERY q AS SELECT a + 0 FROM ({joined}) WHERE a > 1 + 1 AND 1 < 2")
    queries = list(session.queries.values())
    assert "RULES_RAN_OUT" not in [n.condition for n in queries[0].bound.notices]
    monkeypatch.setattr(driver, "MOST_STEPS", 1)
    given = session.inputs.given(queries[0].sources)
    with BoundedRun(queries, given, (), InProcess(), BoundedOptions(), reader=session.inputs) as run:
        run.to_the_end()
    told = [n for n in session.inputs.notices if n.condition == "RULES_RAN_OUT"]
    assert told and all(n.parameters["query"] == "q" for n in told)
