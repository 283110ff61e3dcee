"""Which engine answers a command's queries: the interval engine, on Spark or in this process, or the reference."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from continua.algebra.base import Kind
from continua.algebra.instant_rows import is_written_as_intervals
from continua.answers.answer_columns import AnswerColumns, Answers, Part
from continua.answers.query import Answer, Query, can_be_endless, endless_answer, failed
from continua.cli.engine_options import EngineOptions
from continua.cli.interrupts import interruptible
from continua.cli.output import Printer
from continua.cli.reference_answers import each, reference_contents, refuse_sinks
from continua.cli.report import Report
from continua.errors import Diagnostic, EvaluationError
from continua.physical.nodes import UNIT
from continua.runs.bounded import BoundedRun, content_at
from continua.runs.corrected_queries import Checked, checked_parts
from continua.runs.plans import why_not
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.machines import STANDARD_OUTPUT, spark_at_work, spark_starting, writing_to
from continua.runtime.progress import Progress
from continua.runtime.spark.starting import StartingSpark
from continua.runtime.spark.waiting import telling_of_none
from continua.session import Session
from continua.sinks.named import refuse_shared, sink_for
from continua.sources.frame_sources import FRAMES


@contextmanager
def executor_on(spark: StartingSpark | None, report: Report) -> Iterator[Executor]:
    """Spark once it has started, or this process."""
    if spark is None:
        yield InProcess()
        return
    from continua.runtime.executors.on_spark import OnSpark

    with spark_starting():
        session = spark.session()
    with spark_at_work(), telling_of_none(session, lambda found: report.warnings([found])):
        yield OnSpark(session)


def _last_instant(part: Part) -> int | None:
    """The instant of the last answer."""
    if not len(part):
        return None
    if isinstance(part, AnswerColumns):
        return int(part.instants.max())
    return max(answer.instant for answer in part)


Diagnostics = tuple[Diagnostic, ...]


class FailedError(Exception):
    """Queries that run together have failed on their data.

    ``failing`` are those that certainly have; ``suspects`` are those that may have, where it is not known whose the
    error is.
    """

    def __init__(
        self, cause: EvaluationError, together: Sequence[Query], failing: Sequence[Query], suspects: Sequence[Query]
    ) -> None:
        super().__init__(str(cause))
        self.cause = cause
        known = bool(failing or suspects)
        alone = len(together) == 1
        self.failing = list(together if alone else failing)
        self.suspects = [] if alone else list(suspects if known else together)

    @property
    def error(self) -> EvaluationError:
        """The error with the queries that it is of, as far as that is known."""
        if self.failing:
            return EvaluationError(*(d for query in self.failing for d in failed(query, self.cause).diagnostics))
        names = [query.name for query in self.suspects]
        one = f"one of the queries {', '.join(names)}"
        return EvaluationError(
            *(
                replace(d, message=f"{one}: {d.message}", parameters={**d.parameters, "queries": names})
                for d in self.cause.diagnostics
            )
        )


def _in_order(queries: Sequence[Query], errors: Mapping[str, Diagnostics]) -> EvaluationError | None:
    """Why some queries have failed, in the order of the script."""
    found = [d for query in queries for d in errors.get(query.name, ())]
    return EvaluationError(*found) if found else None


def _dropped(query: Query, why: str) -> Diagnostic:
    """What is told of a query that a checkpoint goes on without."""
    hint = "it is run again, from the beginning, when it is corrected"
    parameters: dict[str, object] = {"query": query.name}
    return Diagnostic("QUERY_DROPPED", f"query {query.name} was dropped: {why}", query.span, hint, parameters)


def _written(query: Query, run: BoundedRun, seconds: float) -> str | None:
    """What was written of a query to where INTO says."""
    if query.name not in run.outlets or query.sink is None:
        return None
    written, to = run.outlets.written(query.name), query.sink
    where = f"{to.function}({', '.join(map(repr, to.arguments))})"
    rows = counted(written.rows, "row")
    files = "" if to.function.text.lower() in FRAMES else f" in {counted(len(written.files), 'file')}"
    return f"{query.name} -> {where}: {rows}{files}, {seconds:.1f} s"


def _in_steps(queries: Sequence[Query]) -> set[str]:
    """The queries whose answers of an epoch are known when it is finished: not how long an element lasts."""
    return {q.name for q in queries if not (q.kind is Kind.STREAM and is_written_as_intervals(q.bound.plan, q.chronon))}


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


class EngineAnswers:
    """Answers queries with the engine; those that it cannot run yet are answered by the reference, and that is told."""

    def __init__(
        self,
        session: Session,
        options: EngineOptions,
        report: Report,
        folder: Path | None = None,
        spark: StartingSpark | None = None,
        printer: Printer | None = None,
    ) -> None:
        """``spark``: where queries run; without it, in this process.

        ``printer``: who prints answers while the run goes on, where their order allows it.
        """
        self._printer = printer
        self._spark = spark
        self._folder = folder or Path()
        self._session = session
        self._options = options
        self._report = report

    def changes(self, queries: Sequence[Query]) -> Sequence[Answer]:
        """All answers in time order; at one instant in the order of registration. No query may fail."""
        found, failed = self.answered(queries)
        if failed is not None:
            raise failed
        return found

    def answered(self, queries: Sequence[Query]) -> tuple[Sequence[Answer], EvaluationError | None]:
        """The same of the queries that do not fail on their data, and why the others do."""
        able, others = self._divided(queries)
        printed = {q.name for q in able if q.sink is None}
        if others or not printed <= _in_steps(able):
            self._printer = None
        by_reference = each(others, lambda query: self._session.answers([query]))
        by_query: dict[str, list[Answer]] = {}
        for answer in by_reference.found:
            by_query.setdefault(answer.query, []).append(answer)
        found: dict[str, Part] = {**by_query}
        errors = dict(by_reference.errors)
        if able:
            with executor_on(self._spark, self._report) as executor, interruptible():
                found |= self._run(able, executor, errors)
        return Answers([found[q.name] for q in queries if q.name in found]), _in_order(queries, errors)

    def _run(self, queries: Sequence[Query], executor: Executor, errors: dict[str, Diagnostics]) -> dict[str, Part]:
        """All queries as one graph; where their data makes some fail, the others again without them."""
        refuse_shared({q.name: s for q in queries if (s := sink_for(q.sink, self._folder)) is not None})
        if self._options.checkpoint is not None:
            return self._run_checked(queries, executor, errors)
        found: dict[str, Part] = {}
        groups = [list(queries)]
        while groups:
            group = groups.pop()
            try:
                found |= self._together(Checked(group), executor, errors)
            except FailedError as failure:
                errors |= {q.name: failed(q, failure.cause).diagnostics for q in failure.failing}
                groups += [[q] for q in failure.suspects]
                names = {q.name for q in (*failure.failing, *failure.suspects)}
                if rest := [q for q in group if q.name not in names]:
                    groups.append(rest)
        return found

    def _run_checked(
        self, queries: Sequence[Query], executor: Executor, errors: dict[str, Diagnostics]
    ) -> dict[str, Part]:
        """The same with a checkpoint, where those that were corrected have one of their own.

        What a checkpoint has begun is of all its queries: there the run ends, and its rows wait until they are
        corrected, unless those that fail are to be dropped.
        """
        parts = checked_parts(queries, self._session.functions, self._options.checkpoint)
        if len(parts) > 1:
            # their epochs are not the same, so that answers are in order only when all are there
            self._printer = None
        found: dict[str, Part] = {}
        for part in parts:
            for name in part.corrected:
                self._report.note(f"query {name} is not what it was: it is run from the beginning")
            try:
                found |= self._together(part, executor, errors)
            except FailedError as failure:
                before = _in_order(queries, errors)
                told = () if before is None else before.diagnostics
                raise EvaluationError(*told, *failure.error.diagnostics) from None
        return found

    def _together(self, part: Checked, executor: Executor, errors: dict[str, Diagnostics]) -> dict[str, Part]:
        queries, reader = part.queries, self._session.inputs
        inputs = reader.given({s for q in queries for s in q.sources})
        sinks = {q.name: s for q in queries if (s := sink_for(q.sink, self._folder)) is not None}
        slots, printer = self._session.catalog.settings.slots, self._printer
        settings = replace(self._options.settings, checkpoint=part.checkpoint, slots=slots)
        if printer is not None:
            settings = replace(settings, by_epoch=True, epoch_bytes=self._options.epoch_bytes)
        functions = self._session.functions
        with BoundedRun(queries, inputs, functions, executor, settings, sinks, reader, part.earlier) as run:
            errors |= {q.name: (_dropped(q, run.dropped[q.name]),) for q in queries if q.name in run.dropped}
            began, rows, stages = time.monotonic(), 0, Counter[str]()
            if printer is not None and run.engine.epoch_number:
                with writing_to(STANDARD_OUTPUT):
                    printer.print(run.parts(), run.engine.until)
            with self._report.progress(run.input_bytes, run.worked) as show:

                def told(done: Progress) -> None:
                    nonlocal rows
                    stages.update(done.stages)
                    rows += sum(count for name, count in done.rows_in.items() if name != UNIT)
                    speed = rows / max(time.monotonic() - began, 1e-9)
                    held = sum(done.state_rows.values())
                    show(f"epoch {done.epoch}: {rows:,} rows, {speed:,.0f} rows/s, {held:,} held")
                    if printer is not None:
                        with self._report.aside(), writing_to(STANDARD_OUTPUT):
                            printer.print(run.parts(done.epoch, done.epoch), done.until)

                while run.size:
                    try:
                        run.to_the_end(told)
                        break
                    except EvaluationError as error:
                        self._drop(run, FailedError(error, queries, *run.concerned(error)), errors)
            run.tell_kept_apart()
            found = run.parts() if printer is None else {}
            self._tell_endless(queries, found, run)
            if self._options.profile:
                self._report.profile(stages, time.monotonic() - began)
            self._report.closing(_written(query, run, time.monotonic() - began) for query in queries)
            return found

    def _drop(self, run: BoundedRun, failure: FailedError, errors: dict[str, Diagnostics]) -> None:
        """Goes on without queries that fail, if that was asked for and the others have a checkpoint to go on from."""
        gone = [*failure.failing, *failure.suspects]
        if self._options.checkpoint is None or not self._options.keep_going or len(gone) == run.size:
            raise failure from None
        errors |= {q.name: failed(q, failure.cause).diagnostics for q in gone}
        run.drop({q.name for q in gone}, failure.cause)

    def _tell_endless(self, queries: Sequence[Query], found: Mapping[str, Part], run: BoundedRun) -> None:
        """Of answers that can go on for ever it is told up to where they are shown, or written to a sink."""
        for query in filter(can_be_endless, queries):
            part = found.get(query.name)
            last = run.latest.get(query.name) if part is None else _last_instant(part)
            if last is not None:
                self._session.inputs.notices.append(endless_answer(query, last))

    def contents(
        self, queries: Sequence[Query], instants: Mapping[str, int]
    ) -> tuple[list[Answer], EvaluationError | None]:
        """What each query's relation holds at its instant, an answer for each copy, and why some fail on their data."""
        able, others = self._divided(queries)
        found = reference_contents(self._session, others, instants)
        settings = self._options.settings
        inputs = self._session.inputs.given({s for q in able for s in q.sources})

        def content(query: Query) -> list[Answer]:
            t = instants[query.name]
            rows = content_at(query, t, inputs, self._session.functions, executor, settings)
            return [Answer(query.name, t, None, query.columns, row) for row in rows]

        with executor_on(self._spark, self._report) as executor:
            more = each(able, content)
        order = {q.name: i for i, q in enumerate(queries)}
        answers = sorted([*found.found, *more.found], key=lambda a: order[a.query])
        return answers, _in_order(queries, found.errors | more.errors)

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
