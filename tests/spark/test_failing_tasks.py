"""Tasks that fail: what is wrong with a machine is raised and told by name, what is wrong with data by its query."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.helpers import continua, write_script

SCRIPT = """
CREATE STREAM B (item INT, price STRING, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts;
REGISTER QUERY good AS SELECT COUNT(*) AS n FROM B [RANGE 3] INTO json('good');
REGISTER QUERY bad AS SELECT ISTREAM item, CAST(price AS INT) AS p FROM B [NOW] INTO json('bad');
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "b.csv").write_text("item,price,ts\n1,1,1\n2,x,2\n3,3,3\n", encoding="utf-8")
    return write_script(tmp_path, SCRIPT)


def test_a_task_that_cannot_write_is_told_by_name(script: str, tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "b.csv").write_text("item,price,ts\n1,1,1\n2,2,2\n", encoding="utf-8")
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "_staged").write_text("in the way", encoding="utf-8")
    options = ("--checkpoint", str(tmp_path / "ck"), "--master", str(spark.sparkContext.master))
    result = continua("run", script, *options)
    assert result.exit_code == 3, result.stderr
    assert f"error[NOT_WRITABLE]: {tmp_path / 'good' / '_staged'}: " in result.stderr
    (tmp_path / "good" / "_staged").unlink()
    assert continua("run", script, *options).exit_code == 0
    assert len(list((tmp_path / "good").iterdir())) >= 1


def test_a_query_that_fails_on_its_data_fails_alone(script: str, tmp_path: Path, spark: SparkSession) -> None:
    result = continua("run", script, "--batch-rows", "1", "--master", str(spark.sparkContext.master))
    assert result.exit_code == 1
    assert "query bad: the query fails on its data" in result.stderr
    assert "(at 2, on the row 2, 'x', 2)" in result.stderr
    assert len(list((tmp_path / "good").iterdir())) > 1
    assert not (tmp_path / "bad").exists()


STATEFUL = """
CREATE STREAM B (item INT, price STRING, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts;
REGISTER QUERY counts AS SELECT item % 2 AS k, COUNT(*) AS n FROM B [RANGE 3] GROUP BY item % 2 INTO json('counts');
REGISTER QUERY sums AS
  SELECT item % 2 AS k, COUNT(*) AS n, SUM(CAST(price AS INT)) AS s FROM B [RANGE 3] GROUP BY item % 2
  INTO json('sums');
"""


def rows_of(folder: Path) -> list[str]:
    return sorted(line for path in folder.glob("*.json") for line in path.read_text(encoding="utf-8").splitlines())


def test_a_query_that_is_corrected_begins_anew_and_the_others_go_on(tmp_path: Path, spark: SparkSession) -> None:
    lines = [f"{i},{'x' if i == 8 else i},{i}" for i in range(1, 10)]
    (tmp_path / "b.csv").write_text("\n".join(["item,price,ts", *lines]) + "\n", encoding="utf-8")
    options = ("--checkpoint", str(tmp_path / "ck"), "--master", str(spark.sparkContext.master), "--batch-rows", "2")
    assert continua("run", write_script(tmp_path, STATEFUL), *options).exit_code == 1
    before = {path: path.stat().st_ino for path in (tmp_path / "counts").glob("*.json")}
    right = STATEFUL.replace("CAST", "TRY_CAST")
    result = continua("run", write_script(tmp_path, right), *options)
    assert result.exit_code == 0, result.stderr
    assert before and before.items() <= {path: path.stat().st_ino for path in (tmp_path / "counts").iterdir()}.items()
    clean = tmp_path / "clean"
    clean.mkdir()
    (clean / "b.csv").write_bytes((tmp_path / "b.csv").read_bytes())
    assert continua("run", write_script(clean, right), "--master", "none").exit_code == 0
    for name in ("counts", "sums"):
        assert rows_of(tmp_path / name) == rows_of(clean / name)


def test_what_spark_has_read_for_others_is_not_read_again(tmp_path: Path, spark: SparkSession) -> None:
    lines = [f"{i},{'x' if i == 6 else i},{i}" for i in range(1, 10)]
    (tmp_path / "b.csv").write_text("\n".join(["item,price,ts", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "names.json").write_text('{"k": 0, "name": "even"}\n{"k": 1, "name": "odd"}\n', encoding="utf-8")
    text = f"""
    CREATE STREAM B (item INT, price STRING, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts;
    CREATE TABLE N (k INT, name STRING) SOURCE spark('json', path => '{tmp_path / "names.json"}');
    REGISTER QUERY named AS SELECT ISTREAM item, name FROM B [NOW], N WHERE item % 2 = k;
    REGISTER QUERY bad AS SELECT ISTREAM CAST(price AS INT) AS p, name FROM B [NOW], N WHERE item % 2 = k;
    """
    options = ("--checkpoint", str(tmp_path / "ck"), "--master", str(spark.sparkContext.master), "--batch-rows", "3")
    assert continua("run", write_script(tmp_path, text), *options).exit_code == 1
    result = continua("run", write_script(tmp_path, text.replace("CAST", "TRY_CAST")), *options)
    assert result.exit_code == 1
    assert "error[READ_BEFORE]" in result.stderr
