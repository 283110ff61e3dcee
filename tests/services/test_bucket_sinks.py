"""Answers in an object store: each epoch once, also where a run was interrupted before all of it was there."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from continua.objects.client import Bucket, bucket_at
from continua.objects.urls import BucketUrl, place_of
from tests.cli.helpers import BIDS, continua, lines, write_files, write_script
from tests.services.s3_server import KEY, SECRET, S3Server

SELECT = "SELECT ISTREAM(item_id, price) FROM Bid [RANGE 2]"
GROUPS = "SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id"


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server, and who may use it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        server = S3Server(tmp_path_factory.mktemp("s3") / "objects")
        yield server
        server.remove()


def objects(url: str) -> Bucket:
    """What is below a URL."""
    place = place_of(url)
    assert isinstance(place, BucketUrl)
    return bucket_at(place)


def rows(url: str) -> list[tuple[object, ...]]:
    """All rows of the objects below a URL, object by object."""
    found: list[tuple[object, ...]] = []
    bucket = objects(url)
    for each in bucket.found(""):
        content = bucket.get(each.key)
        assert content is not None
        table = pa.parquet.read_table(BytesIO(content))
        found += [tuple(row.values()) for row in table.to_pylist()]
    return found


def in_folder(folder: Path) -> list[tuple[object, ...]]:
    """The same of the files in a folder."""
    tables = [pa.parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def run(folder: Path, query: str, into: str, *options: str, master: str = "none") -> None:
    """A run whose answers go somewhere."""
    script = write_script(folder, f"{BIDS} REGISTER QUERY q AS {query} INTO parquet('{into}');")
    lines(continua("run", script, "--master", master, "--batch-rows", "1", *options))


@pytest.mark.parametrize("query", [SELECT, GROUPS])
def test_what_a_folder_would_have_is_in_the_bucket(
    s3: S3Server, tmp_path: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    run(tmp_path, query, "folder")
    expected = in_folder(tmp_path / "folder")
    assert expected
    name = f"sink-{len(query)}"
    sink, checkpoint = s3.url(name), ("--checkpoint", s3.url(f"{name}-ck"))
    run(tmp_path, query, sink, *checkpoint)
    assert rows(sink) == expected
    before = [found.key for found in objects(sink).found("")]
    assert len(before) > 1
    # what a driver leaves that ends between the manifest and the last of the objects
    objects(sink).delete(before[-2:])
    run(tmp_path, query, sink, *checkpoint)
    assert rows(sink) == expected
    assert [found.key for found in objects(sink).found("")] == before


def test_on_spark_tasks_put_objects_there(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    run(tmp_path, GROUPS, "folder")
    sink = s3.url("spark")
    run(tmp_path, GROUPS, sink, "--checkpoint", s3.url("spark-ck"), master="local[2]")
    assert sorted(rows(sink), key=str) == sorted(in_folder(tmp_path / "folder"), key=str)


def test_answers_of_another_run_are_left_alone(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    sink = s3.url("taken")
    checkpoint = ("--checkpoint", s3.url("taken-ck"))
    run(tmp_path, GROUPS, sink, *checkpoint)
    before = rows(sink)
    script = write_script(tmp_path, f"{BIDS} REGISTER QUERY q AS {GROUPS} INTO parquet('{sink}');")
    refused = continua("run", script, "--master", "none")
    assert refused.exit_code == 1 and "SINK_NOT_EMPTY" in refused.stderr
    objects(sink).put("epoch-0000000099.parquet", b"of another run")
    ahead = continua("run", script, "--master", "none", *checkpoint)
    assert ahead.exit_code == 1 and "SINK_AHEAD" in ahead.stderr
    objects(sink).delete(["epoch-0000000099.parquet"])
    assert rows(sink) == before


def test_a_run_that_fails_takes_back_what_it_has_put_there(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    sink = s3.url("failed")
    failing = "SELECT ISTREAM(item_id, CAST(CASE WHEN price > 20 THEN 'no' ELSE '1' END AS INT)) FROM Bid [RANGE 2]"
    script = write_script(tmp_path, f"{BIDS} REGISTER QUERY q AS {failing} INTO parquet('{sink}');")
    result = continua("run", script, "--master", "none", "--batch-rows", "1")
    assert result.exit_code == 1
    assert objects(sink).found("") == []
