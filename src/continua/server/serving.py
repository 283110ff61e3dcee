"""A service, and how others are let in."""

from __future__ import annotations

from dataclasses import dataclass, field

from continua.server.access import Access
from continua.server.audit import Audit
from continua.server.limits import Limits, Usage
from continua.server.service import Service


@dataclass(frozen=True)
class Server:
    """What every protocol needs by which a service is asked."""

    service: Service
    access: Access
    limits: Limits = field(default_factory=Limits)
    audit: Audit = field(default_factory=lambda: Audit(None))
    usage: Usage = field(default_factory=Usage)
