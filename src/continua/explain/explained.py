"""EXPLAIN: the stages of a query's plan as text, and what the first rows of its sources say of it."""

from __future__ import annotations

from collections.abc import Sequence

from continua.algebra.printer import tree
from continua.answers.query import Query
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import ContinuaError
from continua.explain.matching_text import matches
from continua.explain.moves_text import moves_text
from continua.explain.points_text import points_text
from continua.explain.transposition_text import transpositions
from continua.physical.level_text import explain, explain_sharing
from continua.physical.nodes import QueryResult
from continua.physical.placement import placement_of
from continua.physical.skew import Skew, skews
from continua.rules.rewriting_text import rewrites_text
from continua.runs.later_queries import forms_together
from continua.runs.plans import graph_of, why_not
from continua.runs.sampling import ROWS
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import InputReader
from continua.sources.given import first_rows


def explained(
    query: Query, stage: str, queries: Sequence[Query], functions: Sequence[Function], inputs: InputReader
) -> str:
    """A stage of a query's plan: LOGICAL, REWRITES, PHYSICAL, or what it SHARES with other queries."""
    match stage:
        case "REWRITES":
            return rewrites_text(query.rewritten) if query.rewritten is not None else tree(query.bound.logical)
        case "PHYSICAL":
            graph = graph_of(query, functions)
            moves = moves_text(query, functions)
            told = skew_texts(query, graph, inputs)
            shown = explain([graph], {query.name: query.domain})
            return "\n".join([shown, *([] if moves is None else [moves]), *told])
        case "SHARING":
            others = [q for q in queries if q.name != query.name]
            able = [q for q in (*others, query) if why_not(q, functions) is None]
            forms = forms_together(able, functions)
            domains = {q.name: q.domain for q in (*others, query)}
            told = [match.text for match in matches(forms, query.name)]
            told += [found.text for found in transpositions(able, functions, query.name)]
            return "\n".join([explain_sharing([f.graph for f in forms], query.name, domains), *told])
        case _:
            points = points_text(query.bound.plan, query.domain)
            return "\n".join([tree(query.bound.logical), *([] if points is None else [points])])


def skew_texts(query: Query, graph: QueryResult, inputs: InputReader) -> list[str]:
    """What the first rows of the sources say of keys that most rows have; nothing where there are no rows to see."""
    try:
        rows = first_rows(inputs.given(query.sources), ROWS)
    except ContinuaError:
        return []
    sources = {s.name.casefold(): s for s in query.sources}
    return [_told(skew, sources[skew.source]) for skew in skews(placement_of([graph]), rows)]


def _told(skew: Skew, source: StreamInfo | RelationInfo) -> str:
    columns = ", ".join(source.columns[c].name for c in skew.columns)
    told = f"skew: one value of {columns} is in {skew.share:.0%} of the first rows of {source.name}"
    if skew.partial:
        return f"{told}; only partial results move to level {skew.level}"
    return f"{told}; all of these go to one partition of level {skew.level}"
