"""Fingerprints of the user's functions: state that was made with one body does not fit another."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from hashlib import sha256
from types import CodeType, FunctionType, MethodType

from continua.algebra.expr import Call, Expr, walk
from continua.catalog import AggregateInfo, FunctionInfo
from continua.physical.grouping import user_aggregate
from continua.physical.nodes import Aggregate, Evaluate, Join, Node, QueryResult
from continua.physical.placement import in_order
from continua.physical.point_nodes import Latest
from continua.physical.stable_text import stable_text
from continua.physical.steps import Step
from continua.windows.spec import GenericWindow

Function = FunctionInfo | AggregateInfo
_REACHED = (FunctionType, type, int, float, complex, str, bytes, tuple, frozenset)
"""Of the global names that a function uses, those with such values count: others may change while it runs."""


def program_name(graphs: Sequence[QueryResult], partitions: int, functions: Iterable[Function]) -> str:
    """A fingerprint of all that the graphs of queries do, over so many partitions."""
    nodes = in_order(graphs)
    used = [*used_functions(nodes, functions).values(), *used_windows(nodes).values()]
    names = "|".join([*(s.id for s in graphs), str(partitions), *used])
    return sha256(names.encode()).hexdigest()[:16]


def used_functions(nodes: Sequence[Node], functions: Iterable[Function]) -> dict[str, str]:
    """The fingerprints of the functions that operators call, by name."""
    known = list(functions)
    if not known:
        return {}
    called = {part.function.casefold() for node in nodes for part in _parts(node) if isinstance(part, Call)}
    merged = [s.user for node in nodes if isinstance(node, Aggregate) for s in node.specs if s.user is not None]
    aggregates = [f for f in known if isinstance(f, AggregateInfo)]
    merging = {f.name for f in aggregates if any(user_aggregate(f, by_time) in merged for by_time in (True, False))}
    used = [f for f in known if f.name.casefold() in called or f.name in merging]
    return {f.name: fingerprint(f) for f in sorted(used, key=lambda f: f.name.casefold())}


def used_windows(nodes: Iterable[Node]) -> dict[str, str]:
    """The fingerprints of the windows made in Python that operators have, by name."""
    found: dict[str, str] = {}
    for node in nodes:
        for window in (getattr(node, f.name) for f in fields(node)):
            if isinstance(window, GenericWindow):
                code = "|".join(_code_of(getattr(window, f.name), set()) for f in fields(window))
                found[window.name] = sha256(code.encode()).hexdigest()[:16]
    return dict(sorted(found.items()))


def fingerprint(function: Function) -> str:
    """What a function does, as far as that can be told: its SQL, or the code of its Python functions."""
    signature = f"{function.name}{function.parameters!r}{function.returns!r}"
    match function:
        case FunctionInfo(body=body, python=python):
            parts = [body.sql() if body is not None else "", _code_of(python, set())]
        case AggregateInfo():
            steps = (function.initializer, function.merger, function.evaluator, function.inverse)
            parts = [_code_of(step, set()) for step in steps]
    return sha256("|".join([signature, *parts]).encode()).hexdigest()[:16]


def _parts(node: Node) -> Iterator[Expr]:
    """The expressions of a node and all their parts."""
    match node:
        case Evaluate(steps=steps):
            found = [expr for step in steps for expr in step.expressions]
        case Join(residual=Step() as residual):
            found = list(residual.where)
        case Latest(value=value):
            found = [value]
        case _:
            found = []
    for expr in found:
        yield from walk(expr)


def _code_of(value: object, seen: set[int]) -> str:
    """The text of a callable's code, with the functions that it calls and the values that it closes over."""
    if id(value) in seen:
        return ""
    match value:
        case FunctionType():
            seen.add(id(value))
            return _function(value, seen)
        case MethodType():
            owner = value.__self__
            state = _plain(vars(owner)) if hasattr(owner, "__dict__") and not isinstance(owner, type) else ""
            return f"{_code_of(value.__func__, seen)} of {_code_of(type(owner), seen)} {state}"
        case functools.partial():
            given = [_code_of(a, seen) for a in (value.func, *value.args, *value.keywords.values())]
            return f"partial {given} {list(value.keywords)}"
        case type() if value.__module__ != "builtins":
            seen.add(id(value))
            members = [f"{k}={_code_of(v, seen)}" for k, v in vars(value).items() if isinstance(v, FunctionType)]
            return f"{value.__qualname__}({', '.join(members)})"
        case _:
            return _plain(value)


def _function(function: FunctionType, seen: set[int]) -> str:
    cells = [c.cell_contents for c in function.__closure__ or ()]
    reached = [function.__globals__[n] for n in _names(function.__code__) if n in function.__globals__]
    parts = [_code(function.__code__), _plain(function.__defaults__), _plain(function.__kwdefaults__)]
    parts += [_code_of(value, seen) for value in cells]
    parts += [_code_of(value, seen) for value in reached if isinstance(value, _REACHED)]
    return "; ".join(parts)


def _names(code: CodeType) -> list[str]:
    """The names that code uses, its inner functions too."""
    inner = [n for c in code.co_consts if isinstance(c, CodeType) for n in _names(c)]
    return [*code.co_names, *inner]


def _code(code: CodeType) -> str:
    """Instructions, constants and names: neither where the function stands, nor its comments."""
    constants = [_code(c) if isinstance(c, CodeType) else _plain(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}"


def _plain(value: object) -> str:
    """A text of a value that is the same in every process."""
    match value:
        case None | bool() | int() | float() | complex() | str() | bytes():
            return repr(value)
        case tuple() | list():
            return f"({', '.join(map(_plain, value))})"
        case set() | frozenset():
            return f"{{{', '.join(sorted(map(_plain, value)))}}}"
        case dict():
            return f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in value.items())}}}"
        case _:
            return stable_text(value) if callable(value) else f"a {type(value).__qualname__}"
