"""A few hundred inputs of the fuzzer, and the fuzzer itself."""

from __future__ import annotations

import os

import pytest

from continua.errors import Diagnostic, Span
from continua.lang.parse import Script
from tests.fuzz_parser import GENERATORS, LONGEST, Slow, check, make_input, shrink, time_limit, unclean
from tests.lang.corpus import CORPUS

SEED = int(os.environ.get("CONTINUA_FUZZ_SEED", "2024"))
INPUTS = int(os.environ.get("CONTINUA_FUZZ_INPUTS", "100"))


@pytest.mark.parametrize("kind", GENERATORS)
def test_whatever_the_text_it_is_read_or_refused(kind: str) -> None:
    for number in range(INPUTS):
        text = make_input(SEED, number, kind)
        found = check(text)
        if found is not None:
            pytest.fail(f"{found.what} ({found.detail})\nseed {SEED}, number {number}: {shrink(text, found)!r}")


@pytest.mark.parametrize("text", CORPUS)
def test_every_valid_statement_survives_the_round_trip(text: str) -> None:
    found = check(text)
    assert found is None, found


KNOWN = (
    "SELECT 1e3.",
    "SELECT 2E * 3",
    "SELECT $BY",
    "SELECT INTERVAL 1e3",
    "SELECT * MINUS FROM T",
    "SELECT a FROM VALUES (1) AS , v(a)",
    "SELECT a FROM T, RELATION(R, ?)",
    "SELECT INTERVAL 99999999999999 DAYS",
    "SELECT (a, b) IN ()",
    "SELECT a FROM S JOIN T [RANGE 5] -- a comment",
    "SELECT LATERAL FROM S [NOW]",
    "REGISTER QUERY q AS SELECT 1 INTO ('out.csv')",
    "SELECT STREAMED NATURAL JOIN T",
    "FROM R LATERAL T",
    "FROM .ℜ_clockStr",
    "SELECT INTO IS",
    "SELECT FETCH FULL",
    "SELECT 2 .* - 4",
    "SELECT ~ * FROM VALUES ()",
    "SELECT () | {'!'",
    "(SELECT 1) a LATERAL V",
    "SELECT a FROM T WHERE () IN (SELECT 1)",
    "SELECT a FROM T WHERE c = ANY (RSTREAM)",
    "SELECT a FROM S [RANGE 5 -- minutes\n]",
    "SELECT " + " + ".join(["1"] * 300),
    "SELECT a FROM T WHERE " + " AND ".join(["a = 1"] * 300),
    " UNION ".join(["SELECT a FROM T"] * 200),
    "SELECT * FROM (" * 60 + "SELECT a FROM T" + ") x" * 60,
)


@pytest.mark.parametrize("text", KNOWN, ids=lambda text: text[:40])
def test_what_fuzzing_has_found_stays_found(text: str) -> None:
    found = check(text)
    assert found is None, found


def test_inputs_depend_on_the_seed_and_their_number_alone() -> None:
    again = [make_input(7, number) for number in range(50)]
    assert again == [make_input(7, number) for number in range(50)]
    assert again != [make_input(8, number) for number in range(50)]
    assert max(map(len, again)) <= LONGEST


def test_a_slow_input_is_stopped() -> None:
    with pytest.raises(Slow), time_limit(0.05):
        while True:
            pass


@pytest.mark.parametrize(
    "error",
    [
        Diagnostic("SYNTAX", "", Span(1, 1)),
        Diagnostic("", "something", Span(1, 1)),
        Diagnostic("SYNTAX", "something"),
        Diagnostic("SYNTAX", "something", Span(3, 1)),
        Diagnostic("SYNTAX", "something", Span(1, 9)),
        Diagnostic("SYNTAX", "'NoneType' object has no attribute 'name'", Span(1, 1)),
    ],
)
def test_a_diagnostic_without_words_or_place_is_a_violation(error: Diagnostic) -> None:
    assert unclean(Script("SELECT\n1", (), (error,))) is not None
