"""A window of a query, with what it holds of a stream that shows what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from continua.algebra.base import Plan
from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.explain.pictures.window_sample import WindowSample, sample
from continua.explain.pictures.window_text import window_text
from continua.instants import UNITS, TimeDomain, show_instant


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """Whose window it is, how it is written, and the sample."""

    query: str
    window: str
    domain: TimeDomain
    sample: WindowSample

    @classmethod
    def of(cls, window: Window, query: Query, name: str) -> DrawnWindow:
        """A window of a query, which is called by some name."""
        spec, chronon = window.spec, query.chronon
        tick = chronon if query.domain is TimeDomain.TICKS else max(chronon, UNITS["SECOND"])
        return cls(name, spec.text or f"[{spec.body(query.domain)}]", query.domain, sample(spec, chronon, tick))

    @property
    def title(self) -> str:
        """What stands above the picture."""
        return f"{self.query}: {self.window}"

    @property
    def text(self) -> str:
        """The picture for a terminal."""
        return "\n".join(window_text(self.sample, self.title, self.domain))

    def json(self) -> dict[str, object]:
        """The same for a program."""
        contents = [{"at": show_instant(c.instant, self.domain), "shares": c.shares} for c in self.sample.contents]
        return {"window": self.window, **asdict(self.sample), "contents": contents}


def windows_of(plan: Plan) -> Iterator[Window]:
    """The windows of a plan, each once."""
    yield from dict.fromkeys(node for node in nodes_of(plan) if isinstance(node, Window))
