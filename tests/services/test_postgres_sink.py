"""Tables of PostgreSQL as sinks: the content by key, or all answers, each epoch once."""

from __future__ import annotations

import random
import signal
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from continua.sinks.postgres_sink import PostgresSink
from tests.cli.following import Followed
from tests.cli.helpers import continua
from tests.services.postgres_database import PostgresDatabase
from tests.services.test_kafka_sink import EACH, FILE, ROWS, SUMS, TOP, in_files, query, wait_for_epochs, wanted

Database = PostgresDatabase


@pytest.fixture(autouse=True)
def url(postgres: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scripts find the database."""
    monkeypatch.setenv("PG", postgres.url)


def fresh() -> str:
    """A name for a table."""
    return f"t{uuid.uuid4().hex[:12]}"


def into(table: str, **options: str) -> str:
    given = {"url": "secret('PG')", "create": "true"} | options
    return f" INTO postgres('{table}', {', '.join(f'{name} => {value}' for name, value in given.items())})"


def content(postgres: Database, table: str, columns: str = "item, s, n") -> Counter[tuple[object, ...]]:
    return Counter(postgres.execute(f"SELECT {columns} FROM {table}"))


def left(answered: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    """What changes leave."""
    found: Counter[tuple[object, ...]] = Counter()
    for answer in answered:
        found[tuple(answer["row"].values())] += 1 if answer["op"] == "+" else -1
    return +found


@pytest.mark.parametrize("size", ["1", "7", "1000"])
def test_a_table_holds_the_content_by_its_key(postgres: Database, tmp_path: Path, size: str) -> None:
    table, text = fresh(), SUMS.replace("RANGE 3", "RANGE UNBOUNDED")
    sink = into(table, key="item")
    ended = continua(
        "run", in_files(tmp_path, query(text, sink)), "--batch-rows", size, "--checkpoint", str(tmp_path / "c")
    )
    assert ended.exit_code == 0, ended.stderr
    assert content(postgres, table) == left(wanted(tmp_path, text))


def test_what_is_gone_is_deleted(postgres: Database, tmp_path: Path) -> None:
    table = fresh()
    options = ["--batch-rows", "10", "--checkpoint", str(tmp_path / "c")]
    assert continua("run", in_files(tmp_path, query(SUMS, into(table, key="item"))), *options).exit_code == 0
    assert content(postgres, table) == left(wanted(tmp_path, SUMS)) == Counter()


def test_null_is_a_key_like_any_other(postgres: Database, tmp_path: Path) -> None:
    table = fresh()
    text = SUMS.replace("item,", "NULLIF(item, 1) AS item,").replace("GROUP BY item", "GROUP BY NULLIF(item, 1)")
    text = text.replace("RANGE 3", "RANGE UNBOUNDED")
    options = ["--batch-rows", "10", "--checkpoint", str(tmp_path / "c")]
    ended = continua("run", in_files(tmp_path, query(text, into(table, key="item"))), *options)
    assert ended.exit_code == 0, ended.stderr
    assert content(postgres, table) == left(wanted(tmp_path, text))


@pytest.mark.parametrize("text", [SUMS, EACH])
def test_without_a_key_all_answers_are_rows(postgres: Database, tmp_path: Path, text: str) -> None:
    table = fresh()
    ended = continua("run", in_files(tmp_path, query(text, into(table))))
    assert ended.exit_code == 0, ended.stderr
    answered = wanted(tmp_path, text)
    columns = ", ".join(answered[0]["row"])
    op = "" if "op" not in answered[0] else "op, "
    found = content(postgres, table, f"t, {op}{columns}")
    assert found == Counter((a["t"], *([a["op"]] if op else []), *a["row"].values()) for a in answered)
    assert postgres.execute(f"SELECT MIN(epoch) FROM {table}") == [(1,)]


def test_a_tagged_answer_has_a_table_by_its_key(postgres: Database, tmp_path: Path) -> None:
    table, text = fresh(), TOP.replace("RANGE 3", "RANGE UNBOUNDED")
    ended = continua("run", in_files(tmp_path, query(text, into(table, key="item"))))
    assert ended.exit_code == 0, ended.stderr
    tops = {item: max(price for i, price, _ in ROWS if i == item) for item in range(3)}
    assert content(postgres, table, "item, top") == Counter(tops.items())


def test_values_come_as_they_are(postgres: Database, tmp_path: Path) -> None:
    table = fresh()
    (tmp_path / "v.jsonl").write_text(
        '{"a": true, "b": -0.1, "c": "1.50", "d": "", "e": "AAH/", "f": "2026-05-01",'
        ' "g": "2026-05-01T10:00:00.5Z", "ts": 1}\n'
        '{"d": " \\\\. \\"q\\"\\n,", "ts": 2}\n'
    )
    (tmp_path / "s.sql").write_text(
        "CREATE STREAM V (a BOOLEAN, b DOUBLE, c DECIMAL(5, 2), d STRING, e BINARY, f DATE, g TIMESTAMP, ts BIGINT)"
        " SOURCE jsonl('v.jsonl') ORDERED BY ts;\n"
        f"REGISTER QUERY q AS SELECT ISTREAM a, b, c, d, e, f, g FROM V [NOW]{into(table)};\n"
    )
    ended = continua("run", str(tmp_path / "s.sql"))
    assert ended.exit_code == 0, ended.stderr
    shown = "a, b, c::text, d, e, f::text, (g AT TIME ZONE 'UTC')::text"
    assert postgres.execute(f"SELECT {shown} FROM {table} ORDER BY t") == [
        (True, -0.1, "1.50", "", b"AAH/", "2026-05-01", "2026-05-01 10:00:00.5"),
        (None, None, None, ' \\. "q"\n,', None, None, None),
    ]


@pytest.mark.parametrize(
    ("made", "options", "condition"),
    [
        ("", {"create": "false"}, "TABLE_NOT_FOUND"),
        ("item INT, n BIGINT", {"key": "item"}, "MISSING_COLUMN"),
        ("item TEXT, s BIGINT, n BIGINT", {"key": "item"}, "TYPE_MISMATCH"),
        ("", {"key": "n"}, "NOT_A_KEY"),
        ("", {"keys": "item"}, "UNKNOWN_OPTION"),
        ("", {"url": "7"}, "BAD_OPTION"),
        ("", {"url": "secret('NO_SUCH_SECRET')"}, "UNKNOWN_SECRET"),
        ("", {"url": "'postgresql://127.0.0.1:1/x'", "timeout": "1"}, "POSTGRES_UNREACHABLE"),
    ],
)
def test_what_does_not_fit_is_told_before_the_run(
    postgres: Database, tmp_path: Path, made: str, options: dict[str, str], condition: str
) -> None:
    table = fresh()
    if made:
        postgres.execute(f"CREATE TABLE {table} ({made})")
    ended = continua("run", in_files(tmp_path, query(SUMS, into(table, **options))))
    assert ended.exit_code != 0
    assert condition in ended.stderr


def test_a_table_with_rows_is_refused_unless_it_may_have_some(postgres: Database, tmp_path: Path) -> None:
    table = fresh()
    path = in_files(tmp_path, query(EACH, into(table)))
    assert continua("run", path).exit_code == 0
    assert "SINK_NOT_EMPTY" in continua("run", path).stderr
    assert continua("run", in_files(tmp_path, query(EACH, into(table, append="true")))).exit_code == 0
    assert len(postgres.execute(f"SELECT 1 FROM {table}")) == 2 * len(ROWS)


def test_a_transaction_of_which_nobody_knows_what_became_of_it_is_made_once(
    postgres: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, patiently = fresh(), PostgresSink.patiently

    def twice(sink: PostgresSink, work: Callable[[Any], object]) -> object:
        # as if it had not been heard that the first one was committed
        patiently(sink, work)
        return patiently(sink, work)

    monkeypatch.setattr(PostgresSink, "patiently", twice)
    options = ["--batch-rows", "20", "--checkpoint", str(tmp_path / "c")]
    assert continua("run", in_files(tmp_path, query(EACH, into(table))), *options).exit_code == 0
    assert content(postgres, table, "item, price") == Counter((item, price) for item, price, _ in ROWS)


def test_a_run_that_is_killed_again_and_again_writes_every_epoch_once(postgres: Database, tmp_path: Path) -> None:
    chance, table, log = random.Random(3), fresh(), fresh()
    text, rows = SUMS.replace("RANGE 3", "RANGE UNBOUNDED"), [(n % 3, n, n // 2) for n in range(200)]
    lines = "".join(f'{{"item": {i}, "price": {p}, "ts": {t}}}\n' for i, p, t in rows).splitlines(keepends=True)
    script = query(text, into(table, key="item")) + query(EACH, into(log)).replace("QUERY q", "QUERY r")
    path = in_files(tmp_path, script, [])
    assert FILE in Path(path).read_text()
    arguments = [path, "--follow", "--trigger", "10ms", "--checkpoint", "c", "--max-rows-per-epoch", "4"]
    for first in range(0, len(lines), 50):
        with (tmp_path / "bids.jsonl").open("a") as file:
            file.writelines(lines[first : first + 50])
        run = Followed(tmp_path, *arguments)
        wait_for_epochs(run, tmp_path / "c", chance.randrange(1, 5))
        if first == 50:
            postgres.stop(signal.SIGQUIT)
            postgres.start()
        wait_for_epochs(run, tmp_path / "c", chance.randrange(1, 5))
        assert run.end(signal.SIGKILL) == -9
    last = rows[-1][2]
    ended = Followed(tmp_path, *arguments, "--until", str(last - 1))
    assert ended.end() == 0, ended.told
    closed = [row for row in rows if row[2] < last]
    assert content(postgres, log, "item, price") == Counter((item, price) for item, price, _ in closed)
    sums = Counter[int]()
    for item, price, _ in closed:
        sums[item] += price
    assert {item: s for item, s, _ in content(postgres, table)} == dict(sums)
