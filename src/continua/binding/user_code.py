"""User-defined functions, aggregates and windows, checked and made into entries of the catalog."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from continua.algebra.schema import Field
from continua.binding.context import Context, Item, Scope
from continua.binding.expressions import ExpressionBinder
from continua.binding.permissions import check_function, check_imported
from continua.binding.queries import QueryBinder
from continua.catalog import AggregateInfo, FunctionInfo, WindowInfo
from continua.functions.aggregates import AGGREGATES
from continua.functions.scalars import SCALARS
from continua.lang.statements import CreateAggregate, CreateFunction, CreateWindow, Name, WindowSyntax


def bind_function(context: Context, statement: CreateFunction) -> FunctionInfo:
    """CREATE FUNCTION."""
    parameters = _typed_parameters(context, statement)
    name = statement.name.text
    if statement.body is not None and statement.body.find(exp.Query):
        context.fail(
            "NOT_SUPPORTED", f"function {name} has a subquery", statement.body, feature="subquery in a function"
        )
    if statement.python is not None:
        python = _imported(context, statement.python, statement.name)
        return FunctionInfo(name, parameters, statement.returns, None, python)
    assert statement.body is not None
    fields = tuple((n, Field(n, t)) for n, t in parameters)
    scope = Scope((Item(name, fields),))
    binder = ExpressionBinder(context, scope, QueryBinder(context).subquery, f"function {name}")
    bound = binder.bind(statement.body)
    return FunctionInfo(name, parameters, statement.returns or bound.type, statement.body)


def bind_aggregate(context: Context, statement: CreateAggregate) -> AggregateInfo:
    """CREATE AGGREGATE."""
    parameters = _typed_parameters(context, statement)
    made: Any = _imported(context, statement.python, statement.name)
    try:
        made = made() if isinstance(made, type) else made
    except Exception as error:
        context.fail("BAD_AGGREGATE", f"{statement.python} cannot be made: {error}", statement.name.span, name=made)
    if not all(callable(getattr(made, part, None)) for part in ("initializer", "merger", "evaluator")):
        context.fail(
            "BAD_AGGREGATE",
            f"{statement.python} needs the methods initializer, merger and evaluator",
            statement.name.span,
            name=statement.name.text,
        )
    inverse = getattr(made, "inverse", None)
    return AggregateInfo(
        statement.name.text,
        parameters,
        statement.returns,
        made.initializer,
        made.merger,
        made.evaluator,
        inverse,
        statement.order_free,
    )


def _typed_parameters(context: Context, statement: CreateFunction | CreateAggregate) -> tuple[tuple[str, Any], ...]:
    name = statement.name
    if name.text.upper() in (*SCALARS, *AGGREGATES) or not name.text.isidentifier():
        reason = "is built in" if name.text.isidentifier() else "is not a name for a function"
        context.fail("BAD_NAME", f"{name} {reason}", name.span, "choose another name", name=name.text)
    for parameter in statement.parameters:
        if parameter.type is None:
            context.fail("SYNTAX", f"parameter {parameter.name} has no type", parameter.name.span, expected="a type")
    return tuple((p.name.text, p.type) for p in statement.parameters)


def _imported(context: Context, path: str, name: Name) -> Callable[..., Any]:
    module, _, attribute = path.partition(":")
    check_function(context, path, name.span)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:
        context.fail("BAD_PYTHON_NAME", f"cannot import {path}: {error}", name.span, path=path)
    if not callable(found) and not hasattr(found, "initializer"):
        context.fail("BAD_PYTHON_NAME", f"{path} is not callable", name.span, path=path)
    check_imported(context, path, found, name.span)
    return found  # type: ignore[no-any-return]


def bind_window(context: Context, statement: CreateWindow) -> WindowInfo:
    """CREATE WINDOW."""
    names = tuple(p.name.text for p in statement.parameters)
    definition = statement.definition
    if names and isinstance(definition, WindowSyntax):
        context.fail(
            "NOT_SUPPORTED",
            f"window {statement.name} is written out, so its parameters have no use",
            statement.parameters[0].name.span,
            "leave them out, or make the window in Python",
            feature="window parameters",
        )
    if isinstance(definition, WindowSyntax) and definition.sample is not None:
        context.fail(
            "SAMPLED_WINDOW",
            f"window {statement.name} has a sample, which belongs to a stream",
            definition.sample.span,
            "write it where the window is used: [name SAMPLE 10 PERCENT]",
        )
    if isinstance(definition, str):
        return WindowInfo(statement.name.text, names, _imported(context, definition, statement.name))
    return WindowInfo(statement.name.text, names, definition)
