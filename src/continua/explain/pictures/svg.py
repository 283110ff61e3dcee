"""The few shapes of SVG that pictures are made of."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

LETTER = 7.2
"""About how wide a letter of the font is, at the size that texts have."""
LINE = 16
_STYLE = (
    "text{font:12px sans-serif;fill:#222}"
    ".note{font-style:italic;fill:#555}"
    ".lane{fill:#f6f7f9;stroke:#ccd}"
    ".box{fill:#fff;stroke:#567}"
    ".shared{fill:#dcebfb;stroke:#567}"
    ".arrow{fill:none;stroke:#567;marker-end:url(#head)}"
    ".in{fill:#4a86c5}.other{fill:#c8743a}.out{fill:#d8dce2}.now{stroke:#a33;stroke-dasharray:3 2}"
)
_HEAD = (
    '<marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
    '<path d="M0,0 L7,3 L0,6 z" fill="#567"/></marker>'
)


def document(width: float, height: float, title: str, shapes: Iterable[str]) -> str:
    """A whole picture."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
            f' viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<defs><style>{_STYLE}</style>{_HEAD}</defs>",
            *shapes,
            "</svg>",
        ]
    )


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(content)}</text>'


def rectangle(x: float, y: float, width: float, height: float, kind: str, round_: float = 4) -> str:
    """A box."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round_:.0f}" class="{kind}"/>'


def curve(x1: float, y1: float, x2: float, y2: float) -> str:
    """An arrow that begins and ends upright."""
    bend = max(abs(y2 - y1) / 2, 18)
    path = f"M{x1:.1f},{y1:.1f} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} {x2:.1f},{y2:.1f}"
    return f'<path d="{path}" class="arrow"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'
