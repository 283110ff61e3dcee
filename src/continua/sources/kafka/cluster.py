"""The clients of Kafka that a process holds, and what their errors are here."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from continua.errors import ContinuaError, Diagnostic, MachineError, SourceError
from continua.sources.kafka.packages import package
from continua.sources.secrets import revealed

_T = TypeVar("_T")
TIMEOUT = 30
"""So many seconds brokers may take to answer, by default."""
_PAUSE = 0.1
_GROUP = "continua"
"""A consumer has to name a group; nothing is ever committed to it."""
_UNREACHABLE = ("_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_TRANSPORT")
_SOON = (
    *("_NOENT", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "KAFKA_STORAGE_ERROR"),
    *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "OFFSET_NOT_AVAILABLE"),
    *("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"),
)
"""What brokers and the client say of topics that were just made, and while brokers are started."""


def library() -> ModuleType:
    """The package by which Kafka is spoken to. Raises SourceError where it is not installed."""
    return package("confluent_kafka")


@dataclass(frozen=True, slots=True)
class Cluster:
    """How brokers are reached."""

    servers: str
    client: tuple[tuple[str, object], ...] = ()
    """What is handed to the client, with points in place of underscores in names, and secrets as such."""
    timeout: int = TIMEOUT
    """So many seconds they may take to answer."""

    def settings(self) -> dict[str, object]:
        """What a client of any kind is made with."""
        found: dict[str, object] = {"bootstrap.servers": self.servers, "log_level": 0}
        for name, value in self.client:
            known = revealed(value)
            found[name.replace("_", ".")] = known if isinstance(known, bool | int) else str(known)
        return found


_Kind = tuple[int, tuple[tuple[str, object], ...]]
"""The process, since one that was forked can not use the clients of its parent, and what clients are made with."""
_lock = threading.Lock()
_consumers: dict[_Kind, list[Any]] = {}
"""Those that nobody uses now."""
_admins: dict[_Kind, Any] = {}
_reasons: dict[str, str] = {}
"""By servers what clients have last said of why they do not come through."""


def _kind(settings: dict[str, object]) -> _Kind:
    return os.getpid(), tuple(sorted(settings.items()))


def with_reasons(cluster: Cluster, settings: dict[str, object]) -> dict[str, object]:
    """What a client is made with that tells why it does not come through."""

    def noted(error: Any) -> None:
        if error.name() != "_ALL_BROKERS_DOWN":
            _reasons[cluster.servers] = error.str()

    return {**settings, "error_cb": noted}


@contextmanager
def consumer(cluster: Cluster, committed: bool) -> Iterator[Any]:
    """A consumer for the caller alone; ``committed``: it sees nothing of transactions that are not."""
    settings = _consuming(cluster, committed)
    kind = _kind(settings)
    with _lock:
        idle = _consumers.setdefault(kind, [])
        found = idle.pop() if idle else None
    if found is None:
        found = library().Consumer(with_reasons(cluster, settings))
    try:
        yield found
        found.unassign()
    except BaseException:
        found.close()
        raise
    with _lock:
        _consumers[kind].append(found)


def _consuming(cluster: Cluster, committed: bool) -> dict[str, object]:
    return {
        **cluster.settings(),
        "group.id": _GROUP,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "fetch.wait.max.ms": 50,
        # what the client has fetched behind a stretch is fetched for nothing
        "queued.max.messages.kbytes": 1 << 11,
        "queued.min.messages": 1 << 20,
        # by default the client is idle for a second whenever it has had enough for a moment
        "fetch.queue.backoff.ms": 2,
    }


def admin(cluster: Cluster) -> Any:
    """What asks brokers about topics."""
    from confluent_kafka.admin import AdminClient

    settings = cluster.settings()
    with _lock:
        found = _admins.get(_kind(settings))
        if found is None:
            found = _admins[_kind(settings)] = AdminClient(with_reasons(cluster, settings))
        return found


def patiently(cluster: Cluster, ask: Callable[[], _T], passing: tuple[str, ...] = ()) -> _T:
    """What is asked of brokers, again while they say that it may yet be answered; ``passing``: so say these errors."""
    from confluent_kafka import KafkaException

    end = time.monotonic() + cluster.timeout
    while True:
        try:
            return ask()
        except KafkaException as error:
            found = error.args[0]
            if not (may_pass(found) or found.name() in passing) or time.monotonic() >= end:
                raise
        time.sleep(_PAUSE)


def may_pass(error: Any) -> bool:
    """Whether it may be otherwise soon: brokers that were started again answer after a while."""
    return bool(error.retriable()) or error.name() in (*_UNREACHABLE, *_SOON)


def told(error: Any, what: str, cluster: Cluster) -> ContinuaError:
    """An error of the client's as one of ours; ``what`` could not be done."""
    parameters: dict[str, object] = {"servers": cluster.servers, "error": error.name()}
    if error.name() in _UNREACHABLE:
        message = f"{what}: no broker at {cluster.servers} has answered for {cluster.timeout} seconds"
        admin(cluster).poll(0)  # it may know why, and says so when it is asked
        hint = _reasons.get(cluster.servers)
        return MachineError(Diagnostic("KAFKA_UNREACHABLE", message, hint=hint, parameters=parameters))
    return SourceError(Diagnostic("KAFKA_REFUSED", f"{what}: {error.str()}", parameters=parameters))
