"""Alerts."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from continua.instants import TimeDomain, show_instant
from continua.server.alerts import Alert
from continua.server.declared import Call, route
from continua.server.permits import QUERY, Need, check
from continua.server.roles import Role
from continua.server.service import Service


class NewAlert(Struct, frozen=True):
    """A webhook, and of what it is told."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    query: str
    url: str
    when: Literal["any", "gets", "loses"] = "any"


class AlertTold(Struct, frozen=True):
    """An alert, and up to where it was told."""

    name: str
    query: str
    url: str
    when: str
    position: str


class CallTold(Struct, frozen=True):
    """What came of a call."""

    alert: str
    at: str
    rows: int
    result: str


class AlertsTold(Struct, frozen=True):
    """All alerts, and what came of the last calls."""

    alerts: list[AlertTold]
    calls: list[CallTold]


@route("GET", "/api/alerts", Role.READ, gives=AlertsTold)
def list_alerts(service: Service, call: Call) -> AlertsTold:
    """Lists alerts, and what came of their last calls."""
    known = {n: a for n, a in list(service.alerts.alerts.items()) if call.caller.may_query(a.query)}
    calls = [
        CallTold(c.alert, str(show_instant(int(c.at * 1e6), TimeDomain.MICROSECONDS)), c.rows, c.result)
        for c in list(service.alerts.calls)
        if c.alert in known
    ]
    return AlertsTold([_told(alert) for alert in known.values()], calls)


@route("POST", "/api/alerts", Role.WRITE, takes=NewAlert, gives=AlertTold, status=201)
def create_alert(service: Service, call: Call) -> AlertTold:
    """Has a webhook called when a query's answer gets or loses rows: at least once for each change, from now on.

    The policy of the server says which hosts may be called.
    """
    asked: NewAlert = call.body
    check(call.caller, Need(Role.WRITE, QUERY, asked.query))
    return _told(service.alerts.create(asked.name, asked.query, asked.url, asked.when, call.caller.name))


@route("DELETE", "/api/alerts/{name}", Role.WRITE, status=204)
def drop_alert(service: Service, call: Call) -> None:
    """Drops an alert."""
    known = service.alerts.alerts.get(call.name)
    if known is not None:
        check(call.caller, Need(Role.WRITE, QUERY, known.query))
    service.alerts.drop(call.name)


def _told(alert: Alert) -> AlertTold:
    return AlertTold(alert.name, alert.query, alert.url, alert.when, alert.position)
