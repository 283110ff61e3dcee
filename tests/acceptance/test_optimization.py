"""The papers' laws as rules of the optimizer; tests/rules tests every rule at length."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.printer import tree
from continua.algebra.reducibility import is_snapshot_reducible
from continua.algebra.relational import Filter, Group, Project, Window
from continua.algebra.traverse import nodes_of
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.rules.driver import Phase, rewrite
from continua.rules.examples import plan_of
from continua.rules.order import ALL, optimize
from continua.rules.rule import Facts
from continua.runs.later_queries import graphs_of
from continua.session import Session
from tests.rules.registry import EVERY

BOTH = "SELECT item_id FROM Bid [NOW] UNION ALL SELECT item_id FROM Close [NOW]"


def _after(rule: str, query: str) -> str:
    """The plan that a rule alone makes of a query; empty where it makes none."""
    done = rewrite(plan_of(query), [Phase("alone", (EVERY[rule],))], Facts())
    return tree(done.plan) if done.steps else ""


@pytest.mark.parametrize(
    ("rule", "query", "part"),
    [
        (
            "filter_below_union",
            f"SELECT * FROM ({BOTH}) u WHERE item_id > 3",
            "Union",
        ),
        (
            "duplicate_elimination",
            "SELECT DISTINCT * FROM Category a CROSS JOIN Category b",
            "DuplicateElimination",
        ),
        ("now_window", "SELECT item_id FROM (RSTREAM(SELECT item_id FROM Bid [NOW])) [RANGE 5]", "Window [RANGE 5]"),
        ("filter_below_window", "SELECT item_id FROM Bid [RANGE 5] WHERE price > 3", "Window [RANGE 5]"),
        ("map_below_window", "SELECT item_id FROM Bid [RANGE 5]", "Window [RANGE 5]"),
        (
            "window_below_union",
            f"SELECT * FROM (RSTREAM({BOTH})) [RANGE 5]",
            "Union",
        ),
    ],
)
def test_P11_rules_10_to_15_are_rules_of_the_optimizer(rule: str, query: str, part: str) -> None:
    assert rule in ALL
    assert part in _after(rule, query)


@pytest.mark.parametrize(
    "rule",
    [
        "join_reordering",
        "filter_below_join",
        "subquery_decorrelation",
        "duplicate_elimination",
        "aggregation_below_join",
    ],
)
def test_P11_conventional_rules_are_carried_over_and_say_when_they_hold(rule: str) -> None:
    assert "PIPES 2009" in ALL[rule].law
    assert ALL[rule].conditions


def test_P12_conventional_rules_stay_inside_snapshot_reducible_subplans() -> None:
    """A filter that asks for the instant is not snapshot-reducible: it stays where it is."""
    query = (
        "SELECT * FROM (SELECT item_id FROM Bid [NOW] UNION ALL SELECT item_id FROM Close [NOW]) u WHERE item_id > {}"
    )
    assert _after("filter_below_union", query.format("3"))
    assert not _after("filter_below_union", query.format("NOW"))
    steps = optimize(plan_of(query.format("3"))).steps
    assert steps
    for step in steps:
        assert not step.rule.conventional or is_snapshot_reducible(step.before)


def test_P19_equal_subplans_of_different_queries_run_once() -> None:
    session = Session()
    session.execute("CREATE STREAM Bid (item_id INT, price INT, ts BIGINT) ORDERED BY ts;")
    hot = "SELECT item_id FROM (SELECT item_id, COUNT(*) AS num FROM Bid [RANGE 60] GROUP BY item_id) v"
    session.execute(
        f"{hot} WHERE num >= ALL (SELECT COUNT(*) FROM Bid [RANGE 60] b GROUP BY b.item_id);{hot} WHERE num > 9"
    )
    graphs = graphs_of(list(session.queries.values()), [])
    found = [type(n) for n in in_order(graphs)]
    assert found.count(nodes.Source) == found.count(nodes.Validity) == found.count(nodes.Aggregate) == 1


def test_Q8_the_window_commutes_with_filter_map_and_group() -> None:
    assert "Window [RANGE 5]\n" in _after("filter_below_window", "SELECT item_id FROM Bid [RANGE 5] WHERE price > 3")
    assert _after("map_below_window", "SELECT item_id FROM Bid [RANGE 5]").startswith("Window [RANGE 5]")
    (window,) = (n for n in nodes_of(plan_of("SELECT * FROM Bid [RANGE 5]")) if isinstance(n, Window))
    column = window.schema.fields[0].column
    done = rewrite(Group(window, column, 2, 1), [Phase("alone", (EVERY["group_window"],))], Facts())
    assert isinstance(done.plan, Window)


def _below(plan: Plan, kind: type[Plan]) -> bool:
    """Whether an operator of a kind stands directly below a window."""
    return any(isinstance(n, Window) and isinstance(n.input, kind) for n in nodes_of(plan))


def test_A5_projection_and_selection_are_associative_with_windows_but_selection_not_with_positional_ones() -> None:
    timed = optimize(plan_of("SELECT item_id FROM Bid [RANGE 5 SLIDE 2] WHERE price > 3")).plan
    assert _below(timed, Filter) or _below(timed, Project)
    assert not any(isinstance(n, Filter) and isinstance(n.input, Window) for n in nodes_of(timed))
    for window in ("[ROWS 5]", "[PARTITION BY item_id ROWS 2]", "[ROWS 5 SLIDE 2]"):
        plan = optimize(plan_of(f"SELECT item_id FROM Bid {window} WHERE price > 3")).plan
        assert not any(
            isinstance(n, Filter) for w in nodes_of(plan) if isinstance(w, Window) for n in nodes_of(w.input)
        )


def test_C17_query_6_1_has_no_exchange_and_no_state() -> None:
    session = Session()
    session.execute("CREATE STREAM Open (item_id INT, start_price INT, ts BIGINT) ORDERED BY ts;")
    query = session.sql("Select * From Open Where start_price > 100")
    assert query is not None and query.rewritten is not None
    assert "window_reduction" in {s.rule.name for s in query.rewritten.steps}
    graph = list(in_order(graphs_of([query], [])))
    assert not any(n.stateful for n in graph if not isinstance(n, nodes.QueryResult))


def test_C18_query_6_2_filters_before_its_window() -> None:
    plan = optimize(plan_of("SELECT COUNT(*) FROM Bid [RANGE 3600] WHERE item_id >= 100 AND item_id <= 200")).plan
    windows = [n for n in nodes_of(plan) if isinstance(n, Window)]
    assert any(isinstance(n, Filter) for w in windows for n in nodes_of(w.input))
