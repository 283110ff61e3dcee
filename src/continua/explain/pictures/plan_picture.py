"""A physical plan as boxes in lanes: a lane for each level, an arrow wherever rows go from one operator to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from continua.physical.level_text import Domains, ShownLevel, levels
from continua.physical.nodes import QueryResult


@dataclass(frozen=True, slots=True)
class Box:
    """An operator: what it does, what it holds, and for which queries it works."""

    number: int
    title: str
    notes: tuple[str, ...]
    queries: tuple[str, ...]

    @property
    def head(self) -> str:
        """Its number and what it does."""
        return f"#{self.number} {self.title}"

    @property
    def is_shared(self) -> bool:
        """Whether it works for several queries."""
        return len(self.queries) > 1


@dataclass(frozen=True, slots=True)
class Lane:
    """The operators of a level."""

    title: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """Rows of an operator that another one takes; how they move, if they do."""

    source: int
    target: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class PlanPicture:
    """All lanes and arrows; with ``sharing``, what is shared stands out."""

    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...]
    sharing: bool = False

    def notes(self, box: Box) -> tuple[str, ...]:
        """What stands below the head of a box."""
        return (*box.notes, f"for {', '.join(box.queries)}") if self.sharing else box.notes


def plan_picture(graphs: Iterable[QueryResult], domains: Domains, sharing: bool = False) -> PlanPicture:
    """The picture of a graph of queries."""
    shown = levels(graphs, domains)
    arrows = tuple(arrow for level in shown for arrow in _arrows(level))
    return PlanPicture(tuple(map(_lane, shown)), arrows, sharing)


def _lane(level: ShownLevel) -> Lane:
    boxes = (
        Box(o.number, o.operator, tuple(filter(None, (o.alone, o.state and f"state: {o.state}"))), o.queries)
        for o in level.operators
    )
    return Lane(f"level {level.level}: {level.where}", tuple(boxes))


def _arrows(level: ShownLevel) -> Iterable[Arrow]:
    here = {o.number for o in level.operators}
    moved: dict[int, list[str]] = {}
    for movement in level.receives:
        moved.setdefault(movement.number, []).append(movement.how)
    for operator in level.operators:
        for below in operator.inputs:
            yield Arrow(below, operator.number, "" if below in here else " or ".join(moved.get(below, [])))
