"""Errors as data: a condition name, parameters, a place in the text, a hint.

Tests assert conditions and parameters, people read the rendered text. Every error of Continua descends
from :class:`ContinuaError` and from the built-in class that a Python programmer would catch.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a script: 1-based line and column of its first character, and its length."""

    line: int
    column: int
    length: int = 1

    def to(self, end: Span) -> Span:
        """The stretch from the start of this span to the end of ``end`` (on one line; else to its own end)."""
        if end.line != self.line:
            return self
        return Span(self.line, self.column, max(end.column + end.length - self.column, 1))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong (or worth knowing), where, and what to do about it."""

    condition: str
    message: str
    span: Span | None = None
    hint: str | None = None
    parameters: dict[str, object] = field(default_factory=dict)

    def render(self, text: str | None = None, name: str = "script", label: str = "error") -> str:
        """The message with the line it speaks of and a caret under the word, where there is one."""
        lines = [f"{label}[{self.condition}]: {self.message}"]
        if self.span is not None:
            lines.append(f"  --> {name}:{self.span.line}:{self.span.column}")
            source = (text or "").splitlines()
            if 1 <= self.span.line <= len(source):
                code = source[self.span.line - 1]
                gutter = str(self.span.line)
                room = max(len(code) - self.span.column + 1, 1)
                caret = "^" * min(max(self.span.length, 1), room)
                indent = "".join("\t" if c == "\t" else " " for c in code[: self.span.column - 1])
                lines.append(f"  {gutter} | {code}")
                lines.append(f"  {' ' * len(gutter)} | {indent}{caret}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class ContinuaError(Exception):
    """The root of every error that Continua raises on purpose."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__("\n".join(d.render() for d in diagnostics))

    def __reduce__(self) -> tuple[type[ContinuaError], tuple[Diagnostic, ...]]:
        return type(self), self.diagnostics

    @property
    def condition(self) -> str:
        """The condition of the first diagnostic."""
        return self.diagnostics[0].condition

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the first diagnostic."""
        return self.diagnostics[0].parameters

    def render(self, text: str | None = None, name: str = "script") -> str:
        """All diagnostics, one below the other."""
        return "\n\n".join(d.render(text, name) for d in self.diagnostics)


class ParseError(ContinuaError, ValueError):
    """The text is not a statement of the language."""


class BindError(ContinuaError, ValueError):
    """The statement is well formed but means nothing: an unknown name, a type that does not fit."""


class PlanError(ContinuaError, TypeError):
    """A logical plan that makes no sense was about to be built."""


class WindowError(ContinuaError, ValueError):
    """A window description breaks one of its validity conditions (Astral, definition 8)."""


class DataError(ContinuaError, ValueError):
    """A row of a source is malformed, or its timestamp is out of order beyond the slack."""


class SourceError(ContinuaError, OSError):
    """A source cannot be read at all."""


class EvaluationError(ContinuaError, RuntimeError):
    """A query failed on its data (a division by zero, a cast that does not fit)."""


class NotSupportedError(ContinuaError, NotImplementedError):
    """A construct that is part of the language but cannot be executed yet, or never will be."""


class CheckpointError(ContinuaError, RuntimeError):
    """A checkpoint is damaged, or belongs to something else."""


class MachineError(ContinuaError, OSError):
    """Nothing is wrong with queries or data: the disk is full, a folder cannot be written, Spark is gone."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidates, or None when nothing is near."""
    by_folded: dict[str, str] = {}
    for candidate in candidates:
        by_folded.setdefault(candidate.casefold(), candidate)
    by_folded.pop(name.casefold(), None)
    near = difflib.get_close_matches(name.casefold(), list(by_folded), n=2, cutoff=0.6)
    if not near:
        return None
    return "did you mean " + " or ".join(by_folded[n] for n in near) + "?"


def listing(names: Sequence[str], limit: int = 12) -> str:
    """Names for a message: at most ``limit`` of them, in the order given."""
    shown = ", ".join(names[:limit])
    return shown + (", ..." if len(names) > limit else "")
