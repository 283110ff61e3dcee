"""The engine against the reference semantics, on a script and the first rows of the sources that it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pyarrow as pa

from continua.answers.query import Answer
from continua.catalog import RelationInfo, StreamInfo, is_timed
from continua.errors import BindError, Diagnostic
from continua.instants import show_instant
from continua.runs.plans import why_not
from continua.runtime.reference_rows import payload_rows
from continua.server.service import Service
from continua.session import Session
from continua.sources.given import first_rows

ROWS = 300
"""So many rows of each source are looked at: the reference is slow."""


def verified(service: Service, text: str) -> dict[str, object]:
    """Whether engine and reference agree at every instant at which a query of a script changes."""
    session = service.session
    session.check(text)
    sources = [e for e in session.catalog.entries() if isinstance(e, StreamInfo | RelationInfo)]
    queries = list(_alone(session, text, sources).queries.values())
    if not queries:
        raise BindError(Diagnostic("NO_QUERY", "there is no query in this text", hint="SELECT ... FROM ..."))
    read = {s.name.casefold() for q in queries for s in q.sources}
    samples: dict[str, list[tuple[object, ...]]] = {}
    for info in sources:
        if info.name.casefold() in read and not _is_stored(info):
            table = first_rows(session.inputs.given([info]), ROWS).get(info.name.casefold())
            samples[info.name] = [] if table is None else _rows(info, table)
    told = [_compared(_alone(session, text, sources, samples), query.name) for query in queries]
    return {
        "agrees": all(bool(t["agrees"]) for t in told),
        "instants": sum(int(str(t["instants"])) for t in told),
        "rows": sum(map(len, samples.values())),
        "queries": told,
    }


def _alone(
    session: Session,
    text: str,
    sources: Sequence[StreamInfo | RelationInfo],
    samples: Mapping[str, list[tuple[object, ...]]] = MappingProxyType({}),
) -> Session:
    """A session of its own that has run the script, with samples for the rows of sources."""
    policy = session.catalog.policy
    alone = Session(data=policy.data, master="none", clock=lambda: 0, policy=policy)
    alone.catalog.restore(session.catalog)
    for info in sources:
        if not _is_stored(info):
            alone.catalog.add(replace(info, source=None, partitions=None))
    alone.execute(text)
    for name, rows in samples.items():
        if rows:
            alone.insert(name, rows)
    return alone


def _is_stored(info: StreamInfo | RelationInfo) -> bool:
    """Whether its rows were given with its definition."""
    return isinstance(info, RelationInfo) and info.rows is not None


def _rows(info: StreamInfo | RelationInfo, table: pa.Table) -> list[tuple[object, ...]]:
    """The rows of a sample as they are inserted."""
    if isinstance(info, RelationInfo) and is_timed(info):
        message = f"{info.name} is told by tagged modifications, which continua verify compares"
        raise BindError(Diagnostic("NOT_SUPPORTED", message, parameters={"feature": "VERIFY"}))
    return [tuple(row) for row in payload_rows(table, info.columns)]


def _compared(session: Session, name: str) -> dict[str, object]:
    query = replace(session.queries[name], sink=None)
    reason = why_not(query, session.functions)
    if reason is not None:
        return {"name": name, "agrees": False, "instants": 0, "told": f"it is not verified: {reason}"}
    theirs = _by_instant(session.answers([query]))
    session.start([query])
    live = session.live
    assert live is not None
    try:
        live.finish()
        mine = _by_instant(live.answers(name))
    finally:
        session.stop()
    instants = sorted(set(mine) | set(theirs))
    first = next((t for t in instants if mine.get(t) != theirs.get(t)), None)
    if first is None:
        told = f"engine and reference agree at {len(instants)} instants"
    else:
        told = f"engine and reference differ first at {show_instant(first, query.domain)}"
    return {"name": name, "agrees": first is None, "instants": len(instants), "told": told}


def _by_instant(answers: Sequence[Answer]) -> dict[int, Counter[tuple[object, ...]]]:
    found: dict[int, Counter[tuple[object, ...]]] = {}
    for a in answers:
        found.setdefault(a.instant, Counter())[a.op, a.row, a.until] += 1
    return found
