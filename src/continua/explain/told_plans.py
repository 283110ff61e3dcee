"""Stages of the plans of queries, as text, as JSON and as pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from continua.algebra.printer import to_json, tree
from continua.answers.outcome import Outcome
from continua.answers.query import Query
from continua.binding.defaults import BoundQuery
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
from continua.rules.rewriting_text import rewrites_json, rewrites_text
from continua.runs.later_queries import forms_together
from continua.runs.plans import graph_of, why_not
from continua.runtime.fingerprints import Function

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


def told(found: list[Explained], stage: str, functions: Sequence[Function], script: str) -> tuple[list[str], object]:
    """A stage as texts, and as JSON."""
    if stage in ("logical", "rewrites"):
        parts = ["\n".join(e.text(script, stage)) for e in found]
        shown: object = [e.json(stage) for e in found]
    elif stage == "windows":
        parts = [window.text for e in found for window in e.windows(script)]
        shown = [{"query": e.name, "line": e.line, "windows": [w.json() for w in e.windows(script)]} for e in found]
    else:
        return _graph(found, stage, functions)
    return parts, shown


def picture(found: list[Explained], stage: str, form: str, functions: Sequence[Function], script: str) -> str:
    """A stage as a picture; there is none of a script without queries."""
    if not found:
        return ""
    if stage == "windows":
        return windows_svg([window for e in found for window in e.windows(script)])
    graphs = [e.graph for e in found if e.graph is not None]
    if stage == "sharing":
        graphs = [chosen.graph for chosen in forms_together(_named(found), functions)]
    drawn = plan_picture(graphs, _domains(found), stage == "sharing")
    return plan_svg(drawn) if form == "svg" else dot(drawn)


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
        lines = [*(f"{name}: {move}" for name, move in moves.items()), *(f"note: {n}" for n in notes)]
        return ["\n".join([text, *lines])], {**explain_json(graphs, domains), "moves": moves}
    queries = _named(found)
    forms, moved = forms_together(queries, functions), transpositions(queries, functions)
    graphs, matched = [form.graph for form in forms], matches(forms)
    lines = [*(m.text for m in matched), *(m.text for m in moved)]
    text = "\n".join([explain_sharing(graphs, None, domains), *lines])
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


def explained_query(query: Query, functions: Sequence[Function]) -> Explained:
    """A query that is registered."""
    able = why_not(query, functions) is None
    graph = graph_of(query, functions) if able else None
    return Explained(query.name, 0 if query.span is None else query.span.line, query, graph)


def explained_in(outcome: Outcome, functions: Sequence[Function]) -> Iterator[Explained]:
    """What a statement has registered, or asks about."""
    query = outcome.query or outcome.explained
    if query is not None:
        body = outcome.statement.body
        stage = body.stage if isinstance(body, Explain) else "LOGICAL"
        asked = (stage.lower(), outcome.text or "") if stage != "LOGICAL" else None
        name = outcome.query.name if outcome.query else None
        found = explained_query(query, functions)
        yield replace(found, name=name, line=outcome.statement.span.line, asked=asked)
