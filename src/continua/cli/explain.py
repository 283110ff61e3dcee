"""``continua explain``: what a query means after all defaults, and what it must remember."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from continua.algebra.printer import to_json, tree
from continua.answers.outcome import Outcome
from continua.answers.query import Query
from continua.binding.defaults import BoundQuery
from continua.cli.commands import debug_option
from continua.cli.output import utf8_stdout
from continua.cli.report import Report
from continua.cli.script import Script
from continua.cli.shared_options import data_option, dialect_option, policy_option, script_argument, session_for
from continua.errors import Diagnostic
from continua.explain.advice import advice
from continua.explain.matching_text import matches
from continua.explain.moves_text import moves_text
from continua.explain.pictures.dot import dot
from continua.explain.pictures.drawn_window import DrawnWindow, windows_of
from continua.explain.pictures.plan_picture import plan_picture
from continua.explain.pictures.plan_svg import plan_svg
from continua.explain.pictures.window_svg import windows_svg
from continua.explain.points_text import points_text
from continua.explain.transposition_text import transpositions
from continua.lang.statements import Explain
from continua.physical.level_text import Domains, explain_json, explain_sharing, sharing
from continua.physical.level_text import explain as explain_physical
from continua.physical.nodes import QueryResult
from continua.policy import Policy
from continua.rules.rewriting_text import rewrites_json, rewrites_text
from continua.runs.later_queries import forms_together
from continua.runs.plans import graph_of, why_not
from continua.runtime.fingerprints import Function
from continua.session import Session

STAGES = ("logical", "rewrites", "physical", "sharing", "windows")
FORMATS = {
    "text": STAGES,
    "json": STAGES,
    "svg": ("physical", "sharing", "windows"),
    "dot": ("physical", "sharing"),
}
"""The stages that there are of each format."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A query of the script, or one that an EXPLAIN statement asks about; that one has no name."""

    name: str | None
    line: int
    query: Query
    graph: QueryResult | None
    """Its physical graph, where the engine runs it."""
    asked: tuple[str, str] | None = None
    """What an EXPLAIN statement asks for other than the plan, and the answer."""

    @property
    def bound(self) -> BoundQuery:
        """What it means."""
        return self.query.bound

    @property
    def defaults(self) -> list[str]:
        """What was assumed where the text leaves something open."""
        return [n.message for n in self.bound.notices if n.condition != "EXPANDED_QUERY"]

    @property
    def points(self) -> str | None:
        """At which points it is refreshed, if not at every instant."""
        return points_text(self.bound.plan, self.bound.domain)

    @property
    def notes(self) -> list[Diagnostic]:
        """What its author should know."""
        return advice(self.query.optimized, self.graph)

    def title(self, script: str) -> str:
        """What it is called."""
        return self.name or f"EXPLAIN at {script}:{self.line}"

    def windows(self, script: str) -> list[DrawnWindow]:
        """Its windows over the time line."""
        return [DrawnWindow.of(window, self.query, self.title(script)) for window in windows_of(self.bound.plan)]

    def text(self, script: str, stage: str) -> Iterator[str]:
        """Its lines for a reader."""
        yield f"{self.title(script)}: a {self.bound.kind.value}"
        yield f"  query     {self.bound.expanded}"
        for number, default in enumerate(self.defaults):
            yield f"  {'' if number else 'defaults':<8}  {default}"
        if stage == "logical" and self.asked is not None:
            yield from _labelled(*self.asked)
        elif stage == "logical":
            yield from _labelled("plan", tree(self.bound.logical))
            yield from _labelled("points", self.points or "")
        if stage == "rewrites" and self.query.rewritten is not None:
            yield from _labelled("rewrites", rewrites_text(self.query.rewritten))
        for note in self.notes:
            yield f"  {'note':<8}  {note.message}"

    def json(self, stage: str) -> dict[str, object]:
        """The same for a program."""
        found: dict[str, object] = {
            "query": self.name,
            "line": self.line,
            "yields": self.bound.kind.value,
            "time": self.bound.domain.value,
            "expanded": self.bound.expanded,
            "defaults": self.defaults,
            "plan": to_json(self.bound.logical),
            "points": self.points,
            "unbounded_state": [n.parameters for n in self.notes if n.condition == "UNBOUNDED_STATE"],
            "notes": [{"condition": n.condition, "message": n.message, "hint": n.hint} for n in self.notes],
        }
        if stage == "rewrites" and self.query.rewritten is not None:
            found["rewrites"] = rewrites_json(self.query.rewritten)
        return found


