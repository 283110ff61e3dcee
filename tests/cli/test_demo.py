"""The demo shows five queries over events that come by the clock; the examples of the package can be had as files."""

from __future__ import annotations

from tests.cli.helpers import continua, lines

QUERIES = ["bids_of_a_second", "hot_items", "highest_bid", "busy_newcomers", "nearby"]


def test_one_screen_of_the_demo_shows_what_five_queries_hold() -> None:
    shown = lines(continua("demo", "--once", "--master", "none", "--rate", "400"))
    assert shown[0].startswith("NEXMark, 400 events a second")
    assert [line.split()[0] for line in shown if "changes/s" in line] == QUERIES
    sources = {line.split()[0]: int(line.split()[1].replace(",", "")) for line in shown[2:5]}
    assert sum(sources.values()) >= 1200
    assert sources["Bid"] > 10 * sources["Auction"] > 10 * sources["Person"]
    highest = shown.index(next(line for line in shown if line.startswith("bids_of_a_second"))) + 2
    assert int(shown[highest].split()[0]) > 0


def test_the_examples_of_the_package_are_written_and_run() -> None:
    assert continua("demo", "--files", "examples").exit_code == 0
    shown = lines(continua("run", "examples/auction.sql", "--master", "none"))
    row = '{"item_id": 1, "bids": 2, "highest": 150.00}'
    assert f'{{"query": "contested", "t": "2024-06-14T09:15:00Z", "op": "-", "row": {row}}}' in shown
    again = continua("demo", "--files", "examples")
    assert again.exit_code == 2
    assert "is there already" in again.stderr
