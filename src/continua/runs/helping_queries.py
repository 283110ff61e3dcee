"""Queries that run along with those of the user: for relations behind streams, and for queries that join later."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from continua.answers.query import Query
from continua.answers.relation_behind import behind_name, relation_behind
from continua.runs.carried_content import keepers
from continua.runs.live_options import LiveOptions
from continua.runs.live_queries import running_in
from continua.runs.plans import why_not
from continua.runtime.fingerprints import Function


class HelpingQueries:
    """Finds them, each once: whoever knows a query by its definition knows it again."""

    def __init__(self) -> None:
        self._behind: dict[str, tuple[Query, Query | None]] = {}
        """By the names of queries: the query, and the one for the relation behind its stream."""

    def of(
        self,
        queries: Mapping[str, Query],
        views: Mapping[str, Query],
        functions: Sequence[Function],
        options: LiveOptions,
    ) -> dict[str, Query]:
        """Those that queries and views need in a live run.

        Where nobody can ask for contents, no relation behind a stream is kept; and where nobody can join either, as in
        a run without a checkpoint that nobody asks, no content for those that do. What runs in a checkpoint goes on.
        """
        behind = [found for query in queries.values() if (found := self._relation(query, functions)) is not None]
        for_joins = keepers([*queries.values(), *views.values()])
        if options.asked:
            return {**{q.name: q for q in behind}, **for_joins}
        going_on = running_in(options.checkpoint)
        kept = for_joins if options.checkpoint is not None else {}
        return {**{q.name: q for q in behind if q.name in going_on}, **kept}

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
