"""Sources in a bucket, over a real server: what is read of files is read of objects, by ranges, in every format."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from continua.errors import BindError
from continua.objects.client import Bucket, bucket_at
from continua.objects.urls import BucketUrl, place_of
from continua.policy import NOTHING
from continua.session import Session
from continua.sources import planning
from tests.cli.helpers import continua, lines, write_script
from tests.services.s3_server import KEY, SECRET, S3Server

QUERY = "REGISTER QUERY q AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM S [RANGE 50] GROUP BY k;"
ROWS = 3_000


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server, and who may use it."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"ACCESS_KEY_ID": KEY, "SECRET_ACCESS_KEY": SECRET, "REGION": "us-east-1"}.items():
            patch.setenv(f"AWS_{name}", value)
        server = S3Server(tmp_path_factory.mktemp("s3") / "objects")
        yield server
        server.remove()


def bucket(s3: S3Server, prefix: str) -> Bucket:
    """What is below a prefix."""
    url = place_of(s3.url(prefix))
    assert isinstance(url, BucketUrl)
    return bucket_at(url)


def script(form: str, path: str) -> str:
    """A stream of what is there, and the query."""
    return f"CREATE STREAM S (k INT, v INT, t BIGINT) SOURCE {form}('{path}') ORDERED BY t;\n{QUERY}"


def parts(form: str, folder: Path) -> dict[str, bytes]:
    """Three files of a format, with the rows of the stream in the order of their names."""
    rng = random.Random(7)
    rows = [(rng.randrange(20), rng.randrange(1000), t) for t in range(ROWS)]
    found: dict[str, bytes] = {}
    for number in range(3):
        mine = rows[number * ROWS // 3 : (number + 1) * ROWS // 3]
        table = pa.table({name: pa.array(column) for name, column in zip("kvt", zip(*mine, strict=True), strict=True)})
        path = folder / "part"
        match form:
            case "parquet":
                pq.write_table(table, path, row_group_size=200)
            case "orc":
                orc.write_table(table, path)
            case "jsonl":
                path.write_text("".join(f'{{"k": {k}, "v": {v}, "t": {t}}}\n' for k, v, t in mine))
            case _:
                path.write_text("k,v,t\n" + "".join(f'{k},"{v}",{t}\n' for k, v, t in mine))
        content = path.read_bytes()
        found[f"part-{number}.{form}"] = gzip.compress(content) if form == "csv.gz" else content
    return found


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "orc", "csv.gz"])
def test_objects_have_the_answers_of_files(
    s3: S3Server, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The prefix alone, and a glob; in one process and on Spark, in splits of a few rows."""
    monkeypatch.setattr(planning, "BYTES", 4_000)
    mine, format_ = bucket(s3, f"formats/{form}"), form.partition(".")[0]
    files = tmp_path / "files"
    files.mkdir()
    for name, content in parts(form, tmp_path).items():
        (files / name).write_bytes(content)
        mine.put(name, content)
    mine.put("_temporary", b"?")
    mine.put("other/part-9.txt", b"?")
    expected = lines(continua("run", write_script(tmp_path, script(format_, str(files))), "--master", "none"))
    assert len(expected) > ROWS
    for path in (s3.url(f"formats/{form}"), s3.url(f"formats/{form}/part-*.{form}"), s3.url(f"form*/{form}/p*")):
        text = write_script(tmp_path, script(format_, path))
        assert lines(continua("run", text, "--master", "none", "--batch-rows", "700")) == expected
    assert lines(continua("run", text, "--master", "local[2]")) == expected


def test_folders_whose_names_are_values_give_columns(s3: S3Server, tmp_path: Path) -> None:
    mine = bucket(s3, "valued")
    for day in (1, 2):
        mine.put(f"t={day}/x.csv", b"k,v\n1,2\n")
    found = lines(continua("run", write_script(tmp_path, script("csv", s3.url("valued"))), "--master", "none"))
    assert len(found) == 6  # one row from the first day on, two from the second, one, and none


def test_what_is_not_there_is_told(s3: S3Server, tmp_path: Path) -> None:
    bucket(s3, "wrong").put("x.csv", b"k,v,t\n1,2,3\nx,2,4\n")
    for path, told in {
        s3.url("wrong/none"): "error[SOURCE_NOT_FOUND]: there is no object s3://tests/wrong/none, and none below it",
        s3.url("wrong/*.json"): "error[SOURCE_NOT_FOUND]: no object matches s3://tests/wrong/*.json",
        s3.url("wrong"): "error[MALFORMED_ROW]: s3://tests/wrong/x.csv:3: column k: 'x' is not",
    }.items():
        result = continua("run", write_script(tmp_path, script("csv", path)), "--master", "none")
        assert result.exit_code == 1 and told in result.stderr


def test_a_run_goes_on_where_it_was_and_new_objects_come(s3: S3Server, tmp_path: Path) -> None:
    """Followed from one process to the next: what was read is not read again, and must be as it was."""
    mine = bucket(s3, "followed")
    text = write_script(tmp_path, script("csv", s3.url("followed")))

    def followed() -> list[str]:
        given = ["--follow", "--for", "2s", "--trigger", "100ms", "--checkpoint", s3.url("state"), "--master", "none"]
        return lines(continua("run", text, *given))

    mine.put("a.csv", b"k,v,t\n1,1,1\n1,1,2\n")
    first = followed()
    mine.put("b.csv", b"k,v,t\n1,1,7\n2,5,9\n")
    second = followed()
    assert any('"t": 2' in line for line in [*first, *second]) and any('"t": 7' in line for line in second)
    assert not set(first) & set(second)
    mine.put("a.csv", b"k,v,t\n9,9,1\n9,9,2\n")
    result = continua("run", text, "--follow", "--for", "2s", "--checkpoint", s3.url("state"), "--master", "none")
    assert result.exit_code == 1 and "error[SOURCE_CHANGED]: s3://tests/followed/a.csv" in result.stderr


def test_a_policy_names_what_of_a_bucket_may_be_read(s3: S3Server) -> None:
    bucket(s3, "secret").put("x.csv", b"k,v,t\n1,2,3\n")
    bucket(s3, "open").put("x.csv", b"k,v,t\n1,2,3\n")
    session = Session(master="none", policy=replace(NOTHING, read=(s3.url("open"),)))
    session.execute(script("csv", s3.url("open")))
    assert session.answers()
    for path in (s3.url("secret"), s3.url("*"), s3.url("open/../secret"), s3.url("open", "http://127.0.0.1:9")):
        with pytest.raises(BindError) as caught:
            session.execute("DROP QUERY q; DROP STREAM S;" + script("csv", path))
        assert caught.value.condition == "PATH_NOT_PERMITTED"
