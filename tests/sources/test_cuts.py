"""Text files read by splits, against reading them row by row, wherever they are cut."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.errors import SourceError
from continua.sources.source_spec import Malformed, SourceRow, SourceSpec
from continua.types import INT, STRING
from tests.sources.by_rows import read_csv
from tests.sources.reading import read_cut
from tests.sources.texts import random_csv

Shown = tuple[list[tuple[int, str]], list[tuple[int, str, str]]]


def shown(rows: list[SourceRow], wrong: list[Malformed]) -> Shown:
    """Rows by how they are written, so that only the same value is equal."""
    rejects = [m.reject() for m in wrong]
    reasons = [("not CSV" if r.reason.startswith("not CSV") else r.reason) for r in rejects]
    found = [(r.line, r.text, reason) for r, reason in zip(rejects, reasons, strict=True)]
    return [(r.line, repr(r.values)) for r in rows], found


def oracle(spec: SourceSpec, path: Path) -> Shown | None:
    """What reading row by row gives; None where the file has no such columns."""
    try:
        return shown(*read_csv(spec, path))
    except SourceError:
        return None


@pytest.mark.parametrize("seed", range(60))
def test_csv_files_cut_at_every_byte_give_the_rows_of_the_whole(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    spec, data = random_csv(rng)
    path = tmp_path / "s.csv"
    path.write_bytes(data)
    expected = oracle(spec, path)
    places = list(range(1, len(data)))
    several = sorted(rng.sample(places, min(5, len(places))))
    for cuts in ([], several, *([place] for place in places)):
        try:
            rows, wrong, _ = read_cut(spec, path, cuts)
        except SourceError:
            assert expected is None
            continue
        assert shown(rows, wrong) == expected, (cuts, data)


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
