"""``continua checkpoint``: what is in one is told, every flaw of it is found, and copies go on like the original."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint import chapters
from continua.runtime.checkpoint.locks import lock, unlock
from continua.session import Session
from tests.cli.helpers import BIDS, continua, lines, write_script
from tests.crash.world import forget_memory

QUERY = BIDS + "REGISTER QUERY q AS SELECT item_id, COUNT(*) AS n FROM Bid [RANGE 2] GROUP BY item_id;"
STREAM = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;
REGISTER QUERY q AS SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k;
SET retention = '9 epochs';
"""


def bounded(folder: Path) -> Path:
    """The checkpoint of a run over files."""
    checkpoint = folder / "ck"
    lines(continua("run", write_script(folder, QUERY), "--batch-rows", "1", "--checkpoint", str(checkpoint)))
    return checkpoint


def live(folder: Path, rows: int = 40, first: int = 0) -> Path:
    """That of a live run."""
    forget_memory()
    session = Session(master="none")
    session.execute(STREAM)
    session.start(options=LiveOptions(checkpoint=folder, durable=False))
    for number in range(first, first + rows):
        session.insert("S", [(number % 3, number)])
        assert session.live is not None
        session.live.process()
    session.stop()
    return folder


def files_of(checkpoint: Path) -> list[Path]:
    """All that counts."""
    return sorted(p for p in checkpoint.rglob("*") if p.is_file() and p.name != "lock")


def test_it_tells_how_far_a_run_was(folder: Path) -> None:
    told = dict(line.split(maxsplit=1) for line in lines(continua("checkpoint", "show", str(bounded(folder)))))
    assert told["format"] == "5" and told["epochs"].endswith("finished")
    assert told["query"] == "q" and told["source"] == "bid: 1 files" and told["closed"] == "all instants"


@pytest.mark.parametrize(("setting", "slots"), [("", "2"), ("SET slots = 7;", "7")])
def test_it_tells_into_how_many_slots_state_is_divided(folder: Path, setting: str, slots: str) -> None:
    checkpoint = str(folder / "ck")
    for partitions in ("2", "5"):
        script = write_script(folder, setting + QUERY)
        lines(continua("run", script, "--partitions", partitions, "--checkpoint", checkpoint, "--master", "none"))
        told = dict(line.split(maxsplit=1) for line in lines(continua("checkpoint", "show", checkpoint)))
        assert told["slots"] == slots


def test_groups_of_live_queries_are_part_of_it(folder: Path) -> None:
    def session() -> Session:
        forget_memory()
        made = Session(master="none")
        made.execute(STREAM + "REGISTER QUERY other GROUP 'g h' AS SELECT k FROM S [NOW];".replace("'", "`"))
        return made

    first = session()
    first.start(options=LiveOptions(checkpoint=folder / "ck", durable=False))
    assert first.live is not None
    first.insert("S", [(1, 1), (2, 5)])
    first.live.process()
    first.insert("S", [(3, 7)])
    first.live.main.process()
    first.stop()
    told = lines(continua("checkpoint", "show", str(folder / "ck")))
    assert [line.split()[-1] for line in told if line.startswith("query ")] == ["q", "other"]
    assert any(line.endswith("g%20h, of a group") for line in told)
    assert lines(continua("checkpoint", "verify", str(folder / "ck"))) == [f"{folder / 'ck'} is whole"]
    lines(continua("checkpoint", "clean", str(folder / "ck")))
    lines(continua("checkpoint", "copy", str(folder / "ck"), str(folder / "new")))
    second = session()
    second.start(options=LiveOptions(checkpoint=folder / "new", durable=False))
    assert second.live is not None
    assert second.live.recovered == {"s": 1}
    second.live.finish()
    assert [a.row for a in second.live.answers("other") if a.op == "+"] == [(1,), (2,), (3,)]
    second.stop()


def test_it_tells_of_history(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapters, "_PERIOD", 3)
    told = dict(line.split(maxsplit=1) for line in lines(continua("checkpoint", "show", str(live(folder / "ck")))))
    assert "chapters" in told["history"] and "epoch" in told["horizon"]


@pytest.mark.parametrize("kind", [bounded, live])
def test_every_flaw_is_found(folder: Path, kind: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapters, "_PERIOD", 3)
    checkpoint = bounded(folder) if kind is bounded else live(folder / "ck")
    assert lines(continua("checkpoint", "verify", str(checkpoint))) == [f"{checkpoint} is whole"]
    for path in files_of(checkpoint):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        result = continua("checkpoint", "verify", str(checkpoint))
        assert result.exit_code == 1, path
        assert str(path) in result.stderr
        path.write_bytes(content)


def test_a_copy_is_whole_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapters, "_PERIOD", 3)
    checkpoint, copied = live(folder / "ck"), folder / "copy"
    lines(continua("checkpoint", "copy", str(checkpoint), str(copied)))
    assert lines(continua("checkpoint", "verify", str(copied))) == [f"{copied} is whole"]
    assert {str(p.relative_to(copied)) for p in files_of(copied)} <= {
        str(p.relative_to(checkpoint)) for p in files_of(checkpoint)
    }
    live(copied, 5, 40)
    result = continua("checkpoint", "copy", str(checkpoint), str(copied))
    assert result.exit_code == 1 and "NOT_EMPTY" in result.stderr


def test_what_nobody_needs_is_removed(folder: Path) -> None:
    checkpoint = bounded(folder)
    before = files_of(checkpoint)
    (checkpoint / "results" / "99-1-1-0").write_bytes(b"left by a crash")
    (checkpoint / "state" / "level-7").mkdir()
    assert lines(continua("checkpoint", "clean", str(checkpoint))) == [f"1 files removed from {checkpoint}"]
    assert files_of(checkpoint) == before


def test_one_that_is_in_use_is_left_alone(folder: Path) -> None:
    checkpoint = bounded(folder)
    lock(checkpoint)
    try:
        for command in (["clean", str(checkpoint)], ["copy", str(checkpoint), str(folder / "copy")]):
            result = continua("checkpoint", *command)
            assert result.exit_code == 1 and "CHECKPOINT_IN_USE" in result.stderr
    finally:
        unlock(checkpoint)


@pytest.mark.parametrize("command", ["show", "verify", "clean"])
def test_where_there_is_none_that_is_told(folder: Path, command: str) -> None:
    result = continua("checkpoint", command, str(folder / "nothing"))
    assert result.exit_code == 1 and "NO_CHECKPOINT" in result.stderr
