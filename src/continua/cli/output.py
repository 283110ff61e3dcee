"""Answers on standard output, in the format that was asked for."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from continua.answer_columns import Answers, Part
from continua.cli.answer_tables import SHOWN, print_answers
from continua.cli.lines import csv_blocks, json_blocks
from continua.cli.tables import stdout_console
from continua.session import Answer, Query


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


def parts_of(queries: Mapping[str, Query], answers: Sequence[Answer]) -> list[tuple[Query, Part]]:
    """The answers by query, in the order in which they come."""
    if isinstance(answers, Answers):
        found = [(p[0].query if isinstance(p, list) else p.query.name, p) for p in answers.parts if len(p)]
        return [(queries[name], part) for name, part in found]
    lists: dict[str, list[Answer]] = {}
    for answer in answers:
        lists.setdefault(answer.query, []).append(answer)
    return [(queries[name], part) for name, part in lists.items()]


def utf8_stdout() -> TextIO:
    """Standard output in UTF-8, whatever the locale: JSON has no other encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout
