"""The stages of plans as graphs, with what the operators of live queries did lately."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from continua.algebra.printer import to_json
from continua.answers.query import Query
from continua.explain.advice import advice
from continua.physical.level_text import Domains, levels
from continua.physical.nodes import QueryResult
from continua.physical.placement import placement_of
from continua.rules.rewriting_text import rewrites_json
from continua.runs.live_run import LiveRun
from continua.runs.plans import graph_of, why_not
from continua.server.samples import sampler_of
from continua.server.service import Service

_LATELY = 11
"""Rows a second are of the time between so many samples, at most."""
_WORD = 8
"""The bytes of a word. Rows are words where they move: one for each column, texts beside them not counted,"""
_TIMES = 3
"""and so many for their interval and their weight."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What the operators of a run did lately, by their ids."""

    rows_per_second: Mapping[str, float]
    last: Mapping[str, Mapping[str, object]]


def plans_json(service: Service, query: Query, *, live: bool) -> dict[str, object]:
    """All stages of a query's plan."""
    functions = service.session.functions
    why = why_not(query, functions)
    graph = None if why is not None else graph_of(query, functions)
    done = query.rewritten
    logical, notes = to_json(query.bound.logical), advice(query.optimized, graph)
    found: dict[str, object] = {
        "logical": logical,
        "rewrites": {"steps": [], "plan": logical, "ran_out": False} if done is None else rewrites_json(done),
        "physical": None,
        "why": why,
        "notes": [{"condition": n.condition, "message": n.message, "hint": n.hint} for n in notes],
        "expanded": query.bound.expanded,
        "defaults": [n.message for n in query.bound.notices if n.condition != "EXPANDED_QUERY"],
    }
    if live:
        run = service.live.run_of(query.name)
        results = [r for r in _results(run) if r.query == query.name]
        found["physical"] = _physical(results, {query.name: query.domain}, figures_of(service, run))
    elif graph is not None:
        found["physical"] = _physical([graph], {query.name: query.domain}, None)
    return found


def all_physical(service: Service, may: Callable[[str], bool]) -> dict[str, object]:
    """The graph of the live queries that somebody may see, without those that only help them."""
    operators: list[dict[str, object]] = []
    moves: list[dict[str, object]] = []
    shown: dict[int, str] = {}
    for run in service.live.runs.values():
        # without the lock of the run, which an epoch holds: placements are replaced as a whole
        running = run.queries
        results = [
            r for r in _results(run) if r.query in running and r.query in service.session.queries and may(r.query)
        ]
        domains = {n: q.domain for n, q in running.items()}
        part = _physical(results, domains, figures_of(service, run), first=len(operators))
        operators += part["operators"]  # type: ignore[arg-type]
        moves += part["moves"]  # type: ignore[arg-type]
        shown |= {level["level"]: level["where"] for level in part["levels"]}  # type: ignore[attr-defined]
    return {
        "live": True,
        "levels": [{"level": number, "where": where} for number, where in sorted(shown.items())],
        "operators": operators,
        "moves": moves,
    }


def _results(run: LiveRun) -> list[QueryResult]:
    nodes = (node for level in run.engine.placement.levels for node in level.nodes)
    return [node for node in nodes if isinstance(node, QueryResult)]


def figures_of(service: Service, run: LiveRun) -> Figures:
    """What the operators of a run did lately."""
    names = [n for n in run.queries if n in service.session.queries]
    samples = sampler_of(service).of(names[0])[-_LATELY:] if names else []
    rows: dict[str, int] = {}
    last: dict[str, Mapping[str, object]] = {}
    for entry in list(run.recent):
        is_lately = bool(samples) and samples[0].epoch < int(str(entry["epoch"])) <= samples[-1].epoch
        for operator in _operators(entry):
            name = str(operator["id"])
            last[name] = operator
            rows[name] = rows.get(name, 0) + (int(str(operator["rows"])) if is_lately else 0)
    took = samples[-1].at - samples[0].at if len(samples) > 1 else 0.0
    return Figures({n: count / took for n, count in rows.items()} if took > 0 else {}, last)


def _operators(entry: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    found = entry.get("operators", ())
    assert isinstance(found, Sequence)
    return found


def _physical(
    results: Iterable[QueryResult], domains: Domains, figures: Figures | None, first: int = 0
) -> dict[str, object]:
    """A graph as plain data; its operators are numbered from behind ``first`` on."""
    graphs = list(results)
    placed = placement_of(graphs)
    names = dict(enumerate((n for level in placed.levels for n in level.nodes), start=1))
    shown = levels(graphs, domains)
    operators: list[dict[str, object]] = []
    moves: list[dict[str, object]] = []
    for level in shown:
        how: dict[int, list[str]] = {}
        for movement in level.receives:
            how.setdefault(movement.number, []).append(movement.how)
        here = {o.number for o in level.operators}
        for operator in level.operators:
            node = names[operator.number]
            last = figures.last.get(node.id, {}) if figures is not None else {}
            rate = figures.rows_per_second.get(node.id) if figures is not None else None
            operators.append(
                {
                    "id": first + operator.number,
                    "title": operator.operator,
                    "level": level.level,
                    "inputs": [first + n for n in operator.inputs],
                    "alone": operator.alone,
                    "state": operator.state,
                    "queries": list(operator.queries),
                    "rows": last.get("rows"),
                    "rowsPerSecond": rate,
                    "bytesPerSecond": None if rate is None else rate * _WORD * (len(node.schema) + _TIMES),
                    "stateRows": last.get("stateRows"),
                    "stateBytes": last.get("stateBytes"),
                    "milliseconds": last.get("durationMs"),
                }
            )
            moves += [
                {"source": first + below, "target": first + operator.number, "how": " or ".join(how.get(below, []))}
                for below in operator.inputs
                if below not in here
            ]
    return {
        "live": figures is not None,
        "levels": [{"level": level.level, "where": level.where} for level in shown],
        "operators": operators,
        "moves": moves,
    }
