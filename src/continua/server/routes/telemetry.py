"""How the server is: health, progress and figures."""

from __future__ import annotations

from starlette.responses import Response

from continua.errors import ContinuaError
from continua.runs.metrics import METRICS_TYPE, metrics_text
from continua.server.declared import Call, route
from continua.server.permits import ALL, Need, check
from continua.server.roles import Role
from continua.server.service import Service
from continua.server.shapes import Health, Progress, problem


@route("GET", "/health", Role.NOBODY, gives=Health)
def get_health(service: Service, call: Call) -> Health:
    """Tells whether the server works; details of what failed are told to those who may read."""
    del call
    return Health("failing" if service.failures else "ok", service.version, len(service.live.queries))


@route("GET", "/api/progress", Role.READ, gives=Progress)
def get_progress(service: Service, call: Call) -> Progress:
    """Tells what the last epochs did, at most a hundred of each group: rows, times, state of operators."""
    check(call.caller, Need(Role.READ, ALL))
    found = []
    for run in service.live.runs.values():
        with run.live.lock:
            found += list(run.recent)
    failures: list[ContinuaError] = list(service.failures.values())
    return Progress(found, [problem(d) for error in failures for d in error.diagnostics])


@route("GET", "/metrics", Role.READ, also=("text/plain",))
def get_metrics(service: Service, call: Call) -> Response:
    """Tells figures for Prometheus."""
    check(call.caller, Need(Role.READ, ALL))
    return Response(metrics_text(service.live.runs.values()), media_type=METRICS_TYPE)
