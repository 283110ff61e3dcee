"""Keys by which answers are written."""

from __future__ import annotations

from continua.algebra.base import Kind
from continua.algebra.keys import keys
from continua.answers.query import Query, deletion_key
from continua.errors import Diagnostic, SourceError, did_you_mean, listing


def check_key(query: Query, key: tuple[str, ...], sink: str) -> None:
    """Refuses a key that is none of the query's columns, or that does not tell the rows of a relation apart."""
    parameters: dict[str, object] = {"query": query.name, "sink": sink, "key": list(key)}
    span = query.sink.function.span if query.sink is not None else None
    for name in key:
        if name not in query.columns:
            message = f"the query {query.name} has no column {name}"
            hint = did_you_mean(name, query.columns) or f"it has {listing(query.columns)}"
            raise SourceError(Diagnostic("UNKNOWN_COLUMN", message, span, hint, parameters))
    if not key or query.kind is Kind.STREAM:
        return
    known = keys(query.bound.plan)
    # of what is tagged a deletion tells its key alone
    told = set(deletion_key(query) or query.columns)
    if not any(some <= set(key) for some in known) or not set(key) <= told:
        found = "; ".join(", ".join(sorted(some)) for some in known)
        message = f"{', '.join(key)} may not tell the rows of {query.name} apart at every instant"
        hint = f"a key is: {found}" if found else "without a key each change is written by itself"
        raise SourceError(Diagnostic("NOT_A_KEY", message, span, hint, parameters))
