"""Sources by functions whose rows come once: those that were registered from Python, and those without offsets."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace

from continua.binding.context import Context
from continua.lang.statements import RowFunction, SourceCall

_BY_OFFSETS = (["first", "end"], ["offset"])
"""How the parameters of functions begin that can be asked for any of their rows."""


def with_function(context: Context, call: SourceCall | None) -> SourceCall | None:
    """A source with the function that gives its rows, if it has one whose rows come once."""
    if call is None:
        return None
    arguments = list(call.arguments)
    converter: Callable[[object], object] | None = None
    function = context.catalog.row_functions.get(call.function.text.casefold())
    if function is not None:
        if arguments and isinstance(arguments[-1], str):
            converter = context.catalog.converters.get(arguments[-1].casefold())
        if converter is not None:
            arguments.pop()
    elif call.function.text.lower() == "python" and len(arguments) == 1:
        function = _without_offsets(str(arguments.pop()))
    if function is None:
        return call
    try:
        inspect.signature(function).bind(*arguments, **dict(call.options))
    except TypeError as error:
        message = f"{call.function} cannot be called so: {error}"
        context.fail("BAD_OPTION", message, call.function.span, source=call.function.text)
    except ValueError:
        pass  # what is written in C may not tell its parameters
    shown = f"{call.function}({', '.join(repr(a) for a in call.arguments)})"
    return replace(call, made=RowFunction(shown, function, tuple(arguments), call.options, converter))


def _without_offsets(path: str) -> Callable[..., Iterable[object]] | None:
    """The function of a path, if its rows come once; one that cannot be imported is told where it is read."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
        parameters = list(inspect.signature(found).parameters)
    except (Exception, SystemExit):
        return None
    by_offsets = any(parameters[: len(names)] == names for names in _BY_OFFSETS)
    return None if by_offsets else found
