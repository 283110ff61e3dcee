"""Plans and windows as pictures: in a terminal, as SVG, for Graphviz."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from continua.answers.query import Query
from continua.explain.pictures.drawn_window import DrawnWindow, windows_of
from continua.explain.pictures.window_sample import COLUMNS, SILENT
from continua.session import Session
from tests.cli.helpers import BIDS, TIMED, continua, lines, write_script
from tests.test_docs import blocks, windows_of_the_language_page

TWO_QUERIES = (
    BIDS
    + "REGISTER QUERY dear AS SELECT item_id, MAX(price) AS top FROM Bid [RANGE 5] GROUP BY item_id;\n"
    + "REGISTER QUERY many AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 5] GROUP BY item_id;\n"
)
SVG = "{http://www.w3.org/2000/svg}"


def windows_of_script(path: str) -> list[dict[str, Any]]:
    """The windows of a script's one query, as JSON."""
    (shown,) = json.loads(continua("explain", path, "--stage", "windows", "--json").stdout)
    found: list[dict[str, Any]] = shown["windows"]
    return found


def texts(picture: str) -> list[str]:
    """All texts of an SVG document."""
    return ["".join(e.itertext()) for e in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def shapes(picture: str, tag: str, kind: str) -> int:
    """How many shapes of a kind a document has."""
    return sum(e.get("class") == kind for e in ElementTree.fromstring(picture).iter(f"{SVG}{tag}"))


def test_a_window_is_drawn_over_the_time_line(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT COUNT(*) AS n FROM Bid [RANGE 12];")
    (documented,) = (block for block in blocks("docs/command-line.md", "") if "[RANGE 12]" in block)
    assert lines(continua("explain", path, "--stage", "windows"))[:5] == documented.splitlines()
    (window,) = windows_of_script(path)
    held = {content["at"]: sum(content["shares"]) for content in window["contents"]}
    assert (window["step"], held[0], held[6], held[13]) == (2, 1, 4, 6)


def test_elements_leave_a_window_when_its_definition_says(folder: Path) -> None:
    path = write_script(folder, BIDS + "SELECT COUNT(*) AS n FROM Bid [PARTITION BY item_id ROWS 2];")
    (window,) = windows_of_script(path)
    assert window["parts"] == 2
    held = {
        content["at"]: [column for column, share in enumerate(content["shares"]) if share]
        for content in window["contents"]
    }
    assert held[7] == [4, 5, 6, 7]
    assert held[22] == [11, 13, 14, 22]  # two of either key: what was there before the silence, and the first behind it
    assert held[25] == [22, 23, 24, 25]


def test_windows_as_svg_have_a_row_for_each_content(folder: Path) -> None:
    path = write_script(folder, TIMED + "SELECT COUNT(*) AS n FROM Seen [RANGE 1 HOUR SLIDE 10 MINUTES];")
    drawn = continua("explain", path, "--stage", "windows", "--format", "svg").stdout
    (window,) = windows_of_script(path)
    assert {content["at"] for content in window["contents"]} < set(texts(drawn))
    assert "q1: [RANGE 1 HOUR SLIDE 10 MINUTES]" in texts(drawn)
    held = sum(share > 0 for content in window["contents"] for share in content["shares"])
    assert shapes(drawn, "rect", "in") == held + COLUMNS - len(SILENT)


@pytest.mark.parametrize("window", windows_of_the_language_page())
def test_every_window_of_the_language_has_a_picture(window: str) -> None:
    session = Session(master="none")
    session.execute(BIDS + "CREATE STREAM S (a INT, b INT, ts TIMESTAMP) ORDERED BY ts;")
    (outcome,) = session.execute(f"SELECT COUNT(*) AS n FROM S {window};")
    query = outcome.query
    assert isinstance(query, Query)
    drawn = [DrawnWindow.of(node, query, "q") for node in windows_of(query.bound.plan)]
    assert drawn
    for picture in drawn:
        assert any(any(content.shares) for content in picture.sample.contents), picture.text
        assert all(len(line) < 120 for line in picture.text.splitlines())


def test_a_plan_as_svg_has_a_lane_for_each_level_and_a_box_for_each_operator(folder: Path) -> None:
    path = write_script(folder, TWO_QUERIES)
    levels = json.loads(continua("explain", path, "--stage", "physical", "--json").stdout)["levels"]
    drawn = continua("explain", path, "--stage", "physical", "--format", "svg").stdout
    assert shapes(drawn, "rect", "lane") == len(levels) > 1
    assert shapes(drawn, "rect", "box") == sum(len(level["operators"]) for level in levels)
    assert shapes(drawn, "path", "arrow") == sum(len(o["inputs"]) for level in levels for o in level["operators"])
    assert any("rows come" in text for text in texts(drawn))
    assert any("state:" in text for text in texts(drawn))


def test_what_queries_share_stands_out(folder: Path) -> None:
    path = write_script(folder, TWO_QUERIES)
    drawn = continua("explain", path, "--stage", "sharing", "--format", "svg").stdout
    assert shapes(drawn, "rect", "shared") >= 2
    assert "for dear, many" in texts(drawn)
    alone = continua("explain", path, "--stage", "physical", "--format", "svg").stdout
    assert shapes(alone, "rect", "shared") == 0


def test_the_text_for_graphviz_names_every_end_of_its_arrows(folder: Path) -> None:
    path = write_script(folder, TWO_QUERIES + "SELECT item_id FROM Bid WHERE price > 5 AND item_id <> 7;")
    text = continua("explain", path, "--stage", "physical", "--format", "dot").stdout
    assert text.startswith("digraph plan {\n")
    assert text.count("{") == text.count("}")
    boxes = set(re.findall(r"^    (n\d+) \[label=\"(?:[^\"\\]|\\.)*\"", text, re.MULTILINE))
    ends = {end for arrow in re.findall(r"^  (n\d+) -> (n\d+)", text, re.MULTILINE) for end in arrow}
    assert ends
    assert ends <= boxes


def test_a_script_without_queries_has_empty_pictures(folder: Path) -> None:
    for form in ("svg", "dot"):
        result = continua("explain", write_script(folder, BIDS), "--stage", "physical", "--format", form)
        assert result.exit_code == 0
        assert "has no query" in result.stderr


def test_only_what_has_a_picture_is_drawn(folder: Path) -> None:
    path = write_script(folder, TWO_QUERIES)
    result = continua("explain", path, "--stage", "rewrites", "--format", "svg")
    assert result.exit_code == 2
    assert "--format svg is of physical, sharing and windows, not of rewrites" in result.stderr


def test_every_query_is_told_in_its_own_time(folder: Path) -> None:
    path = write_script(
        folder,
        BIDS
        + TIMED
        + "SELECT MAX(price) AS top FROM Bid [RANGE 12];\n"
        + "SELECT MAX(item_id) AS top FROM Seen [RANGE 5 MINUTES];\n",
    )
    for form in ("text", "svg"):
        windows = continua("explain", path, "--stage", "windows", "--format", form).stdout
        assert "1970-01-01T00:05:00Z" in windows
        assert "a column is 2 ticks" in windows
    plan = continua("explain", path, "--stage", "physical").stdout
    assert "each for at most 13 instants" in plan
    assert "each for at most 5 minutes 1 microsecond" in plan
