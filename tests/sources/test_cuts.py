"""Text files read by splits, against reading them row by row, wherever they are cut."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.errors import SourceError
from continua.sources.spec import Malformed, Reject, SourceRow, SourceSpec
from continua.types import INT, STRING
from tests.sources import by_rows
from tests.sources.reading import read_cut
from tests.sources.texts import random_csv

Shown = tuple[list[tuple[int, str]], list[tuple[int, str, str]]]


def shown(rows: list[SourceRow], wrong: list[Reject]) -> Shown:
    """Rows by how they are written, so that only the same value is equal."""
    reasons = [("not CSV" if r.reason.startswith("not CSV") else r.reason) for r in wrong]
    found = [(r.line, r.text, reason) for r, reason in zip(wrong, reasons, strict=True)]
    return [(r.line, repr(r.values)) for r in rows], found


def rejects(wrong: list[Malformed]) -> list[Reject]:
    return [m.reject() for m in wrong]


def oracle(spec: SourceSpec, folder: Path) -> Shown | None:
    """What reading row by row gives; None where the file has no such columns."""
    try:
        return shown(*by_rows.read_source(spec, folder))
    except SourceError:
        return None


@pytest.mark.parametrize("seed", range(60))
def test_csv_files_cut_at_every_byte_give_the_rows_of_the_whole(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    spec, data = random_csv(rng)
    path = tmp_path / "s.csv"
    path.write_bytes(data)
    expected = oracle(spec, tmp_path)
    places = list(range(1, len(data)))
    several = sorted(rng.sample(places, min(5, len(places))))
    for cuts in ([], several, *([place] for place in places)):
        try:
            rows, wrong, _ = read_cut(spec, path, cuts)
        except SourceError:
            assert expected is None
            continue
        assert shown(rows, rejects(wrong)) == expected, (cuts, data)


def test_a_quote_that_crosses_many_splits_is_read_in_two_rounds(tmp_path: Path) -> None:
    """The splits within it are known to lie there from what each tells of itself."""
    text = "\n".join(f'{i},"line {i}, with\nan end and quotes {"x" * 50}\n"' for i in range(60))
    path = tmp_path / "s.csv"
    path.write_text(text)
    spec = SourceSpec("csv", "s.csv", (("k", INT), ("s", STRING)), (), True, "s")
    rows, wrong, rounds = read_cut(spec, path, range(20, len(text), 37))
    assert [r.values[0] for r in rows] == list(range(60))
    assert not wrong
    assert rounds == 1
