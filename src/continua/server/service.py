"""What a server does, whatever the protocol by which it is asked: it has no word of HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from continua import __version__
from continua.answers.outcome import Outcome
from continua.answers.query import Query
from continua.catalog import ViewInfo
from continua.errors import BindError, ContinuaError, Diagnostic, NotSupportedError, did_you_mean
from continua.lang.statements import CreateDerived, Drop, Start, Stop
from continua.objects.urls import BucketUrl, Place
from continua.policy import NOTHING, Policy
from continua.runs.followed_groups import FollowedGroups
from continua.runs.live_groups import LiveGroups
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.runs.plans import why_not
from continua.runtime.checkpoint.store import MemoryStore, SealedStore, medium_at
from continua.server.access import refused
from continua.server.alerts import Alerts
from continua.server.changes import ChangesReader, Position, Told
from continua.server.journal import Journal
from continua.server.news import News
from continua.server.shared_reads import SharedReads
from continua.server.stored_catalog import Kept, StoredCatalog
from continua.server.tokens import Tokens
from continua.session import Session

TRIGGER = 0.2
"""The seconds between the beginnings of epochs."""
_SERVER = "server"


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """How a server works."""

    state: Place | None = None
    """Where the catalog and the checkpoint of its queries are; None: they end with the process."""
    data: Path = Path()
    dialect: str = "cql"
    master: str | None = None
    partitions: int | None = None
    idle_timeout: float | None = None
    trigger: float = TRIGGER
    queries: int = 500
    """How many queries somebody may have registered."""
    policy: Policy = NOTHING
    """What those who are served may have it call, read and write."""


class Service:
    """A session that works on what comes, and whose catalog is kept."""

    def __init__(self, options: ServiceOptions) -> None:
        self.options = options
        state = options.state
        self.store = store_at(state)
        rejects = state / "rejected" if isinstance(state, Path) else None
        self.session = Session(
            data=options.data,
            dialect=options.dialect,
            master=options.master,
            rejects=rejects,
            policy=_with_state(options.policy, state),
        )
        self.kept = StoredCatalog(self.store)
        self.tokens = Tokens(self.store)
        self.journal = Journal(self.store)
        self.failures: dict[str, ContinuaError] = {}
        """What ended groups of queries, by group."""
        self.news = News()
        """Tells whenever epochs may have been finished."""
        self.changes = ChangesReader()
        self.is_closing = False
        self.alerts = Alerts(self, self.store, options.policy)
        self._reads = SharedReads(self.changes, self.run_of)
        self._defining = threading.RLock()
        """Held while definitions change, so that they are kept in the order in which they were made."""
        self._followed = FollowedGroups(
            lambda: self.session.live, options.trigger, self._failed, lambda _: self.news.tell()
        )

    # Beginning and end.

    def begin(self) -> None:
        """Takes up what the catalog says, and has its queries go on from their checkpoint."""
        for kept in self.kept.statements:
            self._again(kept)
        stopped = self.kept.stopped()
        inputs = self.session.inputs
        inputs.are_kept = self.journal.are_kept
        self.session.start([], self._live_options())
        self.journal.again(self.live.main.intake.marks, inputs.waiting.add)
        inputs.keep = self.journal.keep
        live, queries = self.live, self.session.queries
        for name in [n for n in queries if n not in live.queries and n not in stopped]:
            try:
                self.session.start([queries[name]])
            except ContinuaError as error:
                self.failures[name] = error
        self._views()
        self._followed.follow()

    def _again(self, kept: Kept) -> None:
        if kept.kind in ("start", "stop"):
            return
        try:
            self.session.execute(kept.text)
        except ContinuaError as error:
            if kept.kind == "drop":  # the end came while what it drops was forgotten
                return
            raise type(error)(*(_of_catalog(d, kept) for d in error.diagnostics)) from None

    def _live_options(self) -> LiveOptions:
        state, session = self.options.state, self.session
        cores = 1 if session.spark is None else session.spark.sparkContext.defaultParallelism
        return LiveOptions(
            checkpoint=None if state is None else state / "checkpoint",
            partitions=self.options.partitions or cores,
            idle_timeout=self.options.idle_timeout,
        )

    def close(self) -> None:
        """Ends it after the epochs that are worked on."""
        self.is_closing = True
        self._followed.stop()
        self.session.stop()

    @property
    def live(self) -> LiveGroups:
        """The live queries: they begin with the server."""
        live = self.session.live
        assert live is not None
        return live

    # Statements.

    def execute(self, text: str, by: str = "") -> list[Outcome]:
        """Runs a script on somebody's behalf; what it defines is kept before anybody is told that it is defined."""
        with self._defining:
            kept: list[Kept] = []
            outcomes = self.session.execute(text, lambda found: kept.extend(self._keep(found, by)))
            for outcome in outcomes:
                self._took_effect(outcome, kept)
        self._followed.follow()
        self.news.tell()
        return outcomes

    def check(self, text: str) -> Sequence[Diagnostic]:
        """What is worth knowing about a script, which is not run; an error where it is wrong."""
        with self._defining:
            return [notice for outcome in self.session.check(text) for notice in outcome.notices]

    def _keep(self, outcomes: Sequence[Outcome], by: str) -> Iterator[Kept]:
        many = sum(outcome.query is not None for outcome in outcomes)
        if many and self.kept.queries_of(by) + many > self.options.queries:
            hint = "drop some of them"
            raise refused("TOO_MANY", f"{by} may have {self.options.queries} queries", hint)
        for outcome in outcomes:
            if (kept := self.kept.keep(outcome, by)) is not None:
                yield kept

    def _took_effect(self, outcome: Outcome, kept: Sequence[Kept]) -> None:
        match body := outcome.statement.body:
            case Drop(kind="QUERY") | Start() | Stop():
                self.failures.pop(body.name.text, None)
            case Drop(kind=kind, name=name) if kind not in ("FUNCTION", "AGGREGATE", "WINDOW"):
                self.journal.dropped(name.text)
            case CreateDerived(mode="COMPLETE"):
                self._views()
        if outcome.query is not None:
            new = outcome.query.name
            try:
                self._start(outcome.query)
            except BaseException:
                self.session.queries.pop(new, None)
                if new in self.live.queries:
                    self.live.drop(new)
                for known in kept:
                    if known.space == "query" and known.name == new:
                        self.kept.take_back(known)
                raise

    def _start(self, query: Query) -> None:
        reason = why_not(query, self.session.functions)
        if reason is not None:
            message = f"query {query.name} cannot be followed: {reason}"
            raise NotSupportedError(Diagnostic("NOT_SUPPORTED", message, query.span, parameters={"query": query.name}))
        self.session.start([query])

    def _views(self) -> None:
        """Has COMPLETE views kept up to date, if there are any; all queries are live but those that were stopped."""
        if any(isinstance(e, ViewInfo) and e.kind == "COMPLETE" for e in self.session.catalog.entries()):
            self.session.start()

    # Queries.

    def query(self, name: str) -> Query:
        """A registered query: the live one, if it is live."""
        found = self.live.queries.get(name) if name in self.session.queries else None
        found = found or self.session.queries.get(name)
        if found is None:
            hint = did_you_mean(name, self.session.queries)
            raise BindError(
                Diagnostic("UNKNOWN_NAME", f"there is no query {name}", hint=hint, parameters={"name": name})
            )
        return found

    def run_of(self, name: str) -> LiveRun:
        """The run of a live query."""
        self.query(name)
        if name not in self.live.queries:
            hint = f"START {name}"
            raise BindError(Diagnostic("NOT_LIVE", f"query {name} is not live", hint=hint, parameters={"name": name}))
        return self.live.run_of(name)

    def failure_of(self, query: Query) -> ContinuaError | None:
        """Why a query is not at work, if it or its group has failed."""
        return self.live.failed.get(query.name) or self.failures.get(query.name) or self.failures.get(query.group)

    def news_of_rows(self) -> None:
        """Rows have come: epochs need not be waited for."""
        for run in self.live.runs.values():
            run.arrivals.news.set()

    def _failed(self, run: LiveRun, error: ContinuaError) -> None:
        name = error.parameters.get("query")
        if isinstance(name, str) and name in self.live.failed:
            self.kept.add("stop", "query", name, f"STOP `{name}`")
        else:
            self.failures[run.group] = error
        self.news.tell()

    async def next_changes(self, name: str, position: Position) -> Told | None:
        """What has changed behind a position; None where there is nothing yet."""
        return await self._reads.next(name, position)

    @property
    def version(self) -> str:
        """That of Continua."""
        return __version__


def store_at(state: Place | None) -> SealedStore | MemoryStore:
    """Where a server keeps what is not its queries' own."""
    return MemoryStore() if state is None else SealedStore(medium_at(state / _SERVER), _SERVER)


def _with_state(policy: Policy, state: Place | None) -> Policy:
    """A policy by which the server's own state may be kept."""
    if state is None or policy.checkpoints is None:
        return policy
    place = state.address if isinstance(state, BucketUrl) else str(state.absolute())
    return replace(policy, checkpoints=(*policy.checkpoints, place))


def _of_catalog(found: Diagnostic, kept: Kept) -> Diagnostic:
    """What is wrong with a statement of the catalog, with its text: it was right when it was kept."""
    message = f"{kept.space} {kept.name} of the catalog can no longer be defined: {found.message}"
    return Diagnostic(found.condition, message, None, found.hint, {**found.parameters, "statement": kept.text})
