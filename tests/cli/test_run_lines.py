"""The contract of JSON lines, line by line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.helpers import BIDS, ROOMS, TIMED, continua, lines, write_script


def answers(folder: Path, script: str, *options: str) -> list[str]:
    return lines(continua("run", write_script(folder, script), *options))


def test_a_stream_has_t_and_row(folder: Path) -> None:
    assert answers(folder, BIDS + "SELECT ISTREAM(item_id) FROM Bid [NOW] WHERE price < 30;") == [
        '{"query": "q1", "t": 1, "row": {"item_id": 1}}',
        '{"query": "q1", "t": 2, "row": {"item_id": 2}}',
    ]


def test_a_relation_has_its_net_changes(folder: Path) -> None:
    assert answers(folder, BIDS + "SELECT item_id, price FROM Bid [ROWS 1];") == [
        '{"query": "q1", "t": 1, "op": "+", "row": {"item_id": 1, "price": 10.5}}',
        '{"query": "q1", "t": 2, "op": "-", "row": {"item_id": 1, "price": 10.5}}',
        '{"query": "q1", "t": 2, "op": "+", "row": {"item_id": 2, "price": 20.0}}',
        '{"query": "q1", "t": 5, "op": "-", "row": {"item_id": 2, "price": 20.0}}',
        '{"query": "q1", "t": 5, "op": "+", "row": {"item_id": 1, "price": 30.0}}',
    ]


def test_a_tagged_stream_has_updates_and_deletes_by_key(folder: Path) -> None:
    assert answers(folder, ROOMS + "SELECT STREAMED id, degrees FROM Room;") == [
        '{"query": "q1", "t": 1, "op": "+", "row": {"id": "r1", "degrees": 20}}',
        '{"query": "q1", "t": 2, "op": "+", "row": {"id": "r2", "degrees": 30}}',
        '{"query": "q1", "t": 3, "op": "u", "row": {"id": "r1", "degrees": 25}}',
        '{"query": "q1", "t": 4, "op": "-", "row": {"id": "r2"}}',
    ]


def test_an_element_of_more_than_one_instant_has_its_end(folder: Path) -> None:
    assert answers(folder, BIDS + "SELECT RSTREAM(item_id) FROM Bid [RANGE 2] WHERE price < 20;") == [
        '{"query": "q1", "t": 1, "until": 4, "row": {"item_id": 1}}',
    ]


def test_an_element_that_never_ends_ends_at_null(folder: Path) -> None:
    assert answers(folder, BIDS + "SELECT RSTREAM(item_id) FROM Bid WHERE price < 20;") == [
        '{"query": "q1", "t": 1, "until": null, "row": {"item_id": 1}}',
    ]


def test_timestamps_are_iso_in_utc(folder: Path) -> None:
    assert answers(folder, TIMED + "SELECT ISTREAM(item_id, ts) FROM Seen [NOW];") == [
        '{"query": "q1", "t": "2024-05-01T10:00:00Z", "row": {"item_id": 1, "ts": "2024-05-01T10:00:00Z"}}',
        '{"query": "q1", "t": "2024-05-01T10:00:00.25Z", "row": {"item_id": 2, "ts": "2024-05-01T10:00:00.25Z"}}',
    ]


def test_ends_of_timestamped_elements_are_iso_too(folder: Path) -> None:
    script = TIMED + "SELECT RSTREAM(item_id) FROM Seen [RANGE 1 HOUR] WHERE item_id = 1;"
    assert answers(folder, script) == [
        '{"query": "q1", "t": "2024-05-01T10:00:00Z", "until": "2024-05-01T11:00:00.000001Z", "row": {"item_id": 1}}',
    ]


def test_the_content_at_an_instant_has_a_line_a_copy(folder: Path) -> None:
    script = BIDS + "SELECT 'bid' AS what FROM Bid [RANGE UNBOUNDED];"
    assert answers(folder, script, "--at", "2") == ['{"query": "q1", "at": 2, "row": {"what": "bid"}}'] * 2


def test_the_content_of_tagged_and_other_streams_is_the_relation_behind_them(folder: Path) -> None:
    script = ROOMS + BIDS + "SELECT STREAMED id FROM Room; SELECT ISTREAM(item_id) FROM Bid [ROWS 1];"
    assert answers(folder, script, "--at", "4") == [
        '{"query": "q1", "at": 4, "row": {"id": "r1"}}',
        '{"query": "q2", "at": 4, "row": {"item_id": 2}}',
    ]


def test_the_content_at_a_timestamp(folder: Path) -> None:
    script = TIMED + "SELECT item_id FROM Seen [RANGE 1 HOUR];"
    expected = ['{"query": "q1", "at": "2024-05-01T10:00:00Z", "row": {"item_id": 1}}']
    assert answers(folder, script, "--at", "2024-05-01T10:00:00Z") == expected
    assert answers(folder, script, "--at", "2024-05-01 12:00+02:00") == expected


def test_the_content_is_that_of_the_chronon_of_the_instant(folder: Path) -> None:
    script = "SET chronon = '1 minute';\n" + TIMED + "SELECT item_id FROM Seen [NOW] WHERE item_id = 1;"
    expected = ['{"query": "q1", "at": "2024-05-01T10:00:00Z", "row": {"item_id": 1}}']
    assert answers(folder, script, "--at", "2024-05-01T10:00:59Z") == expected


def test_nothing_is_there_before_the_first_instant(folder: Path) -> None:
    assert answers(folder, BIDS + "SELECT COUNT(*) FROM Bid;", "--at", "-1") == []


def test_queries_are_merged_by_time_and_then_in_the_order_of_the_script(folder: Path) -> None:
    script = BIDS + "SELECT ISTREAM(item_id) FROM Bid [NOW]; REGISTER QUERY p AS SELECT ISTREAM(price) FROM Bid [NOW];"
    found = [line.split('"row"')[0] for line in answers(folder, script)]
    assert found == [
        '{"query": "q1", "t": 1, ',
        '{"query": "p", "t": 1, ',
        '{"query": "q1", "t": 2, ',
        '{"query": "p", "t": 2, ',
        '{"query": "q1", "t": 5, ',
        '{"query": "p", "t": 5, ',
    ]


def test_a_dropped_query_has_no_answers(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY a AS SELECT * FROM Bid; DROP QUERY a; SELECT 1 AS one;"
    assert answers(folder, script) == ['{"query": "q1", "t": 0, "row": {"one": 1}}']


def test_an_empty_source_has_an_empty_answer(folder: Path) -> None:
    (folder / "bids.csv").write_text("", encoding="utf-8")
    assert answers(folder, BIDS + "SELECT * FROM Bid;") == []
    assert answers(folder, BIDS + "SELECT COUNT(*) AS n FROM Bid;") == [
        '{"query": "q1", "t": 0, "op": "+", "row": {"n": 0}}'
    ]


def test_the_dialect_sets_the_defaults(folder: Path) -> None:
    script = BIDS + "SELECT item_id FROM Bid WHERE price = 30;"
    assert answers(folder, script, "--dialect", "cql") == ['{"query": "q1", "t": 5, "row": {"item_id": 1}}']
    assert answers(folder, script, "--dialect", "pipes") == ['{"query": "q1", "t": 5, "row": {"item_id": 1}}']
    assert answers(folder, BIDS + "SELECT COUNT(*) AS n FROM Bid WHERE price = 30;", "--dialect", "pipes") == [
        '{"query": "q1", "t": 5, "row": {"n": 1}}'
    ]
    assert answers(folder, ROOMS + "SELECT id FROM Room WHERE degrees = 30;", "--dialect", "sync") == [
        '{"query": "q1", "t": 2, "op": "+", "row": {"id": "r2"}}',
        '{"query": "q1", "t": 4, "op": "-", "row": {"id": "r2"}}',
    ]


def test_a_script_on_standard_input_reads_from_the_current_folder() -> None:
    result = continua("run", "-", stdin=BIDS + "SELECT item_id FROM Bid WHERE price = 30;")
    assert lines(result) == ['{"query": "q1", "t": 5, "row": {"item_id": 1}}']


def test_sources_are_looked_for_beside_the_script_or_where_data_says(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "bids.csv").write_text("7,1.0,3\n", encoding="utf-8")
    script = write_script(folder / "sub", BIDS + "SELECT item_id FROM Bid;")
    assert lines(continua("run", script)) == ['{"query": "q1", "t": 3, "row": {"item_id": 7}}']
    assert len(lines(continua("run", script, "--data", str(folder)))) == 3


def test_a_script_may_insert_rows_and_ask_for_contents() -> None:
    text = (
        "CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts;\nINSERT INTO S VALUES (1, 1), (2, 2);\n"
        "REGISTER QUERY n AS SELECT COUNT(*) AS n FROM S [RANGE 1];\nSELECT n FROM n AT 2;\nSELECT a FROM S;\n"
    )
    found = lines(continua("run", write_script(Path(), text), "--master", "none"))
    assert found[0] == '{"query": "q1", "at": 2, "row": {"n": 2}}'
    assert '{"query": "q2", "t": 2, "row": {"a": 2}}' in found
    alone = lines(continua("run", write_script(Path(), "SELECT 1 AS one AT 3"), "--master", "none", "--format", "csv"))
    assert alone == ["query,at,one", "q1,3,1"]
