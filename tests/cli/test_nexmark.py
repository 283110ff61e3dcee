"""``continua nexmark`` and scripts over generated sources."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest

from continua.cli import event_files
from continua.sources.nexmark.events import COLUMNS, KINDS, Events
from tests.cli.following import Followed, at_least, end_all
from tests.cli.helpers import continua, lines, write_script

SCRIPT = """
CREATE STREAM Bid (auction BIGINT, price BIGINT, dateTime TIMESTAMP)
  SOURCE {} ORDERED BY dateTime;
SELECT ISTREAM auction, price, dateTime FROM Bid [NOW] WHERE price > 50000000;
"""


@pytest.mark.parametrize("extra", [False, True])
def test_all_formats_hold_the_events_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: bool
) -> None:
    monkeypatch.setattr(event_files, "_AT_ONCE", 333)
    options = ["--events", "1000", "--seed", "5", "--rate", "50", "--start", "2026-01-01", *(["--extra"] * extra)]
    told = {}
    for form in ("csv", "jsonl", "parquet"):
        told[form] = lines(continua("nexmark", str(tmp_path), "--format", form, *options))
    assert told["csv"][2].endswith("bid.csv: 920 rows")
    for kind in KINDS:
        events = Events(kind, 50, 5, 1_767_225_600_000_000, extra)
        names = tuple(n for n in COLUMNS[kind] if extra or n != "extra")
        expected = event_files.event_table(events, names, 0, 1_000).combine_chunks()
        assert pyarrow.parquet.read_table(tmp_path / f"{kind}.parquet").combine_chunks() == expected
        read = (pyarrow.csv.read_csv(tmp_path / f"{kind}.csv"), pyarrow.json.read_json(tmp_path / f"{kind}.jsonl"))
        for found in read:
            assert found.cast(expected.schema).combine_chunks() == expected


def test_files_and_the_source_have_the_same_answers(tmp_path: Path) -> None:
    continua("nexmark", str(tmp_path), "--events", "2000", "--seed", "7")
    found = [
        lines(continua("run", write_script(tmp_path, SCRIPT.format(source)), "--master", "none"))
        for source in ("csv('bid.csv')", "nexmark('bid', events => 2000, seed => 7)")
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 10


def test_an_empty_file_has_a_header(tmp_path: Path) -> None:
    continua("nexmark", str(tmp_path), "--events", "0")
    assert (tmp_path / "bid.csv").read_text().strip() == '"auction","bidder","price","channel","url","dateTime"'


def test_a_wrong_start_is_a_wrong_command_line(tmp_path: Path) -> None:
    assert continua("nexmark", str(tmp_path), "--start", "soon").exit_code == 2


def test_an_endless_source_has_no_answer_over_all_of_it(tmp_path: Path) -> None:
    script = write_script(tmp_path, SCRIPT.format("nexmark('bid')"))
    for command in (("run", script, "--batch-rows", "10"), ("verify", script)):
        result = continua(*command, "--master", "none")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "error[ENDLESS_SOURCE]" in result.stderr
        assert "--follow" in result.stderr


def test_an_endless_source_is_followed(tmp_path: Path) -> None:
    run = Followed(tmp_path, write_script(tmp_path, SCRIPT.format("nexmark('bid', rate => 1000)")))
    try:
        run.wait_until(at_least(5))
        assert run.end(signal.SIGTERM) == 0
    finally:
        end_all()


def test_engine_and_reference_agree_over_it(tmp_path: Path) -> None:
    script = write_script(tmp_path, SCRIPT.format("nexmark('bid', events => 300, rate => 30)"))
    result = continua("verify", script, "--master", "none", "--batch-rows", "50")
    assert result.exit_code == 0, result.stderr


def test_answers_over_it_become_files(tmp_path: Path) -> None:
    text = SCRIPT.format("nexmark('bid', events => 500)").replace(
        "SELECT ISTREAM", "REGISTER QUERY bids AS SELECT ISTREAM"
    )
    text = text.replace("> 50000000;", "> 0 INTO json('bids');")
    assert lines(continua("run", write_script(tmp_path, text), "--master", "none")) == []
    written = [json.loads(x) for f in (tmp_path / "bids").glob("*.json") for x in f.read_text().splitlines()]
    assert len(written) == 460
    assert {"auction", "price", "dateTime"} <= written[0].keys()
