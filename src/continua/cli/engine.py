"""Which engine answers a command's queries: the interval engine, on Spark or in this process, or the reference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from continua.answer_columns import AnswerColumns, Answers, Part
from continua.answers import can_be_endless, endless_answer
from continua.cli.answers import each, reference_answers, reference_contents, refuse_sinks
from continua.cli.engine_options import EngineOptions
from continua.cli.interrupts import interruptible
from continua.cli.report import Report
from continua.errors import EvaluationError
from continua.running import Options, Run, content_at, why_not
from continua.runtime.engine import Progress
from continua.runtime.executors import Executor, InProcess
from continua.runtime.spark import StartingSpark
from continua.session import Answer, Query, Session
from continua.sinks.named import sink_for


@contextmanager
def executor_on(spark: StartingSpark | None) -> Iterator[Executor]:
    """Spark once it has started, or this process."""
    if spark is None:
        yield InProcess()
        return
    from continua.runtime.on_spark import OnSpark

    yield OnSpark(spark.session())


def _last_instant(part: Part) -> int | None:
    """The instant of the last answer."""
    if not len(part):
        return None
    if isinstance(part, AnswerColumns):
        return int(part.instants.max())
    return max(answer.instant for answer in part)


class EngineAnswers:
    """Answers queries with the engine; those that it cannot run yet are answered by the reference, and that is told."""

    def __init__(
        self,
        session: Session,
        options: EngineOptions,
        report: Report,
        folder: Path | None = None,
        spark: StartingSpark | None = None,
    ) -> None:
        """``spark``: where queries run; without it, in this process."""
        self._spark = spark
        self._folder = folder or Path()
        self._session = session
        self._options = options
        self._report = report

    def changes(self, queries: Sequence[Query]) -> Sequence[Answer]:
        """All answers in time order; at one instant in the order of registration."""
        able, others = self._divided(queries)
        found: dict[str, Part] = {}
        for answer in reference_answers(self._session, others):
            part = found.setdefault(answer.query, [])
            assert isinstance(part, list)
            part.append(answer)
        if able:
            with executor_on(self._spark) as executor, interruptible():
                found |= self._run(able, executor)
        return Answers([found[q.name] for q in queries if q.name in found])

    def _run(self, queries: Sequence[Query], executor: Executor) -> dict[str, Part]:
        """All queries as one graph; if their data makes one fail, each alone, so that it is known which."""
        try:
            return self._together(queries, executor, self._options.settings)
        except EvaluationError:
            alone = replace(self._options.settings, checkpoint=None)
            return dict(each(queries, lambda q: list(self._together([q], executor, alone).items())))

    def _together(self, queries: Sequence[Query], executor: Executor, options: Options) -> dict[str, Part]:
        reader = self._session.inputs
        inputs = reader.given({s for q in queries for s in q.sources})
        sinks = {q.name: s for q in queries if (s := sink_for(q.sink, self._folder)) is not None}
        with Run(queries, inputs, self._session.functions, executor, options, sinks, reader) as run:
            with self._report.progress() as show:
                began, rows = time.monotonic(), 0

                def told(done: Progress) -> None:
                    nonlocal rows
                    rows += sum(done.rows_in.values())
                    speed = rows / max(time.monotonic() - began, 1e-9)
                    held = sum(done.state_rows.values())
                    show(f"epoch {done.epoch}: {rows:,} rows, {speed:,.0f} rows/s, {held:,} held")

                run.to_the_end(told)
            run.tell_kept_apart()
            found = run.parts()
            self._tell_endless(queries, found, run)
            return found

    def _tell_endless(self, queries: Sequence[Query], found: Mapping[str, Part], run: Run) -> None:
        """Of answers that can go on for ever it is told up to where they are shown, or written to a sink."""
        for query in filter(can_be_endless, queries):
            part = found.get(query.name)
            last = run.latest.get(query.name) if part is None else _last_instant(part)
            if last is not None:
                self._session.inputs.notices.append(endless_answer(query, last))

    def contents(self, queries: Sequence[Query], instants: Mapping[str, int]) -> list[Answer]:
        """What each query's relation holds at its instant, an answer a copy."""
        able, others = self._divided(queries)
        found = reference_contents(self._session, others, instants)
        settings = self._options.settings
        inputs = self._session.inputs.given({s for q in able for s in q.sources})

        def content(query: Query) -> list[Answer]:
            t = instants[query.name]
            rows = content_at(query, t, inputs, self._session.functions, executor, settings)
            return [Answer(query.name, t, None, query.columns, row) for row in rows]

        with executor_on(self._spark) as executor:
            found += each(able, content)
        order = {q.name: i for i, q in enumerate(queries)}
        return sorted(found, key=lambda a: order[a.query])

    def _divided(self, queries: Sequence[Query]) -> tuple[list[Query], list[Query]]:
        able: list[Query] = []
        others: list[Query] = []
        for query in queries:
            sink_for(query.sink, self._folder)
        for query in queries:
            reason = "" if self._options.name == "reference" else why_not(query, self._session.functions)
            if reason is None:
                able.append(query)
                continue
            others.append(query)
            if reason:
                self._report.note(f"query {query.name} is answered by the reference semantics: {reason}")
        refuse_sinks(others)
        return able, others
