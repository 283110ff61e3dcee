"""Filters and maps of streams: what becomes of each element, which keeps its time and its place among the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from continua.algebra.leaves import Values
from continua.algebra.relational import Filter, Project
from continua.algebra.schema import Field
from continua.reference.judge_database import Database
from continua.reference.snapshot_sql import SqlWriter
from continua.types import BIGINT
from continua.windows.occurrences import Element

_NUMBER = Field("#number", BIGINT)


def each(plan: Filter | Project, elements: Sequence[Element], database: Database) -> list[Element]:
    """The elements that a filter keeps or a map makes: plain SQL over the rows, each with its number."""
    rows = tuple((*e.row, number) for number, e in enumerate(elements))
    numbered = Values((*plan.input.schema.fields, _NUMBER), rows)
    if isinstance(plan, Filter):
        asked: Filter | Project = replace(plan, input=numbered)
    else:
        asked = Project(numbered, (*plan.outputs, (_NUMBER.name, _NUMBER.column)))
    database.load("elements", numbered.schema, rows)
    sql = SqlWriter(lambda part: "elements" if part is numbered else None).duckdb(asked)
    found = sorted((int(str(row[-1])), row[:-1]) for row in database.rows(sql, asked.schema))
    return [replace(elements[number], row=row, position=place) for place, (number, row) in enumerate(found)]
