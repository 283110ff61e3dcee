"""Databases of threads: each has its own, those of threads that have ended are let go, none is in a forked process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from continua.physical.evaluator import Evaluator

TABLE = pa.table({"a": [1, 2, 3]})
SUM = pa.schema([("s", pa.int64())])


def ask(evaluator: Evaluator) -> int:
    """The sum of the rows."""
    found = evaluator.run("SELECT CAST(SUM(a) AS BIGINT) AS s FROM input", TABLE, SUM)
    return int(found.column(0)[0].as_py())


@contextmanager
def thread_that_has_asked(evaluator: Evaluator) -> Iterator[None]:
    asked, end = threading.Event(), threading.Event()

    def work() -> None:
        assert ask(evaluator) == 6
        asked.set()
        end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert asked.wait(60)
        yield
    finally:
        end.set()
        thread.join()


def test_threads_have_databases_of_their_own_which_go_with_them() -> None:
    evaluator = Evaluator()
    for _ in range(5):
        with thread_that_has_asked(evaluator):
            assert ask(evaluator) == 6
    with thread_that_has_asked(evaluator):
        assert len(evaluator._databases) == 2


def test_a_process_may_be_forked_while_a_thread_has_a_database() -> None:
    with thread_that_has_asked(Evaluator()):
        done = subprocess.run([sys.executable, "-c", ""], preexec_fn=lambda: None, check=False)
    assert done.returncode == 0
