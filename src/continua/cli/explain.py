"""``continua explain``: what a query means after all defaults, and what it must remember."""

from __future__ import annotations

import json
from pathlib import Path

import click

from continua.cli.commands import debug_option
from continua.cli.output import utf8_stdout
from continua.cli.report import Report
from continua.cli.script import Script
from continua.cli.shared_options import data_option, dialect_option, policy_option, script_argument, session_for
from continua.explain.told_plans import FORMATS, STAGES, explained_in, picture, told
from continua.policy import Policy


@click.command()
@script_argument
@click.option("--stage", type=click.Choice(STAGES), default=STAGES[0], show_default=True, help="Of the plan.")
@click.option("--format", "form", type=click.Choice(tuple(FORMATS)), default="text", show_default=True, help="Of it.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json: one document.")
@dialect_option
@data_option("the script's folder")
@policy_option
@debug_option
def explain(
    script: Script, stage: str, form: str, as_json: bool, dialect: str, data: Path | None, policy: Policy
) -> None:
    """Print every query of SCRIPT (- for standard input), and every query that it EXPLAINs: the query in full, the
    defaults that were applied, whether it yields a stream or a relation, its plan, and what its author should know.

    Stages: logical, the plan as written; rewrites, what each rule does to it; physical, the graph that runs; sharing,
    what of it works for several queries; windows, what each window holds of a stream, over time.

    Pictures: --format svg of physical, sharing and windows; --format dot, for Graphviz, of physical and sharing.
    """
    form = "json" if as_json else form
    if stage not in FORMATS[form]:
        *others, last = FORMATS[form]
        raise click.UsageError(f"--format {form} is of {', '.join(others)} and {last}, not of {stage}")
    report = Report(script)
    with report.errors():
        session = session_for(script, dialect, data, policy)
        found = [e for outcome in session.execute(script.text) for e in explained_in(outcome, session.functions)]
    if not found:
        report.note(f"{script.name} has no query, so there is nothing to explain")
    if form in ("svg", "dot"):
        text = picture(found, stage, form, session.functions, script.name)
    else:
        parts, shown = told(found, stage, session.functions, script.name)
        text = json.dumps(shown, indent=2, ensure_ascii=False) if form == "json" else "\n\n".join(parts)
    if text:
        utf8_stdout().write(text + "\n")
