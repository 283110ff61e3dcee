"""Queries that run along with those of the user: for relations behind streams, and for queries that join later."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from continua.answers.query import Query
from continua.answers.relation_behind import behind_name, relation_behind
from continua.runs.carried_content import keepers
from continua.runs.plans import why_not
from continua.runtime.fingerprints import Function


class HelpingQueries:
    """Finds them, each once: whoever knows a query by its definition knows it again."""

    def __init__(self) -> None:
        self._behind: dict[str, tuple[Query, Query | None]] = {}
        """By the names of queries: the query, and the one for the relation behind its stream."""

    def of(
        self, queries: Mapping[str, Query], views: Mapping[str, Query], functions: Sequence[Function]
    ) -> dict[str, Query]:
        """Those that queries and views need."""
        behind = (self._relation(query, functions) for query in queries.values())
        return {**{q.name: q for q in behind if q is not None}, **keepers([*queries.values(), *views.values()])}

    def _relation(self, query: Query, functions: Sequence[Function]) -> Query | None:
        known = self._behind.get(query.name)
        if known is None or known[0] is not query:
            found = relation_behind(query)
            if found is not None and why_not(found, functions) is not None:
                found = None
            known = self._behind[query.name] = (query, found)
        return known[1]


def with_helpers(names: Collection[str], definitions: Mapping[str, Query]) -> set[str]:
    """Some queries, and those that help them."""
    behind = {behind_name(n) for n in names} & definitions.keys()
    return {*names, *behind, *keepers(definitions[n] for n in names)}
