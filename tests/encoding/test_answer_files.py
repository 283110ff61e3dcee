"""Files of answers that are written part by part."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

from continua.algebra.base import Kind
from continua.answers.plain_answers import plain_answers
from continua.instants import TimeDomain
from continua.physical.nodes import END, START, WEIGHT
from continua.sinks import formats
from continua.sinks.formats import COMPRESSIONS, AnswerFile


def _results(*starts: int) -> pa.Table:
    weights = [-1 if start % 2 else 1 for start in starts]
    columns = {"c0": pa.array([f"k{start}" for start in starts], pa.string()), "c1": pa.array(starts, pa.int64())}
    times = {START: starts, END: [9] * len(starts), WEIGHT: weights}
    times = {name: pa.array(values, pa.int64()) for name, values in times.items()}
    return pa.table({**columns, **times})


def _answers(*starts: int, coded: bool = False) -> pa.Table:
    return plain_answers(_results(*starts), Kind.RELATION, TimeDomain.TICKS, ["k", "v"], coded)


def _read(path: Path, form: str) -> pa.Table:
    match form:
        case "parquet":
            return pq.read_table(path)
        case "orc":
            return pyarrow.orc.read_table(path)
        case "csv":
            return pyarrow.csv.read_csv(path)
        case _:
            return pyarrow.json.read_json(path)


@pytest.mark.parametrize("at_once", [1, 3, 1 << 17])
@pytest.mark.parametrize("form", COMPRESSIONS)
def test_parts_are_one_file_whatever_is_written_at_once(
    form: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "_AT_ONCE", at_once)
    path = tmp_path / f"answers.{form}"
    file = AnswerFile(path, form, None)
    for starts in ((1, 2), (), (3,), (4, 5, 6)):
        file.add(_answers(*starts, coded=form in formats.CODED))
    file.close()
    assert _read(path, form).to_pylist() == _answers(1, 2, 3, 4, 5, 6).to_pylist()


def test_operations_are_texts_to_readers_of_parquet(tmp_path: Path) -> None:
    nested = _answers(1, 2, coded=True).append_column("many", pa.array([[1], [2, 3]]))
    lasting = _answers(1, 2, coded=True).append_column("long", pa.array([1, 2], pa.duration("us")))
    for answers in (_answers(1, 2, coded=True), nested, lasting):
        formats.write_format(tmp_path / "a.parquet", answers, "parquet", None)
        read = pq.read_table(tmp_path / "a.parquet")
        assert read.schema.field("op").type == pa.string()
        assert read.column("op").to_pylist() == ["-", "+"]
        assert [t for t in read.schema.types if not pa.types.is_string(t)] == [
            t for t in answers.schema.types if not (pa.types.is_string(t) or pa.types.is_dictionary(t))
        ]


def test_numbers_take_less_room_by_their_differences(tmp_path: Path) -> None:
    count = 10_000
    answers = pa.table({"t": pa.array(range(count), pa.timestamp("us", "UTC")), "n": [7 * n for n in range(count)]})
    formats.write_format(tmp_path / "a.parquet", answers, "parquet", None)
    assert pq.read_table(tmp_path / "a.parquet").equals(answers)
    group = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0)
    assert all("DELTA_BINARY_PACKED" in group.column(n).encodings for n in range(2))
    assert (tmp_path / "a.parquet").stat().st_size < count


def test_a_file_that_is_given_up_leaves_nothing_open(tmp_path: Path) -> None:
    for form in COMPRESSIONS:
        file = AnswerFile(tmp_path / f"a.{form}", form, None)
        file.add(_answers(1))
        file.abandon()
        file.abandon()
