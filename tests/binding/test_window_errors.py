"""What is wrong with a window: its bounds, its units, and what it stands after."""

from __future__ import annotations

import pytest

from tests.binding.scripts import expect, mistake, place

MISTAKES = [
    ("SELECT a FROM T [NOW]", "WINDOW_OVER_RELATION", {"relation": "T"}, (1, 17), "RSTREAM"),
    ("SELECT a FROM R x [RANGE 5]", "WINDOW_OVER_RELATION", {}, (1, 19), None),
    ("SELECT a\nFROM V [ROWS 5]", "WINDOW_OVER_RELATION", {"relation": "V"}, (2, 8), None),
    ("SELECT * FROM Bid [RANGE 5 fortnights]", "BAD_UNIT", {}, (1, 28), "MINUTE"),
    ("SELECT * FROM Bid [RANGE 5 minits]", "BAD_UNIT", {}, (1, 28), "did you mean MINUTE"),
    ("SELECT * FROM Bid [RANGE 5 MONTHS]", "BAD_UNIT", {}, (1, 28), "use days"),
    ("SELECT * FROM Bid [RANGE 5 s SLIDE 1 parsec]", "BAD_UNIT", {}, (1, 38), None),
    ("SELECT a FROM S [RANGE -5]", "NEGATIVE_RANGE", {"what": "RANGE", "amount": -5}, (1, 24), None),
    ("SELECT a FROM S [ROWS -5]", "NEGATIVE_RANGE", {"what": "ROWS", "amount": -5}, (1, 23), None),
    ("SELECT a FROM S [ROWS 0]", "NOT_POSITIVE", {"what": "ROWS", "amount": 0}, (1, 23), None),
    ("SELECT a FROM S [RANGE 5 SLIDE 0]", "NOT_POSITIVE", {"what": "SLIDE", "amount": 0}, (1, 32), None),
    ("SELECT a FROM S [ROWS 5 SLIDE 0 ROWS]", "NOT_POSITIVE", {"what": "SLIDE", "amount": 0}, (1, 31), None),
    ("SELECT a FROM S [FIXED 0]", "NOT_POSITIVE", {"what": "FIXED", "amount": 0}, (1, 24), None),
    ("SELECT a FROM S WINDOW(RANGE 0)", "NOT_POSITIVE", {"what": "RANGE", "amount": 0}, (1, 30), "[RANGE 0]"),
    ("SELECT a FROM S [RANGE 5 SECONDS]", "UNIT_OF_TICKS", {"unit": "SECOND"}, (1, 17), "write 5"),
    ("SELECT a FROM S [RANGE 5 SLIDE 1 MINUTE]", "UNIT_OF_TICKS", {"unit": "MINUTE"}, (1, 17), None),
    ("SELECT a FROM S [FROM j SECONDS TO j EVERY 1]", "UNIT_OF_TICKS", {"unit": "SECOND"}, (1, 23), None),
    ("SELECT a FROM S [PARTITION BY zz ROWS 2]", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 31), "there are a"),
    ("SELECT a FROM S [LANDMARK 'x']", "BAD_INSTANT", {"value": "x"}, (1, 17), None),
    ("SELECT * FROM Bid [LANDMARK 5]", "BAD_INSTANT", {"value": "5"}, (1, 19), None),
    ("SELECT a FROM S [FROM j TO j*j EVERY 1]", "WINDOW_BOUNDS", {}, (1, 28), "LANGUAGE PYTHON"),
    ("SELECT a FROM S [FROM j + 5 TO j EVERY 1]", "WINDOW_BEGINS_AFTER_END", {}, (1, 17), None),
    ("SELECT a FROM S [FROM -5 TO j EVERY 1]", "WINDOW_BEGINS_TOO_EARLY", {"start": 0}, (1, 17), None),
    ("SELECT a FROM S [FROM j TO 2*j EVERY 1]", "WINDOW_END_NOT_ACCESSIBLE", {"rate": 1}, (1, 17), None),
    ("SELECT a FROM S [FROM j ROWS TO j SECONDS EVERY 1]", "WINDOW_BOUNDS", {}, (1, 33), None),
    ("SELECT a FROM S [lastfive]", "UNKNOWN_WINDOW", {"window": "lastfive"}, (1, 18), None),
    ("SELECT a FROM S [LANDMARKS]", "UNKNOWN_WINDOW", {"window": "LANDMARKS"}, (1, 18), "did you mean LANDMARK"),
    ("SELECT x.a FROM (SELECT a FROM S [ROWS 5]) [ROWS 2] x", "NON_MONOTONIC_WINDOW", {}, (1, 44), "RSTREAM(...)"),
    ("WITH x AS (SELECT a FROM S [ROWS 5])\nSELECT a FROM x [ROWS 2]", "NON_MONOTONIC_WINDOW", {}, (2, 17), None),
    ("CREATE STREAM X AS SELECT a FROM S [ROWS 5]", "NON_MONOTONIC_WINDOW", {}, (1, 27), "write ISTREAM"),
]


