"""The programs that tasks run: how they get to workers, and those that a process has loaded."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from threading import Lock

from continua.physical.evaluator import Evaluator, evaluator_with
from continua.runtime.checkpoint.store import Address
from continua.runtime.jobs import Job, Program

_here: dict[tuple[str, str], Program] = {}
"""The programs of runs that have all of their tasks in this process, by store and name."""
_loaded: OrderedDict[tuple[str, str], tuple[Program, Evaluator]] = OrderedDict()
"""The programs that tasks of this process have used lately, with evaluators that have their functions."""
_loading = Lock()
_MOST_LOADED = 8


def keep_here(store: Address, name: str, program: Program) -> None:
    """Puts a program where tasks of this process find it."""
    with _loading:
        _here[store.url, name] = program


def sendable(program: Program) -> bytes:
    """The program as bytes for workers; functions that have no name to be found by go along whole."""
    try:
        return pickle.dumps(program)
    except (pickle.PicklingError, AttributeError, TypeError):
        from pyspark import cloudpickle

        whole: bytes = cloudpickle.dumps(program)  # type: ignore[no-untyped-call]
        return whole


def program_of(job: Job) -> tuple[Program, Evaluator]:
    """The program of a job, and an evaluator with its functions."""
    key = job.store.url, job.program
    with _loading:
        found = _loaded.get(key)
        if found is None:
            program: Program = _here[key] if job.shared is None else pickle.loads(job.shared.value)
            found = _loaded[key] = program, evaluator_with(program.functions)
            if len(_loaded) > _MOST_LOADED:
                _loaded.popitem(last=False)
        _loaded.move_to_end(key)
    return found


def forget_programs(store: Address, but: str | None = None) -> None:
    """Lets go of the programs that a run has put here, all or but for one."""
    with _loading:
        for key in [k for k in _here if k[0] == store.url and k[1] != but]:
            del _here[key]
