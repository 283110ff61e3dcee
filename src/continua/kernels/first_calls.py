"""What happens where a kernel is called that has no machine code yet: few rows are worked on by Python itself.

Compiling the kernels of a query takes longer than Python needs for thousands of rows. So a function that is neither
compiled nor on the disk is run as it is written, as long as the arrays are short and Python has not yet spent more than
a moment on it. Then it is compiled. The code is the same either way, and so is what it does: states that one way has
left are gone on with by the other.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from time import thread_time
from types import CellType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

VARIABLE = "CONTINUA_KERNELS"
"""The variable of the environment that has all kernels compiled at once, or none ever."""
COMPILED, INTERPRETED = "compiled", "interpreted"
NOTE = "note: compiling kernels for this machine, once; continua warmup does so ahead of time"

_FEW = 1 << 16
"""How long arrays may be that Python works on."""
_PATIENCE = 0.3
"""How many seconds Python may spend on a function with arguments of the same types."""
_MOMENT = 1.0
"""How many seconds of compiling nobody needs to be told of."""

_now = threading.local()
_told = mmap.mmap(-1, 1)
"""Whether it was told that kernels are compiled. Processes that are forked share it, so that one of them tells."""


class Wanted(NamedTuple):
    """A function by its names, and the types of arguments that it is called with."""

    module: str
    name: str
    types: tuple[Any, ...]

    def compile(self) -> None:
        """Makes the machine code, unless it is on the disk."""
        getattr(import_module(self.module), self.name).compile(self.types)


_recorded: dict[Wanted, None] | None = None


@contextmanager
def recorded() -> Iterator[dict[Wanted, None]]:
    """What is called in the block and has no code in memory, in its order; Python itself does the work meanwhile."""
    global _recorded
    _recorded = {}
    try:
        yield _recorded
    finally:
        _recorded = None


class FirstCalls:
    """Finds the code of a function for arguments of types that it has no code in memory for."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._machine_code: Callable[..., Any] = dispatcher._compile_for_args
        self._spent: dict[tuple[Any, ...], float] = defaultdict(float)
        """How many seconds Python has worked for arguments of types for which nothing was on the disk."""

    def __call__(self, *arguments: Any) -> Callable[..., Any]:
        """The machine code, from the disk or compiled now, or the function as Python runs it."""
        if getattr(_now, "interprets", False):
            python: Callable[..., Any] = self._dispatcher.py_func
            return python
        types = tuple(self._dispatcher.typeof_pyval(argument) for argument in arguments)
        if _recorded is not None:
            function = self._dispatcher.py_func
            _recorded[Wanted(function.__module__, function.__name__, types)] = None
            return partial(self._interpreted, types)
        wanted = os.environ.get(VARIABLE)
        if wanted == INTERPRETED:
            return partial(self._interpreted, types)
        if types not in self._spent and self._is_on_disk(types):
            return self._machine_code(*arguments)  # type: ignore[no-any-return]
        if wanted != COMPILED and self._spent[types] < _PATIENCE and _are_few(arguments):
            return partial(self._interpreted, types)
        with _announced():
            return self._machine_code(*arguments)  # type: ignore[no-any-return]

    def _is_on_disk(self, types: tuple[Any, ...]) -> bool:
        dispatcher, cache = self._dispatcher, self._dispatcher._cache
        with suppress(OSError):
            return cache._index_key(types, dispatcher.targetctx.codegen()) in cache._cache_file._load_index()
        return False

    def _interpreted(self, types: tuple[Any, ...], *arguments: Any) -> Any:
        """Runs the function in Python, with numbers that wrap around as words do."""
        begin = thread_time()
        _now.interprets = True
        try:
            with np.errstate(all="ignore"):
                return _plain(_in_python(self._dispatcher)(*map(_word, arguments)))
        finally:
            _now.interprets = False
            self._spent[types] += thread_time() - begin


_by_python: dict[Any, Callable[..., Any]] = {}
"""Functions as Python runs them."""


def _in_python(dispatcher: Any) -> Callable[..., Any]:
    """The function, with the functions that it calls run by Python too.

    Some of them may have machine code in memory, which returns numbers of Python's: these do not wrap around.
    """
    if dispatcher not in _by_python:
        made: dict[Any, Callable[..., Any]] = {}
        _make(dispatcher, made)
        _by_python.update(made)  # only now that each refers to what it calls: other threads call them at once
    return _by_python[dispatcher]


def _make(dispatcher: Any, made: dict[Any, Callable[..., Any]]) -> Callable[..., Any]:
    """Adds a function and those that it calls to what was made; they may call one another in a circle."""
    if dispatcher in _by_python:
        return _by_python[dispatcher]
    if dispatcher not in made:
        function = dispatcher.py_func
        scope = dict(function.__globals__)
        cells = tuple(CellType(_seen_by_python(cell.cell_contents, made)) for cell in function.__closure__ or ())
        made[dispatcher] = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        scope |= {name: _seen_by_python(scope[name], made) for name in function.__code__.co_names if name in scope}
    return made[dispatcher]


def _seen_by_python(value: Any, made: dict[Any, Callable[..., Any]]) -> Any:
    """What a function refers to: another one that can be compiled, or anything else."""
    return _make(value, made) if isinstance(value, Dispatcher) else value


def _are_few(arguments: tuple[Any, ...]) -> bool:
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            if argument.size > _FEW:
                return False
        elif isinstance(argument, tuple) and not _are_few(argument):
            return False
    return True


def _word(argument: Any) -> Any:
    return np.int64(argument) if type(argument) is int else argument


def _plain(result: Any) -> Any:
    """What machine code returns: numbers of Python's."""
    if isinstance(result, np.generic):
        return result.item()
    return tuple(map(_plain, result)) if type(result) is tuple else result


@contextmanager
def _announced() -> Iterator[None]:
    """Tells that kernels are compiled, when that takes more than a moment."""
    timer = threading.Timer(_MOMENT, _tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell() -> None:
    if _told[0] == 0:
        _told[0] = 1
        print(NOTE, file=sys.stderr, flush=True)
