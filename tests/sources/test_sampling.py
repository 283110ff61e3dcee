"""Samples: the same rows whatever the cut, in the engine as by definition."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from continua.algebra.leaves import Sample
from continua.errors import ContinuaError
from continua.physical.sampling import is_sampled as by_arrays
from continua.reference.sampling import is_sampled
from continua.runs.bounded import BoundedOptions
from continua.session import Session
from continua.sources import planning
from tests.runtime.living import rows_of
from tests.sources.test_key_checks import by_engine, by_reference

DEFINITIONS = """
CREATE STREAM C (k INT, x STRING, ts BIGINT) SOURCE csv('c') ORDERED BY ts SLACK 3;
CREATE STREAM J (k INT, ts BIGINT) SOURCE jsonl('j.jsonl') ORDERED BY ts KEY k CHECKED WITHIN 900 ON ERROR SKIP;
CREATE STREAM P (k INT, ts BIGINT) SOURCE parquet('p.parquet') ORDERED BY ts;
CREATE STREAM G (value BIGINT, timestamp TIMESTAMP) SOURCE rate(rows => 80, start => '1970-01-01') ORDERED BY timestamp;
CREATE STREAM L (k INT, a BIGINT, b BIGINT) SOURCE csv('l.csv') VALID FROM a TO b;
CREATE STREAM I (k INT, part INT, off BIGINT, ts BIGINT) ORDERED BY ts PARTITIONED BY part OFFSET off;
CREATE STREAM H (k INT, ts BIGINT) ORDERED BY ts;
"""
QUERIES = """
REGISTER QUERY c AS SELECT k, COUNT(*) AS n FROM C [RANGE 20 SAMPLE 30 PERCENT REPEATABLE (7)] GROUP BY k;
REGISTER QUERY rest AS SELECT x FROM C [ROWS 3 SAMPLE 12.5 PERCENT REPEATABLE (7)];
REGISTER QUERY j AS SELECT k FROM J [ROWS 4 SAMPLE 50 PERCENT];
REGISTER QUERY p AS SELECT ISTREAM(k) FROM P [NOW SAMPLE 40 PERCENT REPEATABLE (1)];
REGISTER QUERY l AS SELECT k FROM L [RANGE 2 SAMPLE 50 PERCENT REPEATABLE (2)];
REGISTER QUERY i AS SELECT k FROM I [RANGE 5 SAMPLE 50 PERCENT REPEATABLE (3)];
REGISTER QUERY h AS SELECT a.k FROM H [RANGE 9 SAMPLE 50 PERCENT REPEATABLE (4)] a, H [NOW] b WHERE a.k = b.k;
"""
MADE = "REGISTER QUERY g AS SELECT ISTREAM(value) FROM G [NOW SAMPLE 25 PERCENT REPEATABLE (5)];"


def session_over(folder: Path, seed: int = 4) -> Session:
    chance = random.Random(seed)
    (folder / "c").mkdir(exist_ok=True)
    for part in range(2):
        lines = [f'{chance.randrange(3)},"{part}\n{i}",{part * 40 + i + chance.randrange(3)}' for i in range(40)]
        (folder / "c" / f"{part}.csv").write_text("\n".join(lines))
    (folder / "j.jsonl").write_text("\n".join(json.dumps({"k": i % 50, "ts": i}) for i in range(80)))
    table = pa.table({"k": range(80), "ts": range(80)})
    pq.write_table(table, folder / "p.parquet", row_group_size=9)
    (folder / "l.csv").write_text("\n".join(f"{i},{i},{i + 1 + i % 5}" for i in range(60)))
    found = Session(data=folder, rejects=folder / "rejected")
    found.execute(DEFINITIONS + QUERIES)
    found.insert("I", [(i, i % 3, i // 3, i // 3) for i in range(60)])
    found.insert("H", [(i % 5, i) for i in range(60)])
    return found


def test_a_sample_does_not_depend_on_the_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_reference(session_over(tmp_path))
    monkeypatch.setattr(planning, "BYTES", 70)
    found = session_over(tmp_path)
    for options in (BoundedOptions(partitions=1), BoundedOptions(partitions=3, batch_rows=11)):
        assert by_engine(found, options) == expected
    counts = Counter(key[0] for key, _ in expected)
    assert counts.keys() == found.queries.keys() and 15 < counts["p"] < 55


def test_rows_that_are_made_are_sampled_by_their_numbers(tmp_path: Path) -> None:
    found = Session(data=tmp_path)
    found.execute(DEFINITIONS.replace("SOURCE csv('c')", "") + MADE)
    expected = by_reference(found)
    assert 8 < len(expected) < 36
    assert all(
        by_engine(found, options) == expected
        for options in (BoundedOptions(partitions=1), BoundedOptions(partitions=2, batch_rows=9))
    )


def test_both_sides_hash_alike_and_a_smaller_sample_is_part_of_a_larger_one() -> None:
    chance = random.Random(9)
    origins = np.array([chance.randrange(-(1 << 63), 1 << 63) for _ in range(400)], np.int64)
    offsets = np.array([chance.choice((i, chance.randrange(1 << 62))) for i in range(400)], np.int64)
    previous = np.zeros(400, np.bool_)
    for percent in ("0.5", "10", "50", "99.9", "100"):
        sample = Sample(pa.scalar(percent).cast(pa.decimal128(10, 3)).as_py(), 7)
        chosen = by_arrays(sample.seed, sample.below, origins, offsets)
        assert chosen.tolist() == [is_sampled(sample, int(o), int(f)) for o, f in zip(origins, offsets, strict=True)]
        assert not bool((previous & ~chosen).any())
        assert abs(int(chosen.sum()) - 4 * float(percent)) < 45
        previous = chosen
    other = by_arrays(8, 1 << 63, origins, offsets)
    assert 120 < int((other != by_arrays(7, 1 << 63, origins, offsets)).sum()) < 280


def test_late_rows_are_told_alike_before_and_behind_a_sample(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("1,10\n2,3\n")
    found = Session(data=tmp_path, rejects=tmp_path / "rejected")
    found.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    found.execute("REGISTER QUERY a AS SELECT k FROM S [RANGE 5];")
    (handle,) = found.start()
    handle.processAllAvailable()
    found.execute("REGISTER QUERY b AS SELECT k FROM S [RANGE 5 SAMPLE 50 PERCENT REPEATABLE (1)]; START b;")
    with file.open("a") as lines:
        lines.write("3,20\n4,5\n")
    handle.processAllAvailable()
    assert [row["k"] for row in rows_of(handle.late("S"))] == [2, 4]
    found.stop()


def test_a_seed_that_is_not_named_is_told() -> None:
    found = Session()
    found.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    query = found.sql("SELECT k FROM S [RANGE 5 SAMPLE 10 PERCENT]")
    assert query is not None
    told = {n.condition: n for n in query.bound.notices}
    assert told["DEFAULT_SEED"].parameters["seed"] == 0
    assert "[RANGE 5 SAMPLE 10 PERCENT REPEATABLE (0)]" in str(told["EXPANDED_QUERY"].parameters["query"])
    assert "SAMPLE 10 PERCENT REPEATABLE (0)" in found.explain(query)


REFUSED: list[tuple[str, str, Mapping[str, object]]] = [
    ("SELECT k FROM S [RANGE 5 SAMPLE 0 PERCENT]", "BAD_PERCENT", {}),
    ("SELECT k FROM S [RANGE 5 SAMPLE 100.5 PERCENT]", "BAD_PERCENT", {}),
    ("SELECT k FROM S [RANGE 5 SAMPLE ten PERCENT]", "SYNTAX", {}),
    ("SELECT k FROM S [SAMPLE 5 PERCENT]", "SYNTAX", {}),
    ("SELECT k FROM S [RANGE 5 SAMPLE 5]", "SYNTAX", {"expected": "PERCENT"}),
    ("SELECT k FROM D [RANGE 5 SAMPLE 5 PERCENT]", "SAMPLE_OF_QUERY", {"stream": "D"}),
    ("SELECT k FROM F [RANGE 5 SAMPLE 5 PERCENT]", "NO_OFFSETS", {"stream": "F"}),
    ("CREATE WINDOW w AS [RANGE 5 SAMPLE 5 PERCENT]", "SAMPLED_WINDOW", {}),
]


@pytest.mark.parametrize(("text", "condition", "parameters"), REFUSED)
def test_what_cannot_be_sampled_is_refused(text: str, condition: str, parameters: Mapping[str, object]) -> None:
    found = Session()
    found.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    found.execute("CREATE STREAM F (k INT, ts BIGINT) SOURCE table('t') ORDERED BY ts;")
    found.execute("CREATE STREAM D AS SELECT ISTREAM(k) FROM S [NOW];")
    with pytest.raises(ContinuaError) as caught:
        found.execute(text)
    assert caught.value.condition == condition
    assert all(caught.value.parameters[name] == value for name, value in parameters.items())
