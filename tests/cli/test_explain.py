"""What a script's queries mean, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.helpers import BIDS, ROOMS, TIMED, continua, lines, write_script


def test_a_query_is_told_with_its_defaults_and_its_plan(folder: Path) -> None:
    result = continua("explain", write_script(folder, BIDS + "SELECT price FROM Bid;"))
    assert lines(result)[:8] == [
        "q1: a stream",
        "  query     SELECT ISTREAM(price) FROM Bid [RANGE UNBOUNDED]",
        "  defaults  Bid has no window: [RANGE UNBOUNDED] is used",
        "            the result only grows: ISTREAM is used",
        "  plan      Istream",
        "            └─ Map Bid.price AS price",
        "               └─ Window [RANGE UNBOUNDED]",
        "                  └─ Source Bid",
    ]
    assert result.stderr == ""


def test_unbounded_state_is_noted(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT item_id, COUNT(*) AS n FROM Bid [RANGE UNBOUNDED] GROUP BY item_id;")
    note = "  note      the state of Grouping has no bound: it keeps everything since the start of Bid"
    assert note in lines(continua("explain", path))
    (explained,) = json.loads(continua("explain", path, "--json").stdout)
    assert {"operator": "Grouping", "keeps": "everything since the start of Bid"} in explained["unbounded_state"]


def test_explain_statements_are_explained_as_the_catalog_was_at_their_place(folder: Path) -> None:
    script = (
        BIDS
        + "EXPLAIN SELECT price FROM Bid;\nSET dialect = pipes;\nEXPLAIN SELECT price FROM Bid;\nDROP STREAM Bid;\n"
        + TIMED
        + "REGISTER QUERY seen AS SELECT COUNT(*) AS n FROM Seen [NOW];"
    )
    path = write_script(folder, script)
    found = [line for line in lines(continua("explain", path)) if line and not line.startswith(" ")]
    assert found == [f"EXPLAIN at {path}:2: a stream", f"EXPLAIN at {path}:4: a stream", "seen: a stream"]
    queries = [line for line in lines(continua("explain", path)) if line.startswith("  query")]
    assert "ISTREAM" in queries[0]
    assert "RSTREAM" in queries[1]


def test_json_is_one_document_with_an_object_a_query(folder: Path) -> None:
    script = BIDS + ROOMS + "SELECT price FROM Bid;\nEXPLAIN SELECT STREAMED id FROM Room;"
    first, second = json.loads(continua("explain", write_script(folder, script), "--json").stdout)
    assert {key: first[key] for key in ("query", "line", "yields", "time", "expanded")} == {
        "query": "q1",
        "line": 4,
        "yields": "stream",
        "time": "ticks",
        "expanded": "SELECT ISTREAM(price) FROM Bid [RANGE UNBOUNDED]",
    }
    assert first["defaults"] == [
        "Bid has no window: [RANGE UNBOUNDED] is used",
        "the result only grows: ISTREAM is used",
    ]
    assert first["plan"]["operator"] == "Istream"
    assert first["plan"]["inputs"][0]["schema"] == [{"name": "price", "type": "DOUBLE", "nullable": True}]
    assert (second["query"], second["line"], second["yields"]) == (None, 5, "tagged stream")


def test_json_of_a_script_without_queries_is_an_empty_list(folder: Path) -> None:
    result = continua("explain", write_script(folder, BIDS), "--json")
    assert json.loads(result.stdout) == []
    assert "has no query" in result.stderr


@pytest.mark.parametrize("stage", ["rewrites", "sharing"])
def test_other_stages_are_not_supported_yet(folder: Path, stage: str) -> None:
    result = continua("explain", write_script(folder, BIDS + "SELECT price FROM Bid;"), "--stage", stage)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error[NOT_SUPPORTED]: --stage {stage} is not supported yet" in result.stderr


def test_mistakes_are_told_before_anything_is_printed(folder: Path) -> None:
    result = continua("explain", write_script(folder, BIDS + "SELECT price FROM Bid;\nSELECT x FROM Bid;"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "script.sql:3:8" in result.stderr


def test_the_dialect_sets_the_defaults(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT price FROM Bid;")
    assert "  query     SELECT RSTREAM(price) FROM Bid [NOW]" in lines(continua("explain", path, "--dialect", "pipes"))