def _labelled(label: str, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines()):
        yield f"  {'' if number else label:<8}  {line}"


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
        found = [e for outcome in session.execute(script.text) for e in _explained(outcome, session)]
    if not found:
        report.note(f"{script.name} has no query, so there is nothing to explain")
    shown = _picture if form in ("svg", "dot") else _told
    text = shown(found, stage, form, session, script)
    if text:
        utf8_stdout().write(text + "\n")


def _told(found: list[Explained], stage: str, form: str, session: Session, script: Script) -> str:
    """A stage as text or JSON."""
    if stage in ("logical", "rewrites"):
        parts = ["\n".join(e.text(script.name, stage)) for e in found]
        shown: object = [e.json(stage) for e in found]
    elif stage == "windows":
        parts = [window.text for e in found for window in e.windows(script.name)]
        shown = [
            {"query": e.name, "line": e.line, "windows": [w.json() for w in e.windows(script.name)]} for e in found
        ]
    else:
        parts, shown = _graph(found, stage, session.functions)
    return json.dumps(shown, indent=2, ensure_ascii=False) if form == "json" else "\n\n".join(parts)


def _picture(found: list[Explained], stage: str, form: str, session: Session, script: Script) -> str:
    """A stage as a picture; there is none of a script without queries."""
    if not found:
        return ""
    if stage == "windows":
        return windows_svg([window for e in found for window in e.windows(script.name)])
    graphs = [e.graph for e in found if e.graph is not None]
    if stage == "sharing":
        graphs = [chosen.graph for chosen in forms_together(_named(found), session.functions)]
    picture = plan_picture(graphs, _domains(found), stage == "sharing")
    return plan_svg(picture) if form == "svg" else dot(picture)


def _graph(found: list[Explained], stage: str, functions: Sequence[Function]) -> tuple[list[str], object]:
    """All queries as one graph: what runs, or what of it is shared."""
    graphs = [e.graph for e in found if e.graph is not None]
    notes = [f"{e.name or 'EXPLAIN'}: {n.message}" for e in found for n in e.notes]
    domains = _domains(found)
    if not graphs:
        nothing = ("levels", "native") if stage == "physical" else ("operators", "matches", "transpositions")
        return [], {name: [] for name in nothing}
    if stage == "physical":
        text = explain_physical(graphs, domains)
        moves = {e.query.name: m for e in found if e.graph is not None and (m := moves_text(e.query, functions))}
        told = [*(f"{name}: {move}" for name, move in moves.items()), *(f"note: {n}" for n in notes)]
        return ["\n".join([text, *told])], {**explain_json(graphs, domains), "moves": moves}
    queries = _named(found)
    forms, moved = forms_together(queries, functions), transpositions(queries, functions)
    graphs, matched = [form.graph for form in forms], matches(forms)
    told = [*(m.text for m in matched), *(m.text for m in moved)]
    text = "\n".join([explain_sharing(graphs, None, domains), *told])
    return [text], {
        "operators": [asdict(o) for o in sharing(graphs, None, domains)],
        "matches": [asdict(m) for m in matched],
        "transpositions": [asdict(m) for m in moved],
    }


def _domains(found: list[Explained]) -> Domains:
    """In what the queries count time, by all names that they have in graphs."""
    named = ((query, e.query.domain) for e in found for query in (e.query.name, f"EXPLAIN at {e.line}"))
    return dict(named)


def _named(found: list[Explained]) -> list[Query]:
    """The queries that the engine runs; those that are only asked about are told by their lines."""
    able = (e for e in found if e.graph is not None)
    return [e.query if e.name else replace(e.query, name=f"EXPLAIN at {e.line}") for e in able]


def _explained(outcome: Outcome, session: Session) -> Iterator[Explained]:
    line = outcome.statement.span.line
    query = outcome.query or outcome.explained
    if query is not None:
        able = why_not(query, session.functions) is None
        graph = graph_of(query, session.functions) if able else None
        body = outcome.statement.body
        stage = body.stage if isinstance(body, Explain) else "LOGICAL"
        asked = (stage.lower(), outcome.text or "") if stage != "LOGICAL" else None
        yield Explained(outcome.query.name if outcome.query else None, line, query, graph, asked)
