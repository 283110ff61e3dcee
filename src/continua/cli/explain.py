"""``continua explain``: what a query means after all defaults, and what it must remember."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from continua.algebra.printer import describe, to_json, tree
from continua.algebra.properties import unbounded_state
from continua.binding.defaults import BoundQuery
from continua.cli.commands import debug_option
from continua.cli.options import data_option, dialect_option, script_argument, session_for
from continua.cli.output import utf8_stdout
from continua.cli.report import Report
from continua.cli.script import Script
from continua.errors import Diagnostic, NotSupportedError
from continua.physical.explain import explain as physical
from continua.running import sink_of
from continua.session import Outcome

STAGES = ("logical", "rewrites", "physical", "sharing")


@dataclass(frozen=True, slots=True)
class Explained:
    """A query of the script, or one that an EXPLAIN statement asks about; that one has no name."""

    name: str | None
    line: int
    bound: BoundQuery

    @property
    def defaults(self) -> list[str]:
        """What was assumed where the text leaves something open."""
        return [n.message for n in self.bound.notices if n.condition != "EXPANDED_QUERY"]

    @property
    def unbounded(self) -> list[tuple[str, str]]:
        """The operators whose state can grow for ever, and what piles up in each."""
        return [(describe(plan)[0], what) for plan, what in unbounded_state(self.bound.logical)]

    def text(self, script: str) -> Iterator[str]:
        """Its lines for a reader."""
        title = self.name or f"EXPLAIN at {script}:{self.line}"
        yield f"{title}: a {self.bound.kind.value}"
        yield f"  query     {self.bound.expanded}"
        for number, default in enumerate(self.defaults):
            yield f"  {'' if number else 'defaults':<8}  {default}"
        for number, line in enumerate(tree(self.bound.logical).splitlines()):
            yield f"  {'' if number else 'plan':<8}  {line}"
        for operator, what in self.unbounded:
            yield f"  {'note':<8}  the state of {operator} has no bound: it keeps {what}"

    def json(self) -> dict[str, object]:
        """The same for a program."""
        return {
            "query": self.name,
            "line": self.line,
            "yields": self.bound.kind.value,
            "time": self.bound.domain.value,
            "expanded": self.bound.expanded,
            "defaults": self.defaults,
            "plan": to_json(self.bound.logical),
            "unbounded_state": [{"operator": operator, "keeps": what} for operator, what in self.unbounded],
        }


@click.command(short_help="Show what a script's queries mean.")
@script_argument
@click.option("--stage", type=click.Choice(STAGES), default=STAGES[0], show_default=True, help="Of the plan.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, a list with an object a query.")
@dialect_option
@data_option("the script's folder")
@debug_option
def explain(script: Script, stage: str, as_json: bool, dialect: str, data: Path | None) -> None:
    """Print every query of SCRIPT (- for standard input), and every query that it EXPLAINs: the query in full, the
    defaults that were applied, whether it yields a stream or a relation, its plan, and operators whose state nothing
    bounds.
    """
    report = Report(script)
    with report.errors():
        if stage not in ("logical", "physical"):
            raise NotSupportedError(
                Diagnostic("NOT_SUPPORTED", f"--stage {stage} is not supported yet", parameters={"feature": stage})
            )
        session = session_for(script, dialect, data)
        outcomes = session.execute(script.text)
        found = [e for outcome in outcomes for e in _explained(outcome)]
        if stage == "physical":
            queries = [o.query for o in outcomes if o.query is not None]
            text = physical([sink_of(q, q.bound.logical, session.functions) for q in queries]) if queries else ""
            utf8_stdout().write(f"{text}\n" if text else "")
            return
    if not found:
        report.note(f"{script.name} has no query, so there is nothing to explain")
    if as_json:
        text = json.dumps([e.json() for e in found], indent=2, ensure_ascii=False)
    else:
        text = "\n\n".join("\n".join(e.text(script.name)) for e in found)
    if text:
        utf8_stdout().write(text + "\n")


def _explained(outcome: Outcome) -> Iterator[Explained]:
    line = outcome.statement.span.line
    if outcome.query is not None:
        yield Explained(outcome.query.name, line, outcome.query.bound)
    elif outcome.explained is not None:
        yield Explained(None, line, outcome.explained)
