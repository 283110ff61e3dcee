"""INTO: the answers of a query in a folder, a file an epoch."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from continua.sinks import folder_sink
from tests.cli.helpers import BIDS, continua, lines, write_script


def _run(folder: Path, into: str, *options: str) -> None:
    script = BIDS + f"REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2] INTO {into};"
    assert lines(continua("run", write_script(folder, script), *options)) == []


def _rows(folder: Path) -> list[dict[str, object]]:
    files = sorted((folder / "out").iterdir())
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("batch", ["1", "2"])
def test_an_epoch_is_a_file_and_all_files_are_the_answer(folder: Path, batch: str) -> None:
    _run(folder, "json('out')", "--batch-rows", batch)
    whole = _rows(folder)
    assert len(list((folder / "out").iterdir())) > 1
    script = write_script(folder, BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [RANGE 2];")
    printed = [json.loads(line) for line in lines(continua("run", script))]
    expected = [{"t": a["t"], "op": a["op"], **a["row"]} for a in printed]
    assert sorted(map(str, whole)) == sorted(map(str, expected))


def test_parquet_and_csv(folder: Path) -> None:
    _run(folder, "parquet('out')")
    _run(folder, "csv('text')")
    table = pq.read_table(folder / "out")
    assert table.column_names == ["t", "op", "price"]
    text = next((folder / "text").iterdir()).read_text()
    assert len(text.splitlines()) == table.num_rows + 1


def test_a_second_run_from_the_same_checkpoint_adds_nothing(folder: Path) -> None:
    options = ("--batch-rows", "2", "--checkpoint", str(folder / "checkpoint"))
    _run(folder, "json('out')", *options)
    before = _rows(folder)
    _run(folder, "json('out')", *options)
    assert _rows(folder) == before


def test_a_folder_with_the_answers_of_another_run_is_refused(folder: Path) -> None:
    _run(folder, "json('out')")
    before = _rows(folder)
    script = BIDS + "REGISTER QUERY q AS SELECT item_id FROM Bid [RANGE 2] INTO json('out');"
    result = continua("run", write_script(folder, script))
    assert result.exit_code == 1
    assert "error[SINK_NOT_EMPTY]" in result.stderr
    assert _rows(folder) == before


def test_elements_that_last_are_told_by_where_they_begin_and_end(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT RSTREAM item_id FROM Bid [RANGE 2] INTO json('out');"
    assert lines(continua("run", write_script(folder, script))) == []
    found = [(row["t"], row["op"], row["item_id"]) for row in _rows(folder)]
    assert found == [(1, "+", 1), (2, "+", 2), (4, "-", 1), (5, "-", 2), (5, "+", 1), (8, "-", 1)]


def test_columns_named_like_the_instant_and_the_operation_have_a_number(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT item_id AS t, price AS op FROM Bid [NOW] INTO json('out');"
    assert lines(continua("run", write_script(folder, script))) == []
    assert _rows(folder)[0] == {"t": 1, "op": "+", "t_2": 1, "op_2": 10.5}


def test_orc(folder: Path) -> None:
    _run(folder, "orc('out')")
    _run(folder, "parquet('same')")
    table = pa.orc.read_table(next((folder / "out").glob("*.orc")))
    assert table.to_pylist() == pq.read_table(folder / "same").to_pylist()
    assert table.num_rows


def test_nested_values_and_lengths_of_time_in_every_format(folder: Path) -> None:
    columns = "ARRAY(item_id, NULL) AS l, INTERVAL '90' MINUTE AS i, ARRAY(INTERVAL '1' DAY) AS j, NULL AS n, '' AS e"
    for form in ("csv", "json", "parquet", "orc"):
        query = f"REGISTER QUERY q AS SELECT {columns} FROM Bid WHERE price = 20 INTO {form}('{form}');"
        assert lines(continua("run", write_script(folder, BIDS + query))) == []
    (written, text, parquet, orc) = (next((folder / f).iterdir()) for f in ("csv", "json", "parquet", "orc"))
    assert written.read_text() == '"t","l","i","j","n","e"\n2,"[2, null]",PT1H30M,"[""P1D""]",,""\n'
    assert text.read_text() == '{"t": 2, "l": [2, null], "i": "PT1H30M", "j": ["P1D"], "n": null, "e": ""}\n'
    row = {"t": 2, "l": [2, None], "i": timedelta(minutes=90), "j": [timedelta(days=1)], "n": None, "e": ""}
    assert pq.read_table(parquet).to_pylist() == [row]
    assert pa.orc.read_table(orc).to_pylist() == [{**row, "i": 5_400_000_000, "j": [86_400_000_000]}]


def test_compression(folder: Path) -> None:
    _run(folder, "parquet('out', compression => 'ZSTD')")
    file = pq.ParquetFile(next((folder / "out").iterdir()))
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    _run(folder, "orc('orc', compression => zlib)")
    assert pa.orc.ORCFile(next((folder / "orc").iterdir())).compression == "ZLIB"


@pytest.mark.parametrize(
    ("into", "option"),
    [
        ("parquet('out', compresion => 'zstd')", "compresion"),
        ("parquet('out', compression => 'zip')", "compression"),
        ("orc('out', compression => 'gzip')", "compression"),
        ("csv('out', compression => 'zstd')", "compression"),
        ("json('out', header => true)", "header"),
        ("console(width => 3)", "console"),
        ("parquet('out', 'other')", "parquet"),
    ],
)
def test_options_that_a_sink_has_not_are_refused_by_name(folder: Path, into: str, option: str) -> None:
    script = BIDS + f"REGISTER QUERY q AS SELECT price FROM Bid INTO {into};"
    result = continua("run", write_script(folder, script))
    assert result.exit_code == 1
    assert "error[BAD_OPTION]" in result.stderr
    assert option in result.stderr
    assert not (folder / "out").exists()


def test_an_address_is_no_folder(folder: Path) -> None:
    script = write_script(folder, BIDS + "REGISTER QUERY q AS SELECT price FROM Bid INTO csv('hdfs://host/out');")
    result = continua("run", script)
    assert result.exit_code == 1
    assert (
        "error[BAD_OPTION]: INTO csv(...) writes to a folder or a bucket, and hdfs://host/out is an address"
        in result.stderr
    )
    assert not (folder / "hdfs:").exists()


@pytest.mark.parametrize("damage", ["changed", "gone", "empty"])
@pytest.mark.parametrize(
    "query", ["SELECT price FROM Bid [RANGE 2]", "SELECT STREAMED item_id, price FROM Bid [RANGE 2]"]
)
def test_a_file_of_a_finished_epoch_that_is_damaged_is_written_again(folder: Path, damage: str, query: str) -> None:
    script = write_script(folder, BIDS + f"REGISTER QUERY q AS {query} INTO json('out');")
    command = ("run", script, "--batch-rows", "1", "--checkpoint", str(folder / "ck"))
    assert lines(continua(*command)) == []
    whole = {file.name: file.read_bytes() for file in (folder / "out").iterdir()}
    victim = sorted((folder / "out").iterdir())[0]
    match damage:
        case "changed":
            victim.write_bytes(victim.read_bytes().replace(b"10.5", b"99.5"))
        case "gone":
            victim.unlink()
        case _:
            victim.write_bytes(b"")
    assert lines(continua(*command)) == []
    assert {file.name: file.read_bytes() for file in (folder / "out").iterdir()} == whole


def test_a_file_that_is_written_again_is_on_the_disk_before_it_has_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []
    sink = folder_sink.FolderSink("json", folder / "out")
    monkeypatch.setattr(folder_sink, "sync", lambda path: synced.append((path.name, sink.file(1).exists())))
    sink.repair(1, pa.table({"t": [1]}))
    (partial, before), after = synced
    assert partial.startswith(f".{sink.file(1).name}.") and not before
    assert after == ("out", True)


def test_where_into_stands_is_told(folder: Path) -> None:
    result = continua("run", write_script(folder, BIDS + "SELECT price FROM Bid [RANGE 2] INTO json('out');"))
    assert result.exit_code == 1
    assert "hint: a query that writes somewhere has a name: REGISTER QUERY name AS SELECT ... INTO ..." in result.stderr
