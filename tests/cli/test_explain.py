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


def test_rewrites_are_told_step_by_step(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT item_id FROM Bid WHERE price > 5;")
    text = continua("explain", path, "--stage", "rewrites").stdout
    assert "window_reduction (CQL 7.2.1)" in text
    assert text.index("Istream") < text.index("Rstream")
    assert "Window [NOW]" in text
    (explained,) = json.loads(continua("explain", path, "--stage", "rewrites", "--json").stdout)
    steps = explained["rewrites"]["steps"]
    (reduction,) = [s for s in steps if s["rule"] == "window_reduction"]
    assert reduction["law"] == "CQL 7.2.1"
    assert (reduction["before"]["operator"], reduction["after"]["operator"]) == ("Istream", "Rstream")


def test_a_statement_says_which_stage_it_wants(folder: Path) -> None:
    asked = "EXPLAIN REWRITES SELECT item_id FROM Bid; EXPLAIN PHYSICAL SELECT price FROM Bid;"
    shown = continua("explain", write_script(folder, BIDS + asked)).stdout
    assert "window_reduction (CQL 7.2.1)" in shown
    assert "level 0: where rows are read, without state" in shown


def test_a_rule_can_be_switched_off(folder: Path) -> None:
    off = "SET disabled_rules = 'window_reduction';"
    path = write_script(folder, BIDS + off + "SELECT item_id FROM Bid WHERE price > 5;")
    assert "window_reduction" not in continua("explain", path, "--stage", "rewrites").stdout
    path = write_script(folder, BIDS + "SET disabled_rules = 'all'; SELECT item_id FROM Bid WHERE price > 5;")
    assert "no rule changes the plan" in continua("explain", path, "--stage", "rewrites").stdout
    result = continua("explain", write_script(folder, BIDS + "SET disabled_rules = 'window_reductoin';"))
    assert result.exit_code == 1
    assert "error[UNKNOWN_RULE]: there is no rule window_reductoin" in result.stderr
    assert "window_reduction" in result.stderr


def test_a_name_like_no_rule_is_told_where_the_rules_are_listed(folder: Path) -> None:
    result = continua("explain", write_script(folder, "SET disabled_rules = 'xyz';"))
    assert "error[UNKNOWN_RULE]: there is no rule xyz" in result.stderr
    assert result.stderr.endswith("  hint: docs/language.md lists the rules, under Plans\n")


def test_the_physical_plan_says_what_bounds_the_state(folder: Path) -> None:
    text = BIDS + "SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 60] GROUP BY item_id;SELECT COUNT(*) FROM Bid [NOW];"
    path = write_script(folder, text)
    shown = continua("explain", path, "--stage", "physical").stdout
    assert "level 0: where rows are read, without state" in shown
    assert "each for at most 61 instants" in shown
    assert "no key: one partition" in shown
    assert "note: q2: Aggregate has no key: it runs on one partition" in shown
    graph = json.loads(continua("explain", path, "--stage", "physical", "--json").stdout)
    operators = [o for level in graph["levels"] for o in level["operators"]]
    assert any(o["state"] and "61 instants" in o["state"] for o in operators)


def test_sharing_names_the_queries_of_each_operator(folder: Path) -> None:
    total = "SELECT item_id, n FROM (SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 60] GROUP BY item_id) v WHERE n > "
    path = write_script(folder, BIDS + f"{total} 3; {total} 5; SELECT price FROM Bid [NOW];")
    text = continua("explain", path, "--stage", "sharing").stdout
    assert any("Aggregate" in line and line.endswith(": q1, q2") for line in text.splitlines())
    assert any("Source bid" in line and line.endswith(": q1, q2, q3") for line in text.splitlines())
    shared = json.loads(continua("explain", path, "--stage", "sharing", "--json").stdout)
    assert any(o["queries"] == ["q1", "q2"] for o in shared["operators"])


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("SELECT b.price FROM Bid [RANGE 5] b, Bid [RANGE 5] c", "a join has no condition: every row meets every row"),
        ("SELECT n FROM (RSTREAM(SELECT COUNT(*) AS n FROM Bid [RANGE 5])) [RANGE 9]", "is cut into chronons"),
        ("SELECT COUNT(*) FROM Bid [RANGE 5]", "it runs on one partition"),
        ("SELECT b.price FROM Bid b, Kind k WHERE b.item_id = k.item_id", "Bid [RANGE UNBOUNDED] is joined with a rel"),
        ("SELECT DISTINCT item_id FROM Bid", "has no bound: it keeps"),
    ],
)
def test_what_an_author_should_know_is_noted(folder: Path, query: str, note: str) -> None:
    kinds = "CREATE RELATION Kind (item_id INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;"
    shown = continua("explain", write_script(folder, BIDS + kinds + query + ";"))
    assert note in shown.stdout


def test_mistakes_are_told_before_anything_is_printed(folder: Path) -> None:
    result = continua("explain", write_script(folder, BIDS + "SELECT price FROM Bid;\nSELECT x FROM Bid;"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "script.sql:3:8" in result.stderr


def test_the_dialect_sets_the_defaults(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT price FROM Bid;")
    assert "  query     SELECT RSTREAM(price) FROM Bid [NOW]" in lines(continua("explain", path, "--dialect", "pipes"))
