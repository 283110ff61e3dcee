"""A script with sources in files and answers in folders, for the command; what it should leave, and what it did."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

SCRIPT = """
CREATE STREAM S (a INT, b INT, s STRING, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;
CREATE STREAM P (a INT, c DOUBLE, ts BIGINT) SOURCE jsonl('p.jsonl') ORDERED BY ts;
CREATE TABLE T (a INT, name STRING) AS VALUES (0, 'nil'), (1, 'one'), (2, 'two');

REGISTER QUERY joined AS SELECT x.s, y.c FROM S [RANGE 6] x, P [ROWS 4] y WHERE x.a = y.a INTO parquet('out/joined');
REGISTER QUERY different AS SELECT ISTREAM(DISTINCT a, s) FROM S [RANGE 5] INTO json('out/different');
REGISTER QUERY latest AS SELECT a, b FROM S [PARTITION BY a ROWS 2] INTO csv('out/latest');
REGISTER QUERY missing AS SELECT a FROM S [RANGE 4] EXCEPT SELECT a FROM P [RANGE 4] INTO json('out/missing');
REGISTER QUERY named AS SELECT x.b, T.name FROM S [ROWS 3] x LEFT JOIN T ON x.a = T.a INTO orc('out/named');
REGISTER QUERY hopping AS SELECT ISTREAM(s) FROM S [RANGE 6 SLIDE 3];
REGISTER QUERY busiest AS
  SELECT MAX(n) AS most FROM (SELECT a, COUNT(*) AS n, SUM(b) AS total FROM S [RANGE 8] GROUP BY a) AS counted
  INTO json('out/busiest');
REGISTER QUERY averages AS SELECT a, AVG(c) AS mean, MIN(c) AS least FROM P [ROWS 5] GROUP BY a
  INTO parquet('out/averages');
REGISTER QUERY tagged AS SELECT STREAMED a, COUNT(*) AS n FROM S [RANGE 5] GROUP BY a INTO json('out/tagged');
"""
WRONG_SCRIPT = SCRIPT.replace("SELECT a, b FROM S", "SELECT a, b + 0 * CAST(s AS INT) AS b FROM S")
"""The same, but that a query fails on its data, since some texts are no numbers."""
SINKS = ("joined", "different", "latest", "missing", "named", "busiest", "averages", "tagged")
STRINGS = ("x", "y", "zoë", "", None, "a longer one")
Rows = Counter[str]


class CommandWorld:
    """The script and random rows, in files."""

    def __init__(self, seed: int, rows: int = 40) -> None:
        rng = random.Random(f"command {seed}")
        times = sorted(rng.randrange(rows) for _ in range(rows))
        self._s: list[str] = []
        self._p: list[str] = []
        for t in times:
            if rng.random() < 0.6:
                text = rng.choice(STRINGS)
                quoted = "" if text is None else f'"{text}"'
                self._s.append(f"{rng.choice((0, 1, 2, 3, ''))},{rng.randrange(10)},{quoted},{t}")
            else:
                self._p.append(json.dumps({"a": rng.randrange(4), "c": rng.randrange(10) / 8, "ts": t}))

    def write(self, folder: Path, broken: random.Random | None = None, failing: bool = False) -> None:
        """Writes the script and its files; one row is malformed, or a query fails, if it is to be."""
        (folder / "script.sql").write_text(WRONG_SCRIPT if failing else SCRIPT, encoding="utf-8")
        lines = list(self._s)
        if broken is not None:
            place = broken.randrange(len(lines))
            lines[place] = broken.choice(("x", "what,is,this,row", "1,2,3,4,5,6", "1,x,y,3"))
        (folder / "s.csv").write_text("\n".join(["a,b,s,ts", *lines]) + "\n", encoding="utf-8")
        (folder / "p.jsonl").write_text("\n".join(self._p) + "\n", encoding="utf-8")


def sink_rows(folder: Path) -> dict[str, Rows]:
    """What all sinks hold, row by row, whatever files they are in."""
    return {name: Counter(row for path in _files(folder / name) for row in _rows(path)) for name in SINKS}


def leftovers(folder: Path) -> list[Path]:
    """What is there besides published files: of sinks, or of files of the checkpoint that were never whole."""
    of_sinks = [p for name in SINKS for p in (folder / "out" / name).rglob("*") if not p.name.startswith("epoch-")]
    return of_sinks + [p for p in (folder / "checkpoint").rglob(".*") if p.is_file()]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*")) if folder.exists() else []


def _rows(path: Path) -> Iterator[str]:
    match path.suffix:
        case ".json":
            yield from path.read_text(encoding="utf-8").splitlines()
        case ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                yield from map(repr, list(csv.reader(file))[1:])
        case ".parquet":
            yield from _of_table(pyarrow.parquet.read_table(path))
        case _:
            yield from _of_table(pyarrow.orc.read_table(path))


def _of_table(table: pa.Table) -> Iterator[str]:
    yield from map(repr, table.to_pylist())


def difference(found: Rows, expected: Rows) -> str | None:
    """What is there that should not be, and what is not there; None if they are equal."""
    if found == expected:
        return None
    return f"too many {list((found - expected).elements())[:5]}, too few {list((expected - found).elements())[:5]}"
