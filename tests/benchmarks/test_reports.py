"""What benchmarks write down: sections of a page, fitted laws and plots."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.growth import KINDS, Task, in_order, serial_share, write_rows
from benchmarks.plots import fitted, plot
from benchmarks.report import PAGE, markdown, marks, section, write_section

from continua.session import Session


def test_a_section_is_written_anew_and_others_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("\n".join(["# Page", *marks("a"), "between", *marks("b"), "end", ""]), encoding="utf-8")
    write_section("a", markdown(["x", "y"], [["1", "2"]]), page)
    write_section("b", ["other"], page)
    write_section("a", markdown(["x", "y"], [["3", "4"]]), page)
    assert section("a", page) == ["| x | y |", "| --- | ---: |", "| 3 | 4 |"]
    assert section("b", page) == ["other"]
    assert page.read_text(encoding="utf-8").splitlines()[-1] == "end"
    with pytest.raises(ValueError, match="has no section c"):
        write_section("c", [], page)


@pytest.mark.parametrize("name", ["peers", "growth", "history"])
def test_the_page_has_the_sections_that_are_written(name: str) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(text.count(mark) == 1 for mark in marks(name))


def test_a_power_law_is_found_again() -> None:
    law = fitted([(10.0**power, 3 * 10.0 ** (power / 2)) for power in range(5)])
    assert law is not None
    assert (law.factor, law.exponent, law.explained) == pytest.approx((3, 0.5, 1))
    assert law.at(100) == pytest.approx(30)
    assert fitted([(1, 2)]) is None
    assert fitted([(1, 2), (10, 0)]) is None


def test_a_plot_is_a_picture_with_all_points() -> None:
    root = ElementTree.fromstring(plot("Cost & more", "keys", "s", [(1000.0, 0.5), (1e6, 0.7), (1e7, 2.0)]))
    names = [part.tag.rpartition("}")[2] for part in root]
    assert names.count("circle") == 3
    assert "Cost & more" in [part.text for part in root]


def test_the_serial_share_follows_from_two_cores() -> None:
    assert (
        serial_share([(1.0, 1.0), (2.0, 0.5)])
        == "Two cores are 2.00 times one: 0% is serial, so 64 would give 64 times at most."
    )
    assert (
        serial_share([(1.0, 1.0), (2.0, 0.6)])
        == "Two cores are 1.67 times one: 20% is serial, so 64 would give 5 times at most."
    )
    assert serial_share([(1.0, 1.0)]) is None


def test_growth_begins_with_the_small_points_of_all_kinds() -> None:
    order = [(kind.name, x) for kind, x in in_order(KINDS, 1e4)]
    assert order[: len(KINDS)] == [(kind.name, kind.points[0]) for kind in KINDS if kind.points[0] <= 1e4] + [
        ("keys", 1e4)
    ]


def test_what_grows_is_understood_and_has_its_rows(tmp_path: Path) -> None:
    for kind in KINDS:
        session = Session(master="none")
        session.sql(kind.task(kind.points[0]).script)
        session.stop()
    write_rows(tmp_path / "bid.parquet", Task([], keys=10, skew=0.5), 1_000)
    session = Session(master="none")
    session.sql(f"CREATE TABLE bid (auction BIGINT, price BIGINT, ts BIGINT) SOURCE parquet('{tmp_path}/bid.parquet')")
    session.stop()
