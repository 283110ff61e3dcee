"""Answers on standard output, in the format that was asked for."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TextIO

import numpy as np

from continua.answers.answer_columns import Answers, Part
from continua.answers.outcome import AskedContent
from continua.answers.query import Answer, Query
from continua.cli.commands import ReaderGoneError
from continua.cli.line_output import csv_blocks, json_blocks
from continua.cli.table_output import SHOWN, print_answers
from continua.cli.tables import stdout_console


def write_answers(
    form: str, queries: Mapping[str, Query], answers: Sequence[Answer], label: str = "t", all_rows: bool = False
) -> None:
    """Writes the answers; ``label`` is ``t`` for changes and ``at`` for the content at an instant.

    A table has only the first rows of each query, unless ``all_rows``.
    """
    out = utf8_stdout()
    parts = parts_of(queries, answers)
    match form:
        case "jsonl":
            out.writelines(json_blocks(parts, label))
        case "csv" if queries:
            out.writelines(csv_blocks(queries, parts, label))
        case "table":
            console, found = stdout_console(), {query.name: part for query, part in parts}
            for query in queries.values():
                limit = None if all_rows else SHOWN
                print_answers(console, query, found.get(query.name, []), label, limit, "--all shows them")
    out.flush()


class Printer:
    """Prints answers while the run that gives them goes on: lines of JSON or CSV, epoch by epoch.

    What was printed of a query up to an instant is not printed again: where one fails on its data others run again.
    """

    def __init__(self, form: str, queries: Mapping[str, Query]) -> None:
        self._form = form
        self._queries = queries
        self._reached: dict[str, int] = {}
        self.used = False
        """Whether anything was printed, be it that there was nothing to print."""

    def print(self, parts: Mapping[str, Part], until: int) -> None:
        """Prints the answers of an epoch, which has closed the instants up to one."""
        names = [name for name in self._queries if name in parts and self._reached.get(name, until - 1) < until]
        if not names:
            return
        found = [(self._queries[name], _after(parts[name], self._reached.get(name))) for name in names]
        out = utf8_stdout()
        if self._form == "csv":
            blocks = csv_blocks(self._queries, found, "t")
            if self.used:
                next(blocks)
        else:
            blocks = json_blocks(found, "t")
        self.used = True
        self._reached |= dict.fromkeys(names, until)
        try:
            out.writelines(blocks)
            out.flush()
        except BrokenPipeError:
            raise ReaderGoneError from None


def _after(part: Part, instant: int | None) -> Part:
    """The answers after an instant."""
    if instant is None:
        return part
    if isinstance(part, list):
        return [answer for answer in part if answer.instant > instant]
    first = int(np.searchsorted(part.instants, instant, side="right"))
    signs = None if part.signs is None else part.signs[first:]
    return replace(part, instants=part.instants[first:], signs=signs, rows=part.rows.slice(first))


def parts_of(queries: Mapping[str, Query], answers: Sequence[Answer]) -> list[tuple[Query, Part]]:
    """The answers by query, in the order in which they come."""
    if isinstance(answers, Answers):
        found = [(p[0].query if isinstance(p, list) else p.query.name, p) for p in answers.parts if len(p)]
        return [(queries[name], part) for name, part in found]
    lists: dict[str, list[Answer]] = {}
    for answer in answers:
        lists.setdefault(answer.query, []).append(answer)
    return [(queries[name], part) for name, part in lists.items()]


def content_part(content: AskedContent) -> tuple[Query, list[Answer]]:
    """What SELECT ... AT has found, an answer for each copy of a row."""
    query = content.query
    return query, [Answer(query.name, content.instant, None, query.columns, row) for row in content.rows]


def is_waited_for(out: TextIO) -> bool:
    """Whether somebody reads what is written meanwhile: on a terminal, or behind a pipe."""
    try:
        mode = os.fstat(out.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def utf8_stdout() -> TextIO:
    """Standard output in UTF-8, whatever the locale: JSON has no other encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout
