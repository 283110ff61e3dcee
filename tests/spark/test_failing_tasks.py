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
