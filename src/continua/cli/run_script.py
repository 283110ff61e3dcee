"""What ``continua run`` does with a script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from continua.answers.outcome import AskedContent
from continua.answers.query import Query
from continua.answers.typed_instants import instant_at
from continua.cli.engine_answers import EngineAnswers
from continua.cli.engine_options import EngineOptions
from continua.cli.json_report import JsonReport
from continua.cli.output import Printer, content_part, is_waited_for, write_answers
from continua.cli.report import Report
from continua.cli.script import Script
from continua.cli.shared_options import session_for
from continua.policy import Policy
from continua.runtime.machines import STANDARD_OUTPUT, writing_to
from continua.runtime.spark.starting import StartingSpark
from continua.session import Session

SHORT_EPOCH = 64 << 20
"""Where somebody waits for answers, an epoch reads so much of files."""


@dataclass(frozen=True, slots=True)
class PreparedScript:
    """A script whose statements were executed, so that its queries can be answered."""

    script: Script
    session: Session
    report: Report
    folder: Path
    """Where the folders of sinks are."""
    contents: tuple[AskedContent, ...] = ()
    """What SELECT ... AT has found."""

    def write_contents(self, form: str, all_rows: bool = False) -> None:
        """Writes what SELECT ... AT has found."""
        with writing_to(STANDARD_OUTPUT):
            for content in self.contents:
                query, part = content_part(content)
                write_answers(form, {query.name: query}, part, "at", all_rows)


def prepared(
    script: Script,
    dialect: str,
    data: Path | None,
    options: EngineOptions,
    policy: Policy,
    log_json: bool = False,
    quiet: bool = False,
) -> PreparedScript:
    """Executes the statements of a script, and tells what they find, but for defaults where it should be ``quiet``."""
    report = JsonReport(script) if log_json else Report(script)
    with report.errors():
        session = session_for(script, dialect, data, policy, options.master, options.checkpoint)
        outcomes = session.execute(script.text)
        for outcome in outcomes:
            if not quiet:
                report.notices(outcome)
            report.finding(outcome)
    contents = tuple(outcome.content for outcome in outcomes if outcome.content is not None)
    if not session.queries and not contents:
        report.note(f"{script.name} has no query, so there is nothing to answer")
    return PreparedScript(script, session, report, data or script.folder, contents)


def run_script(
    ready: PreparedScript,
    form: str,
    at: str | None,
    options: EngineOptions,
    given: Sequence[str],
    spark: StartingSpark | None,
    all_rows: bool = False,
) -> None:
    """Answers the queries of a script; ``given`` are the options of the engine that the command line has named."""
    session, report = ready.session, ready.report
    ready.write_contents(form, all_rows)
    if ready.contents and not session.queries:
        return
    with report.errors():
        queries = dict(session.queries)
        instants = {} if at is None else {q.name: _instant(at, q) for q in queries.values()}
        if given and options.name == "reference":
            report.note(f"{', '.join(given)}: of no effect on the reference semantics")
        printer = Printer(form, queries) if at is None and form != "table" and queries else None
        if printer is not None and is_waited_for(sys.stdout) and any(q.sink is None for q in queries.values()):
            options = replace(options, epoch_bytes=SHORT_EPOCH)
        answering = EngineAnswers(session, options, report, ready.folder, spark, printer)
        try:
            chosen = list(queries.values())
            answers, failed = answering.answered(chosen) if at is None else answering.contents(chosen, instants)
        finally:
            report.warnings(session.inputs.notices)
    with writing_to(STANDARD_OUTPUT):
        if printer is None or not printer.used:
            write_answers(form, queries, answers, "t" if at is None else "at", all_rows)
        sys.stdout.flush()
    if failed is not None:
        # the others have their answers
        with report.errors():
            raise failed


def _instant(at: str, query: Query) -> int:
    try:
        return instant_at(at, query)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--at'") from None
