"""Answers on standard output, in the format that was asked for."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from continua.answer_columns import Answers
from continua.cli.tables import print_answers, stdout_console
from continua.cli.values import instant_json, instant_text, json_object, json_text, plain_text, quoted
from continua.session import Answer, Query
from continua.types import DataType, Value

_SPECIAL = (",", '"', "\n", "\r")


def write_answers(form: str, queries: Mapping[str, Query], answers: Sequence[Answer], label: str = "t") -> None:
    """Writes the answers; ``label`` is ``t`` for changes and ``at`` for the content at an instant."""
    from continua.cli.lines import csv_blocks, json_blocks

    out = utf8_stdout()
    match form:
        case "jsonl" if isinstance(answers, Answers):
            out.writelines(json_blocks(answers, queries, label))
        case "csv" if queries and isinstance(answers, Answers):
            out.writelines(csv_blocks(answers, queries, label))
        case "jsonl":
            out.writelines(json_line(queries[a.query], a, label) + "\n" for a in answers)
        case "csv" if queries:
            out.writelines(line + "\n" for line in csv_lines(queries, answers, label))
        case "table":
            console = stdout_console()
            for query in queries.values():
                print_answers(console, query, [a for a in answers if a.query == query.name], label)
    out.flush()


def utf8_stdout() -> TextIO:
    """Standard output in UTF-8, whatever the locale: JSON has no other encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    return sys.stdout


def json_line(query: Query, answer: Answer, label: str = "t") -> str:
    """An answer as a JSON object."""
    members = [("query", quoted(answer.query)), (label, instant_json(answer.instant, query.domain))]
    if answer.until is not None:
        members.append(("until", instant_json(answer.until, query.domain)))
    if answer.op is not None:
        members.append(("op", quoted(answer.op)))
    members.append(("row", _json_row(query, answer)))
    return json_object(members)


def csv_lines(queries: Mapping[str, Query], answers: Sequence[Answer], label: str = "t") -> Iterator[str]:
    """One query has its own columns; the rows of several have no columns in common and are JSON.

    NULL is nothing at all, and the empty string is a pair of quotes.
    """
    until = any(a.until is not None for a in answers)
    only = next(iter(queries.values())) if len(queries) == 1 else None
    yield csv_header(only, label, until)
    for answer in answers:
        yield csv_line(queries[answer.query], answer, label, until, only)


def csv_header(only: Query | None, label: str, until: bool) -> str:
    """The names of the fields; ``only`` is the query if there is just one."""
    names = ["query", label, *(["until"] if until else []), *(["op"] if label == "t" else [])]
    return ",".join(map(field, [*names, *(only.columns if only else ["row"])]))


def csv_line(query: Query, answer: Answer, label: str, until: bool, only: Query | None) -> str:
    """An answer as a record."""
    ends = None if answer.until is None else instant_text(answer.until, query.domain)
    fields = [answer.query, instant_text(answer.instant, query.domain)]
    fields += [ends] if until else []
    fields += [answer.op] if label == "t" else []
    if only:
        row = dict(zip(answer.columns, answer.row, strict=True))
        fields += [_text(row.get(name), of) for name, of in only.types.items()]
    else:
        fields.append(_json_row(query, answer))
    return ",".join(map(field, fields))


def _json_row(query: Query, answer: Answer) -> str:
    types = query.types
    return json_object((n, json_text(v, types[n])) for n, v in zip(answer.columns, answer.row, strict=True))


def _text(value: Value, of: DataType) -> str | None:
    return None if value is None else plain_text(value, of)


def field(text: str | None) -> str:
    """A text as a field of CSV."""
    if text is None:
        return ""
    if not text or any(c in text for c in _SPECIAL) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text
