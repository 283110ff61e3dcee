"""``continua run``: the answers of every query of a script, in time order."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from continua.cli.answers import instant_at
from continua.cli.commands import debug_option
from continua.cli.engine import ENGINES, EngineAnswers, EngineOptions, engine_options
from continua.cli.options import data_option, dialect_option, script_argument, session_for
from continua.cli.output import FORMATS, write_answers
from continua.cli.report import Report
from continua.cli.script import Script
from continua.session import Query


@click.command(short_help="Print the answers of a script's queries.")
@script_argument
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Of answers.")
@click.option("--at", metavar="T", help="Print what each query holds at T (an integer or an ISO timestamp) instead.")
@dialect_option
@data_option("the script's folder")
@engine_options
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help="What answers the queries.")
@debug_option
def run(
    script: Script,
    form: str,
    at: str | None,
    dialect: str,
    data: Path | None,
    batch_rows: int | None,
    checkpoint: Path | None,
    partitions: int | None,
    master: str,
    engine: str,
) -> None:
    """Execute the statements of SCRIPT (- for standard input), read its sources to their end, and print the answers
    of every query in time order.

    Answers go to standard output and everything else to standard error. The exit status is 0, or 1 when the script or
    its data is wrong, or 2 when the command line is.
    """
    report = Report(script)
    unused = {"--batch-rows": batch_rows, "--checkpoint": checkpoint, "--partitions": partitions}
    with report.errors():
        session = session_for(script, dialect, data)
        for outcome in session.execute(script.text):
            report.notices(outcome)
            report.finding(outcome)
        queries = dict(session.queries)
        instants = {} if at is None else {q.name: _instant(at, q) for q in queries.values()}
        if not queries:
            report.note(f"{script.name} has no query, so there is nothing to answer")
        named = click.get_current_context().get_parameter_source("master") is ParameterSource.COMMANDLINE
        given = [name for name, value in unused.items() if value is not None] + ["--master"] * named
        if given and engine == "reference":
            report.note(f"{', '.join(given)}: of no effect on the reference semantics")
        options = EngineOptions(engine, batch_rows, checkpoint, partitions, master)
        answering = EngineAnswers(session, options, report, data or script.folder)
        try:
            chosen = list(queries.values())
            answers = answering.changes(chosen) if at is None else answering.contents(chosen, instants)
        finally:
            report.warnings(session.inputs.notices)
    write_answers(form, queries, answers, "t" if at is None else "at")


def _instant(at: str, query: Query) -> int:
    try:
        return instant_at(at, query)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--at'") from None
