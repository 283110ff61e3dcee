"""The reader behind ``toDF``: every epoch once, whatever is stopped in between and however old results are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from continua.answers.answer_tables import empty_answers
from continua.catalog import Retention
from continua.errors import BindError, CheckpointError
from continua.runs.changes_stream import ChangesReader, RunOnDisk
from continua.runs.live_options import LiveOptions
from continua.runs.query_handle import QueryHandle
from continua.session import Session
from tests.crash.world import forget_memory
from tests.runtime.living import rows_of

DEFINITIONS = """
CREATE STREAM S (k INT, at TIMESTAMP) ORDERED BY at;
REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 3 SECONDS] GROUP BY k;
REGISTER QUERY tagged AS SELECT STREAMED k, COUNT(*) AS n, MAX(at) AS latest FROM S [RANGE 3 SECONDS] GROUP BY k;
"""


def _session(folder: Path, retention: Retention | None = None) -> Session:
    forget_memory()
    session = Session(master="none", data=folder)
    session.execute(DEFINITIONS)
    session.start(options=LiveOptions(checkpoint=folder / "checkpoint", durable=False, retention=retention))
    return session


def _push(session: Session, seconds: Iterator[int], epochs: int) -> None:
    assert session.live is not None
    for _ in range(epochs):
        second = next(seconds)
        session.insert("S", [(second % 2, f"1970-01-01T00:{second // 60:02}:{second % 60:02}")])
        session.live.process()


def _reader(session: Session, name: str) -> ChangesReader:
    assert session.live is not None
    live = session.live.main
    schema = from_arrow_schema(empty_answers(live.queries[name]).schema, prefer_timestamp_ntz=False)
    return ChangesReader(RunOnDisk(live.engine.store.address, live.queries[name], live.since(name)), schema, "UTC")


def _read(reader: ChangesReader, start: dict[str, Any]) -> tuple[Counter[str], dict[str, Any]]:
    """What Spark would read of a micro-batch, and where it would go on."""
    end = reader.latestOffset(start, None)
    batches = [b for part in reader.partitions(start, end) for b in reader.read(part)]
    return Counter(_plain(row) for b in batches for row in b.to_pylist()), end


def _plain(row: dict[str, object]) -> str:
    """A change as text, its times in UTC and without a zone."""
    return str([v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row.values()])


@pytest.mark.parametrize("name", ["counts", "tagged"])
@pytest.mark.parametrize("retention", [None, Retention(epochs=500)])
def test_every_change_is_read_once(tmp_path: Path, name: str, retention: Retention | None) -> None:
    seconds = iter(range(1, 600))
    session = _session(tmp_path, retention)
    reader = _reader(session, name)
    place = reader.initialOffset()
    found: Counter[str] = Counter()
    for epochs in (3, 40, 1):
        _push(session, seconds, epochs)
        new, place = _read(reader, place)
        found += new
    session.stop()
    session = _session(tmp_path, retention)
    _push(session, seconds, 5)
    reader = _reader(session, name)
    new, place = _read(reader, place)
    found += new
    assert _read(reader, place)[0] == Counter()
    assert session.live is not None
    assert found == Counter(map(_plain, rows_of(QueryHandle(session.live.main, name).changes())))
    session.stop()


def test_an_offset_behind_the_horizon_and_one_of_another_run(tmp_path: Path) -> None:
    seconds = iter(range(1, 600))
    session = _session(tmp_path / "one", Retention(epochs=2))
    _push(session, seconds, 2)
    reader = _reader(session, "counts")
    _, place = _read(reader, reader.initialOffset())
    _push(session, seconds, 12)
    with pytest.raises(CheckpointError) as raised:
        _read(reader, place)
    assert raised.value.condition == "BEHIND_HORIZON"
    kept, _ = _read(reader, reader.initialOffset())
    assert kept
    session.stop()
    session = _session(tmp_path / "two")
    _push(session, seconds, 2)
    with pytest.raises(CheckpointError) as raised:
        _read(_reader(session, "counts"), place)
    assert raised.value.condition == "OTHER_RUN"
    session.stop()


def test_a_frame_of_changes_needs_spark() -> None:
    session = Session(master="none")
    session.execute(DEFINITIONS)
    handle, _ = session.start()
    with pytest.raises(BindError) as needed:
        handle.toDF()
    assert needed.value.condition == "NEEDS_SPARK"
    assert isinstance(handle.changes(), pa.Table)
    session.stop()