@pytest.mark.parametrize(("text", "condition", "parameters", "where", "hint"), MISTAKES)
def test_a_window_that_makes_no_sense(
    text: str, condition: str, parameters: dict[str, object], where: tuple[int, int], hint: str | None
) -> None:
    assert (hint or "") in (expect(text, condition, parameters, where).hint or "")


def test_a_bad_unit_is_named_as_it_is_written() -> None:
    assert mistake("SELECT * FROM Bid [RANGE 5 fortnights]").parameters["unit"] == "fortnights"


@pytest.mark.parametrize(
    ("window", "condition", "meant"),
    [
        ("RANGE 5 SAMPEL 10 PERCENT", "BAD_UNIT", "SAMPLE"),
        ("ROWS 5 SAMPEL 10 PERCENT", "SYNTAX", "SAMPLE"),
        ("NOW SAMPEL 10 PERCENT", "SYNTAX", "SAMPLE"),
        ("RANGE 5 SLIED 2", "BAD_UNIT", "SLIDE"),
        ("RANGE 5 TICKS SLIED 2", "SYNTAX", "SLIDE"),
        ("RANGE 5 FUL", "BAD_UNIT", "FULL"),
        ("RANGE 5 MINUETS", "BAD_UNIT", "MINUTES"),
    ],
)
def test_a_misspelt_word_in_a_window_is_told_with_the_one_that_was_meant(
    window: str, condition: str, meant: str
) -> None:
    found = mistake(f"SELECT a FROM S [{window}]")
    assert found.condition == condition
    assert meant in (found.hint or "")


def test_which_stream_is_meant_has_three_answers() -> None:
    found = mistake("SELECT x.a FROM (SELECT a FROM S [ROWS 5]) [ROWS 2] x")
    assert found.parameters["operators"] == ["ISTREAM", "DSTREAM", "RSTREAM"]


def test_a_named_window_is_found_by_a_name_like_it() -> None:
    found = mistake("CREATE WINDOW last_five AS [ROWS 5];\nSELECT a FROM S [last_fiv]")
    assert (found.condition, place(found)) == ("UNKNOWN_WINDOW", (2, 18))
    assert found.hint is not None and "last_five" in found.hint


def test_a_named_window_takes_its_parameters() -> None:
    found = mistake("CREATE WINDOW w AS [ROWS 5];\nSELECT a FROM S [w(3)]")
    assert (found.condition, found.parameters["given"], place(found)) == ("ARGUMENT_COUNT", 1, (2, 17))


def test_a_named_window_is_told_where_it_is_used() -> None:
    found = mistake("CREATE WINDOW w AS [RANGE 5 MINUTES];\nSELECT a FROM S [w]")
    assert (found.condition, place(found)) == ("UNIT_OF_TICKS", (2, 17))


@pytest.mark.parametrize("dialect", ["cql", "pipes", "sync"])
def test_units_and_bounds_are_the_same_mistakes_in_every_dialect(dialect: str) -> None:
    for text, condition, _, where, _ in MISTAKES[3:25]:
        found = mistake(text, dialect)
        assert (found.condition, place(found)) == (condition, where)
