"""Rows that break what their source says of its keys, as they are told and kept apart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from continua.algebra.leaves import Check, Rule
from continua.instants import show_length
from continua.sources.shown_values import show_values
from continua.sources.source_spec import BROKEN_KEY, Malformed
from continua.types import Value

_DONE = {"+": "inserted", "-": "deleted", "u": "updated"}


@dataclass(frozen=True, slots=True)
class Broken:
    """A row that a check has rejected: when it was to count, where it stands, and why it does not."""

    check: Check
    instant: int
    origin: int
    offset: int
    reason: str
    text: str

    def malformed(self, file: str, line: int) -> Malformed:
        """It as a record of a file."""
        hint = "correct the row, declare the source with ON ERROR SKIP to keep such rows apart, or with UPSERT"
        return Malformed(
            file,
            line,
            self.reason,
            self.text,
            self.text,
            "a row that keeps to its key",
            condition=BROKEN_KEY,
            hint=None if self.check.rule is Rule.WITHIN else f"{hint} to take it for what it can mean",
        )


def broken(
    check: Check, columns: Sequence[str], row: Sequence[Value], instant: int, origin: int, offset: int
) -> Broken:
    """A row that a check has rejected; ``columns`` are those that it has, but for its tag."""
    key = ", ".join(f"{name} = {_shown(row[columns.index(name)])}" for name in check.key)
    match check.rule:
        case Rule.TAGS:
            tag = str(row[-1])
            there = "is there already" if tag == "+" else "is not there"
            reason = f"{key or 'the row'} cannot be {_DONE[tag]}: it {there}"
        case Rule.WITHIN:
            reason = f"{key} was there within {show_length(check.within, check.domain)} before"
        case Rule.DISJOINT:
            reason = f"{key} is there already: another element of it lasts"
    return Broken(check, instant, origin, offset, reason, json.dumps(show_values(tuple(row)), ensure_ascii=False))


def _shown(value: Value) -> str:
    return show_values((value,))[0] or ("NULL" if value is None else "''")


def first_of(found: Sequence[Broken]) -> list[Broken]:
    """What has to be known of rejected rows: all that are kept apart, and of errors those of the first instant."""
    errors = [b for b in found if not b.check.skips]
    least = min((b.instant for b in errors), default=0)
    return [b for b in found if b.check.skips or b.instant == least]
