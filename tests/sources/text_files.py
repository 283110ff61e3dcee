"""Files with hundreds of texts that are plain, odd or wrong, and what is declared of them: for runs of any kind."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from continua.sources.source_spec import SourceSpec
from continua.sqltext.expression_sql import type_text
from continua.types import INT, STRING, DataType, array, map_of, struct
from tests.sources.test_sources import BAD, CSV_CASES, CSV_MALFORMED, GOOD, PAIR
from tests.sources.texts import CLEAN, KINDS, ODD, random_csv

Columns = tuple[tuple[str, DataType], ...]
RANDOM = 12
"""So many random files there are."""
MEGABYTES = 2
"""The size of a large field."""
LONGEST = 6000
"""Texts that are longer are left out of small files."""
NESTED = struct(("a", array(struct(("b", map_of(STRING, array(INT)))))), ("c", STRING))
_MALFORMED_JSON = (
    b'{"id": 1', b"[1]", b"1", b'{"id": 1} {}', b'{"name": "\xff"}', b'{"name": "\0"}', b'{"id": true}', b'{"id": 1.0}',
    b'{"name": 1}', b'{"name": {"a": 1}}', b'{"name": "\\ud800"}', b'{"id": 2147483648}', b'{"id": 1, "id": 2}', b"{}",
)  # fmt: skip


@dataclass(frozen=True)
class TextFile:
    """A file, its columns, and the options with which it is read."""

    name: str
    columns: Columns
    data: bytes
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """What its relation is called."""
        return self.name.replace(".", "_")

    @property
    def spec(self) -> SourceSpec:
        """How it is read."""
        return SourceSpec(
            self.name.rpartition(".")[2], self.name, self.columns, tuple(self.options.items()), True, self.source
        )

    def definition(self, skip: bool = True) -> str:
        """A statement that declares it."""
        columns = ", ".join(f"{name} {_sql(of)}" for name, of in self.columns)
        options = "".join(f", {name} => {_literal(value)}" for name, value in self.options.items())
        end = " ON ERROR SKIP" if skip else ""
        return f"CREATE RELATION {self.source} ({columns}) SOURCE {self.spec.format}('{self.name}'{options}){end};"

    def write(self, folder: Path) -> None:
        """Puts it into a folder."""
        (folder / self.name).write_bytes(self.data)


def _sql(of: DataType) -> str:
    return type_text(of).replace("TIMESTAMP_NTZ", "TIMESTAMP")


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f"'{value}'"


def small_files() -> list[TextFile]:
    """All that are cut into small splits."""
    return [*_by_kind(), *_by_value(), *_shapes(), *_random()]


def _by_kind() -> Iterator[TextFile]:
    """For each type its texts, plain and in quotes, with all kinds of line ends; with a BOM and without."""
    for number, (kind, of) in enumerate(KINDS.items()):
        rows: list[bytes] = []
        for place, text in enumerate([*CLEAN[kind], *ODD[kind]]):
            quoted = '"' + text.replace('"', '""') + '"'
            rows += [_line(2 * place, text), _line(2 * place + 1, quoted)]
        ends = (b"\n", b"\r\n", b"\r")[number % 3]
        data = (b"\xef\xbb\xbf" if number % 2 else b"") + b"".join(row + ends for row in rows)
        yield TextFile(f"kind{number}.csv", (("id", INT), ("v", of)), data, {"header": False})


def _line(number: int, text: str) -> bytes:
    return f"{number},{text}".encode("utf-8", "surrogateescape")


def _by_value() -> Iterator[TextFile]:
    """For each type the values that fit and those that do not, as JSON."""
    by_type: dict[DataType, list[object]] = {}
    for value, of, _ in GOOD:
        by_type.setdefault(of, []).append(value)
    for of, values in BAD:
        by_type.setdefault(of, []).extend(values)
    for number, (of, values) in enumerate(by_type.items()):
        if of.name == "INTERVAL":
            continue
        found = [_json(place, value) for place, value in enumerate(values)]
        lines = [line for line in found if line is not None and len(line) < LONGEST]
        yield TextFile(f"value{number}.jsonl", (("id", INT), ("v", of)), b"\n".join(lines))
        texts = [value for value in values if isinstance(value, str) and value.isprintable() and len(value) < LONGEST]
        yield TextFile(f"value{number}.csv", (("id", INT), ("v", of)), _csv(texts), {"header": False, "null": "\\N"})


def _json(place: int, value: object) -> bytes | None:
    """A row, if JSON has such a value."""
    try:
        return json.dumps({"id": place, "v": value}).encode()
    except TypeError:
        return None


def _csv(texts: Sequence[str]) -> bytes:
    file = io.StringIO(newline="")
    csv.writer(file).writerows(enumerate(texts))
    return file.getvalue().encode("utf-8", "surrogateescape")


def _shapes() -> Iterator[TextFile]:
    """Headers, quotes, line ends, bytes that are no text, records that are none, nested values."""
    contents = [(content, options) for content, options, _ in CSV_CASES.values()]
    contents += [(content, options) for content, options, *_ in CSV_MALFORMED.values()]
    for number, (content, options) in enumerate(contents):
        data = content.encode() if isinstance(content, str) else content
        yield TextFile(f"shape{number}.csv", PAIR, data, options)
    yield TextFile("wrong.jsonl", PAIR, b"\n".join((b'{"id": 0, "name": "a"}', b"", *_MALFORMED_JSON, b'{"id": 9}')))
    nested = [{"a": [{"b": {"k": [1, None], "": []}}, None], "c": "x\ny"}, {"a": None}, {"c": 1}, {"a": [{"b": [1]}]}]
    lines = [json.dumps({"id": place, "v": value}).encode() for place, value in enumerate(nested)]
    yield TextFile("nested.jsonl", (("id", INT), ("v", NESTED)), b"\r\n".join(lines))
    yield TextFile("nested.csv", (("id", INT), ("v", NESTED)), _csv([json.dumps(v) for v in nested]))


def _random() -> Iterator[TextFile]:
    for seed in range(RANDOM):
        spec, data = random_csv(random.Random(seed))
        yield TextFile(f"random{seed}.csv", spec.columns, data, dict(spec.options))


def large_files() -> list[TextFile]:
    """Files with fields of megabytes: plain, with line ends in quotes, and between them records that are none."""
    line = "äb,c" * 1000 + "\n"
    much = line * ((MEGABYTES << 20) // len(line.encode()))
    rows = [(0, "first"), (1, much), ("x", much[:100]), (2, "between"), (3, much[::-1]), (4, "last")]
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    lines = [json.dumps({"id": key, "name": text}) for key, text in rows]
    options = {"header": False}
    return [
        TextFile("large.csv", PAIR, file.getvalue().encode(), options),
        TextFile("large.jsonl", PAIR, "\n".join(lines).encode()),
    ]
