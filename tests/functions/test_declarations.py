"""What is declared of functions is whole, and nothing else knows them by name."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from continua.functions.aggregates import AGGREGATES, AggregateFunction
from continua.functions.scalars import SCALARS, ScalarFunction
from continua.functions.signatures import arity
from continua.kernels.aggregate.state_families import FAMILIES, USER

SOURCES = Path(__file__).resolve().parent.parent.parent / "src" / "continua"
DECLARED = list(dict.fromkeys(AGGREGATES.values()))
WORDS = {
    *("ARRAY",),  # a type
    *("DAY", "HOUR", "MIN", "MINUTE", "MONTH", "QUARTER", "SECOND", "YEAR"),  # units of time
    *("EVERY", "FIRST", "IF", "LAST", "LEFT", "REPLACE", "RIGHT"),  # words of statements, joins, orders and windows
}
"""What is something else as well."""
CALLED = {
    "algebra/decorrelate.py": {"COALESCE"},
    "algebra/recurring.py": {"DATE_TRUNC", "DAYOFWEEK", "UNIX_MICROS", "UNIX_MILLIS", "UNIX_SECONDS"},
    "algebra/synchronization.py": {"MAX"},
    "binding/expressions.py": {"CONCAT", "TRIM"},
    "binding/queries.py": {"MAX"},
    "binding/stream_forms.py": {"SPLIT"},
    "binding/window_clauses.py": {"GREATEST"},
    "binding/window_formulas.py": {"ABS", "DAYOFWEEK", "GREATEST", "LEAST"},
    "lang/dialect.py": {"COALESCE", "MAX", "MOD", "SPLIT", "TRIM"},
    "lang/from_grammar.py": {"COALESCE"},
    "lang/grammar.py": {"COALESCE", "SPLIT"},
    "lang/rendering.py": {"COALESCE"},
    "physical/joins.py": {"COALESCE"},
    "physical/timed_joins.py": {"COALESCE"},
    "physical/times.py": {"GREATEST", "LEAST", "UNIX_MICROS"},
    "reference/snapshot_sql.py": {"UNIX_MICROS"},
    "rules/laws/aggregation_below_join.py": {"COALESCE"},
    "rules/windowed_views.py": {"UNIX_MICROS"},
    "server/builder/checking.py": {"MAX"},
    "sharing/offered_columns.py": {"ANY_VALUE", "BOOL_AND", "BOOL_OR", "COUNT", "MAX"},
    "sharing/regrouping.py": {"AVG", "COALESCE", "COUNT", "SUM"},
    "windows/formulas.py": {"ABS", "GREATEST", "LEAST"},
}
"""Modules that make calls of functions for what was written otherwise, or read them where the grammar has them.

``UNION MAX`` is a set operation, ``COALESCE STREAM`` and ``SPLIT STREAM`` are forms of streams, and formulas of
windows have functions of their own.
"""


def names_in(path: Path) -> set[str]:
    """The names of functions that stand in a module as constants."""
    constants = (
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    )
    return {value for value in constants if isinstance(value, str) and (value in AGGREGATES or value in SCALARS)}


def test_only_declarations_and_the_kernel_know_functions_by_name() -> None:
    homes = {SOURCES / "functions", SOURCES / "kernels" / "aggregate"}
    found = {
        path.relative_to(SOURCES).as_posix(): names_in(path) - WORDS
        for path in SOURCES.rglob("*.py")
        if path.parent not in homes
    }
    assert {path: names for path, names in found.items() if names} == CALLED


def test_every_aggregate_has_a_function_of_the_kernel() -> None:
    direct = [function for function in DECLARED if function.by_time is None]
    assert {function.kernel_function for function in direct} <= set(FAMILIES)
    merging = {name for f in direct if f.parts is not None for name in (*f.parts.functions, f.parts.merged_by)}
    assert set(FAMILIES) == {function.kernel_function for function in direct} | merging | {USER}


@pytest.mark.parametrize("function", DECLARED, ids=lambda function: function.name)
def test_what_an_aggregate_refers_to_is_declared(function: AggregateFunction) -> None:
    for name in (function.by_time, function.merged_by):
        assert name is None or AGGREGATES[name].name == name
    if function.by_time is not None:
        assert arity(AGGREGATES[function.by_time].signature)[0] == arity(function.signature)[0] + 1


def test_no_spelling_is_declared_twice() -> None:
    functions: list[ScalarFunction | AggregateFunction] = [*DECLARED, *dict.fromkeys(SCALARS.values())]
    spellings = [name for function in functions for name in (function.name, *function.aliases)]
    assert len(spellings) == len(set(spellings)) == len(AGGREGATES) + len(SCALARS)
    assert all(SCALARS[function.name_in_plans] for function in SCALARS.values())
