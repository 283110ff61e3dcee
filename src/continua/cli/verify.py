"""``continua verify``: the engine against the reference semantics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import click

from continua.answers.encoding.text_columns import json_row
from continua.answers.query import Answer, Query
from continua.cli.commands import debug_option
from continua.cli.engine_answers import EngineAnswers
from continua.cli.engine_options import EngineOptions, engine_options, starting_spark
from continua.cli.reference_answers import reference_answers
from continua.cli.report import Report
from continua.cli.script import Script
from continua.cli.shared_options import data_option, dialect_option, policy_option, script_argument, session_for
from continua.instants import show_instant
from continua.objects.urls import Place
from continua.policy import Policy
from continua.runs.plans import why_not
from continua.types import Value

_Told: TypeAlias = tuple[str | None, tuple[str, ...], tuple[Value, ...], int | None]
"""What an answer tells of its instant."""


@click.command()
@script_argument
@dialect_option
@data_option("the script's folder")
@engine_options
@policy_option
@debug_option
@click.pass_context
def verify(
    ctx: click.Context,
    script: Script,
    dialect: str,
    data: Path | None,
    batch_rows: int | None,
    checkpoint: Place | None,
    partitions: int | None,
    master: str,
    policy: Policy,
) -> None:
    """Compare the engine with the reference semantics on SCRIPT (- for standard input), at every instant where
    anything changes.

    The exit status is 0 only if all queries agree; 1 if one differs, or the script or its data is wrong.
    """
    report = Report(script)
    options = EngineOptions("interval", batch_rows, checkpoint, partitions, master)
    differing = 0
    with starting_spark(options) as spark, report.errors():
        session = session_for(script, dialect, data, policy, options.master, checkpoint)
        session.execute(script.text)
        queries = [replace(query, sink=None) for query in session.queries.values()]
        able = [q for q in queries if why_not(q, session.functions) is None]
        try:
            engine = EngineAnswers(session, options, report, spark=spark).changes(able)
        finally:
            report.warnings(session.inputs.notices)
        for query in queries:
            if query not in able:
                report.failure(f"{query.name} is not verified: {why_not(query, session.functions)}")
                differing += 1
                continue
            mine = [a for a in engine if a.query == query.name]
            theirs = reference_answers(session, [query])
            if not _same(report, query, mine, theirs):
                differing += 1
    if not queries:
        report.failure(f"nothing was verified: {script.name} has no query")
        ctx.exit(1)
    ctx.exit(1 if differing else 0)


def _same(report: Report, query: Query, engine: Sequence[Answer], reference: Sequence[Answer]) -> bool:
    """Whether the answers agree at every instant; the first difference is told with both contents."""
    mine, theirs = _by_instant(engine), _by_instant(reference)
    instants = sorted(set(mine) | set(theirs))
    first = next((t for t in instants if mine.get(t) != theirs.get(t)), None)
    if first is None:
        report.note(f"{query.name}: engine and reference agree at {len(instants)} instants")
        return True
    lines = [f"{query.name}: engine and reference differ first at {show_instant(first, query.domain)}"]
    for name, found in (("engine", mine), ("reference", theirs)):
        lines.append(f"  {name}:")
        content = found.get(first, Counter())
        lines += [
            f"    {op or ''}{json_row(query.types, columns, row)} x {count}"
            for (op, columns, row, _), count in sorted(content.items(), key=str)
        ]
        lines += ["    nothing"] if not content else []
    report.failure("\n".join(lines))
    return False


def _by_instant(answers: Sequence[Answer]) -> dict[int, Counter[_Told]]:
    found: dict[int, Counter[_Told]] = {}
    for a in answers:
        found.setdefault(a.instant, Counter())[a.op, a.columns, a.row, a.until] += 1
    return found
