"""A plan in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from continua.explain.pictures.plan_picture import Box, PlanPicture


def dot(picture: PlanPicture) -> str:
    """The text that ``dot -Tsvg`` draws."""
    return "\n".join(_lines(picture))


def _lines(picture: PlanPicture) -> Iterator[str]:
    yield "digraph plan {"
    yield '  node [shape=box, fontname="sans-serif", style="rounded,filled", fillcolor=white];'
    yield '  edge [fontname="sans-serif", fontsize=10];'
    for number, lane in enumerate(picture.lanes):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_quoted(lane.title)};"
        for box in lane.boxes:
            filled = ", fillcolor=lightblue" if picture.sharing and box.is_shared else ""
            yield f"    n{box.number} [label={_quoted(_label(picture, box))}{filled}];"
        yield "  }"
    for arrow in picture.arrows:
        label = f" [label={_quoted(arrow.label)}]" if arrow.label else ""
        yield f"  n{arrow.source} -> n{arrow.target}{label};"
    yield "}"


def _label(picture: PlanPicture, box: Box) -> str:
    return "\n".join((box.head, *picture.notes(box)))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
