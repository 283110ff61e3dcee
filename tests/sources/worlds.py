"""Files with rows that come late, quotes that hold line ends, and lines that are no rows; and queries over them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

from continua.answers.query import Answer
from continua.session import Session

DEFINITIONS = """
CREATE STREAM S (k INT, name STRING, x DOUBLE, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts SLACK 2 ON ERROR SKIP;
CREATE STREAM P (k INT, y INT, ts BIGINT) SOURCE jsonl('p') ORDERED BY ts;
CREATE STREAM F (k INT, z INT, ts BIGINT) SOURCE csv('f') ORDERED BY ts SLACK 1 PARTITIONED BY FILE;
CREATE RELATION R (k INT, label STRING) SOURCE csv('r.csv');
CREATE RELATION M (k INT, v INT, op STRING, ts BIGINT) SOURCE csv('m.csv') ORDERED BY ts SLACK 1
  TAGGED BY op KEY k ON ERROR SKIP;
CREATE STREAM U (k INT, y INT, ts BIGINT) SOURCE jsonl('u.jsonl') ORDERED BY ts SLACK 1 KEY k CHECKED WITHIN 1000
  ON ERROR SKIP;
CREATE STREAM V (k INT, y INT, a BIGINT, b BIGINT) SOURCE csv('v.csv') VALID FROM a TO b SLACK 2 ON ERROR SKIP;
CREATE STREAM W OVER V KEY k;
"""
QUERIES = """
SELECT k, COUNT(*) AS n, SUM(x) AS s, MAX(name) AS m FROM S [RANGE 5] GROUP BY k;
SELECT S.name, P.y FROM S [RANGE 4], P [RANGE 6] WHERE S.k = P.k;
SELECT DISTINCT name FROM S [ROWS 5];
SELECT S.k, R.label FROM S [NOW] LEFT JOIN R ON S.k = R.k;
SELECT ISTREAM(k, x + 1 AS x) FROM S [NOW] WHERE k > 1;
SELECT MAX(n) AS m FROM (SELECT k, COUNT(*) AS n FROM S [PARTITION BY name ROWS 2] GROUP BY k) AS v;
SELECT k, v FROM M WHERE v > 2;
SELECT k FROM S [RANGE 6 SLIDE 4] EXCEPT ALL SELECT k FROM P [RANGE 6];
SELECT z FROM F [ROWS 3];
SELECT k, SUM(z) AS z FROM F [PARTITION BY k ROWS 2] GROUP BY k;
SELECT y FROM U [ROWS 4];
SELECT k, y FROM RELATION(W);
"""
KEPT_APART = ("S", "F", "M", "U", "W")
"""The names under which rows are kept apart."""


def write_files(folder: Path, seed: int = 3, rows: int = 60) -> None:
    """Rows that come late, quotes that hold line ends, and lines that are no rows."""
    chance = random.Random(seed)
    lines = ["k,name,x,ts"]
    time = 0
    for number in range(rows):
        time += chance.choice((0, 1, 1, 2))
        at = time - chance.choice((0, 0, 0, 1, 2, 5))
        name = chance.choice(["a", "b", '"two\nlines"', '"a ""quote"""', '"x\r\n\r\ny"', "", '"1,a,2\n3,b,4\n"'])
        lines.append(f"{chance.choice(['1', '2', '3', ''])},{name},{chance.randrange(9) / 4},{max(at, 0)}")
        if number % 17 == 5:
            lines.append(chance.choice(["not,a,row", "1,2", '1,"open,1.5,3', "x,y,z,1"]))
    (folder / "s.csv").write_text("\n".join(lines))
    (folder / "p").mkdir()
    content = [json.dumps({"k": chance.choice((1, 2, 3, None)), "y": i, "ts": i}) for i in range(rows)]
    for part in range(3):
        (folder / "p" / f"{part}.jsonl").write_text("\n".join(content[part * 20 : part * 20 + 20]) + "\n")
    (folder / "f").mkdir()
    for part in range(4):
        rising = range(part * 3, part * 3 + rows // 3)
        times = [t - chance.choice((0, 0, 0, 0, 1, 3)) for t in rising]
        (folder / "f" / f"{part}.csv").write_text(
            "".join(f"{chance.randrange(3)},{part * 100 + i},{max(t, 0)}\n" for i, t in enumerate(times))
        )
    (folder / "r.csv").write_text("1,one\n2,two\n")
    _write_keyed(folder, chance, rows)


def _write_keyed(folder: Path, chance: random.Random, rows: int) -> None:
    """Modifications that do not fit, keys that come again, elements that begin while others of their key last."""
    times = [max(t // 2 - chance.choice((0, 0, 0, 1, 3)), 0) for t in range(rows)]
    tagged = [f"{chance.randrange(4)},{chance.randrange(9)},{chance.choice('++-u')},{t}" for t in times]
    (folder / "m.csv").write_text("\n".join(tagged))
    keys = [chance.choice((None, chance.randrange(rows))) for _ in times]
    content = [json.dumps({"k": key, "y": i, "ts": t}) for i, (key, t) in enumerate(zip(keys, times, strict=True))]
    (folder / "u.jsonl").write_text("\n".join(content))
    ends = [f"{t + chance.randrange(1, 6)}" if chance.random() < 0.9 else "" for t in times]
    lasting = [f"{chance.randrange(5)},{i},{t},{end}" for i, (t, end) in enumerate(zip(times, ends, strict=True))]
    (folder / "v.csv").write_text("\n".join(lasting) + "\n")


def session_over(folder: Path) -> Session:
    """The queries over the files."""
    session = Session(data=folder, rejects=folder / "rejected")
    session.execute(DEFINITIONS + QUERIES)
    return session


def bag(answers: list[Answer]) -> Counter[tuple[object, ...]]:
    """Answers without their order."""
    return Counter((a.query, a.instant, a.op, a.row, a.until) for a in answers)


def told(session: Session, folder: Path) -> tuple[list[str], list[str]]:
    """What was said of rows that were kept apart, and where they stand."""
    paths = [folder / "rejected" / f"{name}.rejected.jsonl" for name in KEPT_APART]
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    found = sorted(f"{x['file']}:{x['line']} {x['reason']}" for x in lines)
    return sorted(n.condition for n in session.inputs.notices), found


def expected(folder: Path) -> tuple[Counter[tuple[object, ...]], tuple[list[str], list[str]]]:
    """By the reference, over files that are read whole."""
    session = session_over(folder)
    answers = bag(session.answers())
    return answers, told(session, folder)
