"""Windows as written: every form, unit and spelling gives the expected values, whatever stands around it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp

from continua.errors import Span
from continua.instants import Duration
from continua.lang.dialect import render_query
from continua.lang.statements import UNBOUNDED, BoundSyntax, ClauseSyntax, CreateWindow, RateSyntax, WindowSyntax
from continua.lang.stream_nodes import StreamSubquery, StreamTable
from continua.windows.fixed import FixedWindow
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.sessions import SessionWindow
from continua.windows.spec import GenericWindow, WindowSpec
from tests.lang.parsing import from_item, mistake, name, query, statement, window

START = 17
"""The column at which a window stands in ``SELECT * FROM S [...]``."""


Clauses = dict[str, ClauseSyntax]


def written(kind: type[WindowSpec], text: str, clauses: Clauses, **fields: object) -> WindowSyntax:
    form = "bracket" if text.startswith("[") else "window"
    plain = WindowSyntax(kind, form, Span(1, START, len(text)), tuple(clauses.items()), text=text)
    return replace(plain, **fields)  # type: ignore[arg-type]


def clause(text: str, word: str) -> ClauseSyntax:
    return dict(window(text).clauses)[word]


FRAMES: tuple[tuple[str, type[WindowSpec], Clauses], ...] = (
    ("[NOW]", TimeWindow, {"NOW": None}),
    ("WINDOW(NOW)", TimeWindow, {"NOW": None}),
    ("[RANGE 5 MINUTES]", TimeWindow, {"RANGE": Duration(5, "MINUTE")}),
    (
        "[RANGE 5 MINUTES SLIDE 1 MINUTE]",
        TimeWindow,
        {"RANGE": Duration(5, "MINUTE"), "SLIDE": RateSyntax(Duration(1, "MINUTE"))},
    ),
    ("[RANGE 10 SLIDE 5]", TimeWindow, {"RANGE": Duration(10), "SLIDE": RateSyntax(Duration(5))}),
    ("[RANGE 0]", TimeWindow, {"RANGE": Duration(0)}),
    ("[RANGE UNBOUNDED]", TimeWindow, {"RANGE": UNBOUNDED}),
    ("[RANGE 10 LAG 3]", TimeWindow, {"RANGE": Duration(10), "LAG": Duration(3)}),
    ("[ROWS 5]", RowsWindow, {"ROWS": 5}),
    ("[ROWS 5 SLIDE 2]", RowsWindow, {"ROWS": 5, "SLIDE": RateSyntax(2)}),
    ("[ROWS 5 SLIDE 2 ROWS]", RowsWindow, {"ROWS": 5, "SLIDE": RateSyntax(2)}),
    ("[ROWS UNBOUNDED]", RowsWindow, {"ROWS": UNBOUNDED}),
    ("[ROWS 5 RANGE 10]", RowsWindow, {"ROWS": 5, "RANGE": Duration(10)}),
    ("[RANGE 10 ROWS 5]", RowsWindow, {"RANGE": Duration(10), "ROWS": 5}),
    ("[ROWS 30 SLIDE 1 MINUTE]", RowsWindow, {"ROWS": 30, "SLIDE": RateSyntax(Duration(1, "MINUTE"))}),
    ("[RANGE 1 MINUTE SLIDE 100 ROWS]", TimeWindow, {"RANGE": Duration(1, "MINUTE"), "SLIDE": RateSyntax(100)}),
    ("[RANGE 1 MINUTE SLIDE 1 ROW]", TimeWindow, {"RANGE": Duration(1, "MINUTE"), "SLIDE": RateSyntax(1)}),
    ("[FIXED 15 MINUTES]", FixedWindow, {"FIXED": Duration(15, "MINUTE")}),
    ("WINDOW(RANGE 10 SECONDS)", TimeWindow, {"RANGE": Duration(10, "SECOND")}),
    ("WINDOW(ROWS UNBOUNDED)", RowsWindow, {"ROWS": UNBOUNDED}),
    ("[SESSION GAP 10 SECONDS]", SessionWindow, {"SESSION": None, "GAP": Duration(10, "SECOND")}),
    ("WINDOW(SESSION GAP 1)", SessionWindow, {"SESSION": None, "GAP": Duration(1)}),
    ("WINDOW(FIXED 10)", FixedWindow, {"FIXED": Duration(10)}),
)


@pytest.mark.parametrize(("text", "kind", "clauses"), FRAMES, ids=[text for text, _, _ in FRAMES])
def test_a_window_is_read_with_its_place_and_text(text: str, kind: type[WindowSpec], clauses: Clauses) -> None:
    assert window(text) == written(kind, text, clauses)


def test_partitioned_windows_name_their_columns() -> None:
    assert window("[PARTITION BY a, b ROWS 5]") == written(
        RowsWindow, "[PARTITION BY a, b ROWS 5]", {"ROWS": 5}, partition=(name("a", 1, 31), name("b", 1, 34))
    )
    full = "[PARTITION BY a ROWS 5 RANGE 1 HOUR SLIDE 1 MINUTE]"
    assert window(full) == written(
        RowsWindow,
        full,
        {"ROWS": 5, "RANGE": Duration(1, "HOUR"), "SLIDE": RateSyntax(Duration(1, "MINUTE"))},
        partition=(name("a", 1, 31),),
    )
    time = "[PARTITION BY a RANGE 5]"
    assert window(time) == written(TimeWindow, time, {"RANGE": Duration(5)}, partition=(name("a", 1, 31),))
    pipes = "WINDOW(PARTITION BY x ROWS 5 SLIDE 2)"
    assert window(pipes) == written(
        RowsWindow, pipes, {"ROWS": 5, "SLIDE": RateSyntax(2)}, partition=(name("x", 1, 37),)
    )


def test_the_partition_of_a_window_may_stand_behind_it() -> None:
    before, behind = window("[PARTITION BY a SESSION GAP 5]"), window("[SESSION GAP 5 PARTITION BY a]")
    assert before.clauses == behind.clauses
    assert [n.text for n in before.partition] == [n.text for n in behind.partition] == ["a"]


def test_a_partitioning_column_may_be_qualified() -> None:
    (column,) = window("[PARTITION BY S.a ROWS 1]").partition
    assert (column.text, column.span) == ("a", Span(1, 31, 3))


def test_landmarks_are_integers_or_timestamps() -> None:
    assert clause("[LANDMARK 100]", "LANDMARK") == exp.Literal.number(100)
    assert clause("[LANDMARK '2024-01-01 00:00:00']", "LANDMARK") == exp.Literal.string("2024-01-01 00:00:00")
    typed = clause("[LANDMARK TIMESTAMP '2024-01-01 00:00:00']", "LANDMARK")
    assert isinstance(typed, exp.Cast)
    assert typed.this == exp.Literal.string("2024-01-01 00:00:00")


def test_a_window_sequence_has_two_bounds_and_a_rate() -> None:
    text = "[FROM 10 * j TO 10 * j + 9 EVERY 10]"
    found = window(text)
    ten_j = exp.Mul(this=exp.Literal.number(10), expression=exp.column("j"))
    alpha = BoundSyntax(ten_j, None, Span(1, 23, 6))
    beta = BoundSyntax(exp.Add(this=ten_j.copy(), expression=exp.Literal.number(9)), None, Span(1, 33, 10))
    assert found == written(SequenceWindow, text, {"FROM": alpha, "TO": beta, "EVERY": RateSyntax(Duration(10))})


def test_bounds_of_a_sequence_count_rows_or_time() -> None:
    alpha, beta, rate = (value for _, value in window("[FROM j ROWS TO j + 4 ROWS EVERY 2 ROWS]").clauses)
    assert isinstance(alpha, BoundSyntax) and isinstance(beta, BoundSyntax)
    assert (alpha.unit, beta.unit, rate) == ("ROWS", "ROWS", RateSyntax(2))
    time = window("[FROM j MINUTES TO j + 1 hour EVERY 30 s LAG 5 SECONDS]")
    alpha, beta, rate, lag = (value for _, value in time.clauses)
    assert isinstance(alpha, BoundSyntax) and isinstance(beta, BoundSyntax)
    assert (alpha.unit, beta.unit) == ("MINUTE", "HOUR")
    assert (rate, lag) == (RateSyntax(Duration(30, "SECOND")), Duration(5, "SECOND"))


def test_a_sequence_may_be_partitioned() -> None:
    found = window("[PARTITION BY a FROM j ROWS TO j ROWS EVERY 1 ROW]")
    assert (found.kind, found.partition) == (SequenceWindow, (name("a", 1, 31),))
    assert dict(found.clauses)["EVERY"] == RateSyntax(1)


def test_user_defined_windows_go_by_name() -> None:
    assert window("[last_five]") == written(GenericWindow, "[last_five]", {}, name=name("last_five", 1, 18))
    arguments = (Duration(10), Duration(5, "SECOND"))
    assert window("[hop(10, 5 SECONDS)]") == written(
        GenericWindow, "[hop(10, 5 SECONDS)]", {}, name=name("hop", 1, 18), arguments=arguments
    )


UNITS = {
    "MICROSECOND": ("MICROSECOND", "microseconds", "us", "MICROS"),
    "MILLISECOND": ("millisecond", "MILLISECONDS", "ms", "msec", "millis"),
    "SECOND": ("SECOND", "seconds", "s", "sec", "secs", "S"),
    "MINUTE": ("Minute", "MINUTES", "m", "min", "mins"),
    "HOUR": ("HOUR", "hours", "h", "hr", "hrs"),
    "DAY": ("day", "DAYS", "d"),
    "WEEK": ("week", "WEEKS", "w"),
}
SPELLINGS = [(unit, spelling) for unit, spellings in UNITS.items() for spelling in spellings]


@pytest.mark.parametrize(("unit", "spelling"), SPELLINGS)
def test_units_are_singular_plural_or_short(unit: str, spelling: str) -> None:
    assert clause(f"[RANGE 5 {spelling} SLIDE 1 {spelling}]", "RANGE") == Duration(5, unit)
    assert clause(f"WINDOW(RANGE 5 {spelling} SLIDE 1 {spelling})", "SLIDE") == RateSyntax(Duration(1, unit))


@pytest.mark.parametrize("text", ["5us", "5ms", "5s", "5m", "5h", "5d", "5w"])
def test_a_short_unit_may_be_joined_to_its_number(text: str) -> None:
    assert clause(f"[RANGE {text}]", "RANGE") == clause(f"[RANGE {text[0]} {text[1:]}]", "RANGE")


def test_no_unit_stays_open_until_the_time_domain_is_known() -> None:
    assert window("[RANGE 5 SLIDE 2]").clauses == (("RANGE", Duration(5)), ("SLIDE", RateSyntax(Duration(2))))


def test_lengths_add_up() -> None:
    assert clause("[RANGE 1 HOUR 30 MINUTES]", "RANGE") == Duration(90, "MINUTE")
    assert clause("[RANGE 1 SECOND 1 us]", "RANGE") == Duration(1_000_001, "MICROSECOND")


@pytest.mark.parametrize("text", ["INTERVAL 5 SECONDS", "INTERVAL '5' SECOND", "'5' SECONDS"])
def test_a_length_may_be_written_as_an_interval(text: str) -> None:
    assert clause(f"[RANGE {text}]", "RANGE") == Duration(5, "SECOND")


@pytest.mark.parametrize(
    ("with_word", "without"),
    [
        ("[RANGE 5 MINUTES PRECEDING]", "[RANGE 5 MINUTES]"),
        ("[RANGE UNBOUNDED PRECEDING]", "[RANGE UNBOUNDED]"),
        ("[ROWS 5 PRECEDING]", "[ROWS 5]"),
        ("[ROWS 5 PRECEDING SLIDE 2]", "[ROWS 5 SLIDE 2]"),
        ("[PARTITION BY a ROWS 5 PRECEDING]", "[PARTITION BY a ROWS 5]"),
        ("WINDOW(RANGE 5 PRECEDING)", "WINDOW(RANGE 5)"),
    ],
)
def test_preceding_is_accepted_and_ignored(with_word: str, without: str) -> None:
    plain = window(without)
    assert replace(window(with_word), span=plain.span, text=plain.text) == plain


def test_keywords_of_windows_are_found_whatever_their_case() -> None:
    upper = window("[RANGE 5 MINUTES SLIDE 1 MINUTE]")
    assert replace(window("[range 5 minutes slide 1 minute]"), text=upper.text) == upper


@pytest.mark.parametrize("source", ["S", "(SELECT a FROM S)", "(ISTREAM(SELECT a FROM S [NOW]))", "Derived"])
@pytest.mark.parametrize("order", ["{} [ROWS 5] x", "{} [ROWS 5] AS x", "{} x [ROWS 5]", "{} AS x [ROWS 5]"])
def test_an_alias_stands_before_or_after_the_window(source: str, order: str) -> None:
    item = from_item(order.format(source))
    assert isinstance(item, StreamTable | StreamSubquery)
    assert (item.alias, item.args["window"].clauses) == ("x", (("ROWS", 5),))
    assert render_query(item) == f"{source} [ROWS 5] AS x"


@pytest.mark.parametrize("order", ["S WINDOW(NOW) x", "S AS x WINDOW(NOW)", "S WINDOW(NOW) AS x", "S x WINDOW(NOW)"])
def test_the_same_holds_for_the_form_with_parentheses(order: str) -> None:
    item = from_item(order)
    assert (item.alias, item.args["window"].clauses, item.args["window"].form) == ("x", (("NOW", None),), "window")


def test_every_item_of_from_has_its_own_window() -> None:
    tree = query("SELECT * FROM S [ROWS 1] a, S b [ROWS 2] JOIN S AS c [ROWS 3] ON TRUE, (SELECT 1) [ROWS 4]")
    items = [tree.args["from_"].this, *(j.this for j in tree.args["joins"])]
    assert [(i.alias, i.args["window"].clauses[0][1]) for i in items] == [("a", 1), ("b", 2), ("c", 3), ("", 4)]


def test_a_window_goes_on_over_lines() -> None:
    found = query("SELECT *\nFROM S [RANGE\n  5 MINUTES]").args["from_"].this.args["window"]
    assert found.text == "[RANGE 5 MINUTES]"
    assert (found.span.line, found.span.column) == (2, 8)


def test_a_comment_inside_a_window_is_no_part_of_its_text() -> None:
    tree = query("SELECT * FROM S [RANGE 5 -- minutes are meant\n MINUTES]")
    assert render_query(tree) == "SELECT * FROM S [RANGE 5 MINUTES]"


def test_create_window_names_a_window_or_a_python_function() -> None:
    bracket = statement("CREATE WINDOW hop AS [RANGE 10 SLIDE 5]")
    assert isinstance(bracket, CreateWindow)
    assert (bracket.name, bracket.parameters) == (name("hop", 1, 15), ())
    assert isinstance(bracket.definition, WindowSyntax)
    assert (bracket.definition.kind, bracket.definition.span) == (TimeWindow, Span(1, 22, 18))
    pipes = statement("CREATE OR REPLACE WINDOW hop AS WINDOW(RANGE 10)")
    assert isinstance(pipes, CreateWindow) and isinstance(pipes.definition, WindowSyntax)
    assert (pipes.definition.form, pipes.replace) == ("window", True)
    python = statement("CREATE WINDOW custom(size INT, step) LANGUAGE PYTHON AS 'windows:custom'")
    assert isinstance(python, CreateWindow)
    assert [p.name.text for p in python.parameters] == ["size", "step"]
    assert python.definition == "windows:custom"


@pytest.mark.parametrize(
    ("text", "condition", "column"),
    [
        ("[]", "SYNTAX", 18),
        ("[RANGE]", "SYNTAX", 23),
        ("[RANGE 1.5 SECONDS]", "SYNTAX", 24),
        ("[RANGE 5 MINUTES", "SYNTAX", 26),
        ("[RANGE 5 RANGE 6]", "SYNTAX", 26),
        ("[ROWS 5] [ROWS 5]", "SYNTAX", 26),
        ("[RANGE 5 parsecs]", "BAD_UNIT", 26),
        ("[RANGE -5]", "NEGATIVE_RANGE", 24),
        ("[ROWS 0]", "NOT_POSITIVE", 23),
        ("[ROWS 5 SLIDE 0]", "NOT_POSITIVE", 31),
        ("[FIXED 0]", "NOT_POSITIVE", 24),
        ("WINDOW(RANGE 0)", "NOT_POSITIVE", 30),
        ("[FROM j TO j EVERY 0]", "NOT_POSITIVE", 36),
        ("[FROM j TO j]", "SYNTAX", 29),
    ],
)
def test_a_broken_window_is_refused_where_it_breaks(text: str, condition: str, column: int) -> None:
    found = mistake(f"SELECT * FROM S {text}")
    assert found.span is not None
    assert (found.condition, found.span.line, found.span.column) == (condition, 1, column)


def test_values_have_no_window() -> None:
    assert mistake("SELECT * FROM VALUES (1) AS v(a) [NOW]").condition == "WINDOW_OVER_VALUES"
