"""Typed text to statements: where each one ends, whatever stands in quotes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMAND = "\\"
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>--[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
    | (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)
    | (?P<open>[rR]['"]|['"`])
    | (?P<end>;)
    | (?P<other>\w+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK = re.compile(r"/\*|\*/")


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement without its semicolon, or a line that starts with a backslash: a stretch of the text."""

    start: int
    end: int
    is_command: bool = False


class StatementReader:
    """Takes text as it comes and gives back what is complete; ``text`` is all of it."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self._done = 0

    def feed(self, more: str = "") -> list[Piece]:
        """The statements and commands that are complete with what was added."""
        self.text += more
        pieces: list[Piece] = []
        while (piece := self._next()) is not None:
            pieces.append(piece)
        return pieces

    def finish(self) -> list[Piece]:
        """What is left when no more text comes: a statement without its semicolon."""
        pieces = self.feed()
        start = self._start_of_next()
        if start is not None:
            pieces.append(Piece(start, len(self.text), self.text[start] == _COMMAND))
            self._done = len(self.text)
        return pieces

    @property
    def is_empty(self) -> bool:
        """Whether nothing is waiting for its end; a comment on its own is nothing."""
        return self._start_of_next() is None

    def alone(self, piece: Piece) -> str:
        """The text of a piece at its own line and column, so that places in it are places in the whole text."""
        before = "".join("\n" if c == "\n" else " " for c in self.text[: piece.start])
        return before + self.text[piece.start : piece.end]

    def _next(self) -> Piece | None:
        start = self._start_of_next()
        if start is None:
            return None
        if self.text[start] == _COMMAND:
            end = self.text.find("\n", start)
            if end < 0:
                return None
            self._done = end + 1
            return Piece(start, end, is_command=True)
        for kind, at, end in _tokens(self.text, start):
            if kind == "end":
                self._done = end
                return Piece(start, at)
        return None

    def _start_of_next(self) -> int | None:
        """Where the next statement starts, past space, comments and stray semicolons."""
        for kind, at, _ in _tokens(self.text, self._done):
            if kind not in ("space", "comment", "end"):
                return at
        return None


def is_complete(text: str) -> bool:
    """Whether Enter should run the text: its last statement has its semicolon, or it is a command or nothing."""
    reader = StatementReader(text + "\n")
    reader.feed()
    return reader.is_empty


def _tokens(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The kind and place of each word, string, comment and sign; what is opened and not closed takes all the rest."""
    while found := _TOKEN.match(text, at):
        kind, end = str(found.lastgroup), found.end()
        if kind == "block":
            kind, end = _comment(text, at)
        elif kind == "open":
            end = len(text)
        yield kind, at, end
        at = end


def _comment(text: str, at: int) -> tuple[str, int]:
    """A comment in /* */, which may hold others."""
    depth = 0
    for found in _BLOCK.finditer(text, at):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return "comment", found.end()
    return "open", len(text)
