"""The figures of live runs for Prometheus: text by HTTP, at /metrics."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from continua.errors import Diagnostic, MachineError
from continua.instants import TimeDomain
from continua.physical.ordered_operators import FINAL
from continua.runs.live_groups import LiveGroups
from continua.runs.live_run import LiveRun
from continua.runtime.spark.executor_figures import executor_figures
from continua.sources.intervals import NEVER
from continua.sources.logged import RETAINED

LOOPBACK = "127.0.0.1"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics_text(runs: Iterable[LiveRun]) -> str:
    """All figures of runs as they are now, and Spark's own; those of a group of queries are labelled with it."""
    runs = list(runs)
    found: dict[Kind, dict[Labels, float]] = {}
    for run in runs:
        label = (("group", run.group),) if run.group else ()
        for kind, values in _figures(run):
            found.setdefault(kind, {}).update({(*labels, *label): value for labels, value in values.items()})
    for spark in {run.spark for run in runs if run.spark is not None}:
        for executor, figure in executor_figures(spark):
            kind = (f"spark_executor_{figure.name}", figure.kind, figure.told)
            found.setdefault(kind, {})[("executor", executor),] = figure.value
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found["driver_peak_memory_bytes", "gauge", "The most memory of this process."] = {(): memory}
    return "\n".join(line for kind, values in found.items() for line in _metric(*kind, values)) + "\n"


Labels = tuple[tuple[str, str], ...]
Kind = tuple[str, str, str]
"""The name of a figure, how it goes, and what it is."""


def _figures(run: LiveRun) -> Iterator[tuple[Kind, Mapping[Labels, float]]]:
    totals = run.totals
    with totals.lock:
        yield ("epochs_total", "counter", "Epochs that were finished."), {(): totals.epochs}
        yield ("epoch_seconds_total", "counter", "What epochs took."), {(): totals.seconds}
        yield ("epoch_seconds", "gauge", "What the last epoch took."), {(): totals.last_seconds}
        yield ("rows_total", "counter", "Rows that came in time."), _labelled("source", totals.rows)
        yield ("late_rows_total", "counter", "Rows that came too late."), _labelled("source", totals.late)
        yield ("answers_total", "counter", "Rows of results."), _labelled("query", totals.answers)
        took = _labelled("query", totals.query_seconds)
        yield ("query_seconds_total", "counter", "What the operators of queries took."), took
        yield ("state_bytes", "gauge", "What the state of operators takes."), {(): totals.state_bytes}
        yield ("state_rows", "gauge", "Rows that operators hold."), {(): totals.state_rows}
    until = run.engine.until
    if NEVER < until < FINAL:
        yield ("heartbeat", "gauge", "The last instant that is closed."), {(): until}
    # instants of integer time have no length in seconds
    lags: dict[Labels, float] = {(("source", n),): lag / _unit(run, n) for n, lag in run.live.lag(until).items()}
    yield ("lag", "gauge", "How far the heartbeat is behind the latest row: seconds, or ticks."), lags
    kept = {n: figures[RETAINED] for n, figures in run.intake.figures().items() if RETAINED in figures}
    yield ("retained_wal_bytes", "gauge", "What a database keeps of its log for a table."), _labelled("source", kept)
    yield ("queries", "gauge", "Queries that run."), {(): len(run.queries)}


def _labelled(label: str, counts: Mapping[str, float]) -> dict[Labels, float]:
    return {((label, name),): count for name, count in counts.items()}


def _unit(run: LiveRun, source: str) -> float:
    info = run.known.get(source)
    return 1e6 if info is not None and info.domain is TimeDomain.MICROSECONDS else 1.0


def _metric(name: str, kind: str, told: str, values: Mapping[Labels, float]) -> Iterable[str]:
    yield f"# HELP continua_{name} {told}"
    yield f"# TYPE continua_{name} {kind}"
    for labels, value in values.items():
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"continua_{name}{'{' + inside + '}' if inside else ''} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Serves the figures of runs until it is closed."""

    def __init__(self, live: LiveGroups, port: int, host: str = LOOPBACK) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404)
                    return
                content = metrics_text(live.runs.values()).encode()
                self.send_response(200)
                self.send_header("Content-Type", METRICS_TYPE)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Requests are not worth a line."""

        try:
            self._server = ThreadingHTTPServer((host, port), Handler)
        except OSError as error:
            message = f"metrics cannot be served at {host}:{port}: {error.strerror or error}"
            parameters: dict[str, object] = {"host": host, "port": port}
            raise MachineError(Diagnostic("PORT_IN_USE", message, parameters=parameters)) from None
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True, name="continua-metrics").start()

    def close(self) -> None:
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()
