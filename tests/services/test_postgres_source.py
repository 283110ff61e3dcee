"""Tables of PostgreSQL as relations: what they have, and every transaction at its instant."""

from __future__ import annotations

import json
import random
import signal
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cli.following import Followed
from tests.cli.helpers import continua, lines, write_script
from tests.services.postgres_database import PostgresDatabase
from tests.services.processes import wait_until

Database = PostgresDatabase


@pytest.fixture(autouse=True)
def url(postgres: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scripts find the database."""
    monkeypatch.setenv("PG", postgres.url)


class Followable:
    """A table that can be followed, and its end."""

    def __init__(self, postgres: Database, columns: str, identity: str = "FULL") -> None:
        self.postgres = postgres
        self.name = f"t{uuid.uuid4().hex[:12]}"
        postgres.execute(f"CREATE TABLE {self.name} ({columns})")
        postgres.execute(f"ALTER TABLE {self.name} REPLICA IDENTITY {identity}")
        postgres.execute(f"CREATE PUBLICATION {self.name} FOR TABLE {self.name}")

    def source(self, **options: str) -> str:
        given = {"url": "secret('PG')", "slot": f"'{self.name}'", "publication": f"'{self.name}'"} | options
        return f"SOURCE postgres('{self.name}', {', '.join(f'{k} => {v}' for k, v in given.items())})"

    def script(self, folder: Path, columns: str, key: str = "", query: str = "SELECT * FROM R") -> str:
        text = f"CREATE RELATION R ({columns}) {self.source()} {key};\nREGISTER QUERY q AS {query};\n"
        return write_script(folder, text)

    def do(self, *statements: str) -> None:
        """Statements as one transaction."""
        with psycopg.connect(self.postgres.url) as connection:
            for statement in statements:
                connection.execute(statement.format(t=self.name).encode())

    def content(self, columns: str = "*") -> Counter[tuple[object, ...]]:
        return Counter(self.postgres.execute(f"SELECT {columns} FROM {self.name}"))

    def remove(self) -> None:
        self.postgres.execute(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots "
            f"WHERE active_pid IS NOT NULL AND slot_name LIKE '{self.name}%'"
        )
        wait_until(lambda: not self._slots("active"), "nobody uses the slot")
        self.postgres.execute(
            f"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE '{self.name}%'"
        )
        self.postgres.execute(f"DROP TABLE IF EXISTS {self.name}")
        self.postgres.execute(f"DROP PUBLICATION IF EXISTS {self.name}")

    def _slots(self, which: str) -> list[tuple[object, ...]]:
        like = f"slot_name LIKE '{self.name}%'"
        return self.postgres.execute(f"SELECT slot_name FROM pg_replication_slots WHERE {which} AND {like}")


def left(answered: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    """What changes leave."""
    found: Counter[tuple[object, ...]] = Counter()
    for answer in answered:
        found[tuple(answer["row"].values())] += 1 if answer["op"] == "+" else -1
    return found


@pytest.fixture
def item(postgres: Database) -> Any:
    """A table with a primary key, of which all of old rows is told."""
    table = Followable(postgres, "id INT PRIMARY KEY, name TEXT, price NUMERIC(8, 2)")
    table.do("INSERT INTO {t} VALUES (1, 'desk', 10.50), (2, 'clock', NULL)")
    yield table
    table.remove()


COLUMNS = "id INT, name STRING, price DECIMAL(8, 2)"


def test_a_bounded_run_reads_what_there_is(item: Followable, tmp_path: Path) -> None:
    found = lines(continua("run", item.script(tmp_path, COLUMNS)))
    assert {line.partition('"row": ')[2] for line in found} == {
        '{"id": 1, "name": "desk", "price": 10.50}}',
        '{"id": 2, "name": "clock", "price": null}}',
    }
    answered = [json.loads(line) for line in found]
    assert {(answer["t"], answer["op"]) for answer in answered} == {("1970-01-01T00:00:00Z", "+")}


@pytest.mark.parametrize("key", ["", "KEY id"])
def test_every_transaction_is_seen_at_one_instant(item: Followable, tmp_path: Path, key: str) -> None:
    run = Followed(tmp_path, item.script(tmp_path, COLUMNS, key), "--follow", "--checkpoint", "c")
    run.wait_until(lambda found: len(found) == 2)
    item.do("INSERT INTO {t} VALUES (3, 'lamp', 1)", "UPDATE {t} SET price = 2 WHERE id = 3")
    item.do("UPDATE {t} SET id = id + 10, name = 'oak desk' WHERE id = 1", "DELETE FROM {t} WHERE id = 2")
    run.wait_until(lambda found: len(found) == 6)
    answered = run.answers
    assert [(a["op"], a["row"]["id"]) for a in answered[2:3]] == [("+", 3)]
    assert answered[2]["row"]["price"] == 2
    assert len({a["t"] for a in answered[3:]}) == 1
    assert sorted((a["op"], a["row"]["id"]) for a in answered[3:]) == [("+", 11), ("-", 1), ("-", 2)]
    item.do("TRUNCATE {t}", "INSERT INTO {t} VALUES (3, 'lamp', 2), (4, 'chair', 3)")
    run.wait_until(lambda found: len(found) == 8)
    assert sorted((a["op"], a["row"]["id"]) for a in run.answers[6:]) == [("+", 4), ("-", 11)]
    assert run.end(signal.SIGTERM) == 0, run.told
    assert +left(run.answers) == Counter({(3, "lamp", 2): 1, (4, "chair", 3): 1})


def test_keys_are_enough_where_nothing_else_is_needed(postgres: Database, tmp_path: Path) -> None:
    table = Followable(postgres, "id INT PRIMARY KEY, price INT NOT NULL", identity="DEFAULT")
    table.do("INSERT INTO {t} VALUES (1, 10), (2, 20)")
    try:
        script = table.script(tmp_path, "id INT, price INT NOT NULL", "KEY id")
        run = Followed(tmp_path, script, "--follow", "--checkpoint", "c")
        run.wait_until(lambda found: len(found) == 2)
        table.do("UPDATE {t} SET price = 11 WHERE id = 1", "UPDATE {t} SET id = 3 WHERE id = 2", "SELECT 1")
        run.wait_until(lambda found: len(found) == 6)
        table.do("DELETE FROM {t} WHERE id = 3")
        run.wait_until(lambda found: len(found) == 7)
        assert run.end(signal.SIGTERM) == 0, run.told
        assert +left(run.answers) == Counter({(1, 11): 1})
    finally:
        table.remove()


TYPES = {
    "a BOOLEAN": ("boolean", "true"),
    "b BIGINT": ("integer", "-7"),
    "c DECIMAL(30, 10)": ("numeric", "12345678901234567890.0123456789"),
    "d DOUBLE": ("double precision", "0.1"),
    "e STRING": ("varchar(20)", "E'a \\\\ \"b\",\\n{}'"),
    "f BINARY": ("bytea", "'\\x00ff'"),
    "g DATE": ("date", "'2024-02-29'"),
    "h TIMESTAMP": ("timestamptz", "'2024-05-01 12:00:00.123456+05:30'"),
    "i TIMESTAMP": ("timestamp", "'2024-05-01 12:00:00.5'"),
    "j ARRAY<STRING>": ("text[]", "ARRAY['a,b', NULL, 'NULL', 'q\"\\', '']"),
    "k ARRAY<INT>": ("int[]", "ARRAY[1, NULL, 3]"),
    "l STRING": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    "m STRING": ("jsonb", """'{"x": 1}'"""),
    "n FLOAT": ("real", "0.1"),
    "o STRING": ("char(4)", "'ab'"),
}
SHOWN = (
    '{"a": true, "b": -7, "c": 12345678901234567890.0123456789, "d": 0.1, "e": "a \\\\ \\"b\\",\\n{}", "f": "AP8=",'
    ' "g": "2024-02-29", "h": "2024-05-01T06:30:00.123456Z", "i": "2024-05-01T12:00:00.5Z",'
    ' "j": ["a,b", null, "NULL", "q\\"\\\\", ""], "k": [1, null, 3], "l": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",'
    ' "m": "{\\"x\\": 1}", "n": 0.10000000149011612, "o": "ab  "}}'
)


def test_values_are_exact_and_long_ones_that_stay_are_known(postgres: Database, tmp_path: Path) -> None:
    columns = ", ".join(f"{name.split()[0]} {of}" for name, (of, _) in TYPES.items())
    table = Followable(postgres, f"{columns}, long TEXT, z INT")
    values = ", ".join(value for _, value in TYPES.values()).replace("{", "{{").replace("}", "}}")
    nulls = ", ".join("NULL" for _ in TYPES)
    long = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 2000) n)"
    table.do(f"INSERT INTO {{t}} VALUES ({values}, {long}, 1)", f"INSERT INTO {{t}} VALUES ({nulls}, NULL, NULL)")
    try:
        names = ", ".join(name.split()[0] for name in TYPES)
        query = f"SELECT {names}, LENGTH(long) AS long, z FROM R"
        script = table.script(tmp_path, ", ".join([*TYPES, "long STRING", "z INT"]), query=query)
        run = Followed(tmp_path, script, "--follow", "--checkpoint", "c")
        run.wait_until(lambda found: len(found) == 2)
        table.do("UPDATE {t} SET z = 2 WHERE z = 1", "DELETE FROM {t} WHERE z IS NULL")
        run.wait_until(lambda found: len(found) == 5)
        assert run.end(signal.SIGTERM) == 0, run.told
        expected = SHOWN[:-2] + ', "long": 64000, "z": '
        assert [line.count(expected) for line in run.lines].count(1) == 3, run.lines
        shown = [(a["op"], a["row"]["z"], a["row"]["a"]) for a in run.answers]
        assert sorted(shown, key=str) == [
            ("+", 1, True),
            ("+", 2, True),
            ("+", None, None),
            ("-", 1, True),
            ("-", None, None),
        ]
    finally:
        table.remove()


def test_a_run_that_is_killed_again_and_again_has_every_transaction_once(postgres: Database, tmp_path: Path) -> None:
    chance = random.Random(5)
    table = Followable(postgres, "id INT, n INT")
    target = f"{table.name}_out"
    log = f"{table.name}_log"
    text = f"CREATE RELATION R (id INT, n INT) {table.source()};\n"
    into = "INTO postgres('{}', url => secret('PG'), create => true{})"
    sums = "SELECT id, COUNT(*) AS n, SUM(n) AS s FROM R GROUP BY id"
    text += f"REGISTER QUERY q AS {sums} {into.format(target, ', key => id')};\n"
    text += f"REGISTER QUERY r AS SELECT * FROM R {into.format(log, '')};\n"
    script = write_script(tmp_path, text)
    table.do("INSERT INTO {t} SELECT n % 7, n FROM generate_series(1, 20) n")
    arguments = [script, "--follow", "--trigger", "10ms", "--checkpoint", "c"]

    def transaction() -> None:
        changes = ["INSERT INTO {t} VALUES (%d, %d)", "UPDATE {t} SET n = n + 1, id = %d WHERE n %% 5 = %d"]
        changes += ["DELETE FROM {t} WHERE id = %d AND n %% 3 = %d", "TRUNCATE {t}; INSERT INTO {t} VALUES (%d, %d)"]
        weights = [8, 3, 2, 0.3]
        chosen = chance.choices(changes, weights, k=chance.randrange(1, 4))
        table.do(*(c % (chance.randrange(7), chance.randrange(3)) for c in chosen))

    def there() -> bool:
        try:
            found = postgres.execute(f"SELECT id, n, s FROM {target}")
        except psycopg.errors.UndefinedTable:
            return False
        now = f"SELECT id, COUNT(*), SUM(n) FROM {table.name} GROUP BY id"
        return Counter(found) == Counter(postgres.execute(now))

    try:
        for turn in range(7):
            run = Followed(tmp_path, *arguments)
            for _ in range(25):
                transaction()
            if turn == 3:
                postgres.stop(signal.SIGQUIT)
                postgres.start()
                transaction()
            if turn % 2:
                run.wait_for(there)
            assert run.end(signal.SIGKILL) == -9
        run = Followed(tmp_path, *arguments)
        run.wait_for(there)
        assert run.end(signal.SIGTERM) == 0, run.told
        net: Counter[tuple[object, ...]] = Counter()
        for op, *row in postgres.execute(f"SELECT op, id, n FROM {log}"):
            net[tuple(row)] += 1 if op == "+" else -1
        assert +net == net - Counter() == table.content()
    finally:
        table.remove()
        postgres.execute(f"DROP TABLE IF EXISTS {target}, {log}")


def refused(item: Followable, folder: Path, columns: str = COLUMNS, key: str = "", **options: str) -> str:
    text = f"CREATE RELATION R ({columns}) {item.source(**options)} {key};\nREGISTER QUERY q AS SELECT * FROM R;\n"
    ended = continua("run", write_script(folder, text), "--follow", "--checkpoint", str(folder / "c"), "--for", "20s")
    assert ended.exit_code != 0
    return ended.stderr


@pytest.mark.parametrize(
    ("before", "columns", "key", "options", "condition", "tells"),
    [
        ("ALTER TABLE {t} REPLICA IDENTITY DEFAULT", COLUMNS, "", {}, "REPLICA_IDENTITY", "REPLICA IDENTITY FULL"),
        ("ALTER TABLE {t} REPLICA IDENTITY NOTHING", COLUMNS, "KEY id", {}, "REPLICA_IDENTITY", "IDENTITY FULL"),
        ("ALTER TABLE {t} REPLICA IDENTITY DEFAULT", COLUMNS, "KEY id", {}, "REPLICA_IDENTITY", "long values of name"),
        ("SELECT 1", COLUMNS, "KEY name", {}, "NOT_A_KEY", "unique index"),
        ("SELECT 1", "id INT, nam STRING", "", {}, "MISSING_COLUMN", "did you mean name?"),
        ("SELECT 1", "id INT, name INT", "", {}, "TYPE_MISMATCH", "text"),
        ("DROP PUBLICATION {t}", COLUMNS, "", {}, "PUBLICATION_NOT_FOUND", "CREATE PUBLICATION"),
        ("ALTER PUBLICATION {t} SET (publish = 'insert')", COLUMNS, "", {}, "PUBLICATION_PARTIAL", "SET (publish"),
        ("ALTER PUBLICATION {t} DROP TABLE {t}", COLUMNS, "", {}, "PUBLICATION_PARTIAL", "ADD TABLE"),
        ("SELECT pg_create_logical_replication_slot('{t}', 'pgoutput')", COLUMNS, "", {}, "SLOT_EXISTS", "pg_drop"),
        ("ALTER TABLE {t} RENAME TO {t}_x", COLUMNS, "", {}, "TABLE_NOT_FOUND", "schema.table"),
        ("SELECT 1", COLUMNS, "", {"slots": "1"}, "UNKNOWN_OPTION", "did you mean slot"),
        ("SELECT 1", COLUMNS, "", {"slot": "'A b'"}, "BAD_OPTION", "small letters"),
        ("SELECT 1", COLUMNS, "", {"url": "'postgresql://127.0.0.1:1/x'", "timeout": "1"}, "UNREACHABLE", "1 seconds"),
        ("SELECT 1", COLUMNS, "ORDERED BY id", {}, "TIMED_TWICE", "leave ORDERED BY"),
    ],
)
def test_what_can_not_be_followed_is_told_with_what_mends_it(
    item: Followable,
    tmp_path: Path,
    before: str,
    columns: str,
    key: str,
    options: dict[str, str],
    condition: str,
    tells: str,
) -> None:
    item.do(before)
    told = refused(item, tmp_path, columns, key, **options)
    item.postgres.execute(f"DROP TABLE IF EXISTS {item.name}_x")
    assert condition in told
    assert tells in told


def test_a_user_without_rights_is_told_what_to_grant(item: Followable, tmp_path: Path) -> None:
    postgres, user = item.postgres, f"{item.name}_user"
    postgres.execute(f"CREATE ROLE {user} LOGIN")
    url = postgres.url.replace("tester@", f"{user}@")
    try:
        told = refused(item, tmp_path, url=f"'{url}'")
        assert "NO_REPLICATION_ROLE" in told or "POSTGRES_REFUSED" in told
        assert f'ALTER ROLE "{user}" REPLICATION' in told
        postgres.execute(f"ALTER ROLE {user} REPLICATION")
        told = refused(item, tmp_path, url=f"'{url}'")
        assert "permission denied" in told
        assert "GRANT SELECT" in told
    finally:
        postgres.execute(f"DROP ROLE {user}")


@pytest.mark.parametrize(
    ("meanwhile", "tells"),
    [
        ("SELECT pg_drop_replication_slot('{t}')", "not there any more"),
        ("SELECT pg_replication_slot_advance('{t}', pg_current_wal_lsn())", "somebody else has moved it on"),
    ],
)
def test_a_slot_that_has_lost_transactions_is_told(
    item: Followable, tmp_path: Path, meanwhile: str, tells: str
) -> None:
    arguments = [item.script(tmp_path, COLUMNS), "--follow", "--checkpoint", "c"]
    run = Followed(tmp_path, *arguments)
    run.wait_until(lambda found: len(found) == 2)
    assert run.end(signal.SIGTERM) == 0
    item.do("INSERT INTO {t} VALUES (3, 'lamp', 1)")
    item.postgres.execute(meanwhile.format(t=item.name))
    run = Followed(tmp_path, *arguments)
    assert run.end() == 1
    assert "SLOT_LOST" in "\n".join(run.told)
    assert tells in "\n".join(run.told)


def test_what_becomes_of_columns_is_told_by_name(item: Followable, tmp_path: Path) -> None:
    run = Followed(tmp_path, item.script(tmp_path, COLUMNS), "--follow", "--checkpoint", "c")
    run.wait_until(lambda found: len(found) == 2)
    item.do("ALTER TABLE {t} ADD colour TEXT", "INSERT INTO {t} VALUES (3, 'lamp', 1, 'red')")
    run.wait_until(lambda found: len(found) == 3)
    run.wait_for(lambda: any("COLUMN_ADDED" in line and "colour" in line for line in run.told))
    item.do("ALTER TABLE {t} ALTER name TYPE VARCHAR(40)", "INSERT INTO {t} VALUES (4, 'sofa', 1, 'red')")
    run.wait_for(lambda: any("COLUMN_CHANGED" in line and "name" in line for line in run.told))
    item.do("ALTER TABLE {t} DROP name", "INSERT INTO {t} VALUES (5, 2, 'red')")
    assert run.end() == 1
    assert any("MISSING_COLUMN" in line and "name" in line for line in run.told)


def test_a_silent_table_does_not_hold_up_time(item: Followable, tmp_path: Path) -> None:
    (tmp_path / "bids.jsonl").write_text('{"id": 1, "ts": "2026-05-01T10:00:00Z"}\n')
    text = (
        f"CREATE RELATION R ({COLUMNS}) {item.source()};\n"
        "CREATE STREAM B (id INT, ts TIMESTAMP) SOURCE jsonl('bids.jsonl') ORDERED BY ts;\n"
        "REGISTER QUERY q AS SELECT ISTREAM B.id, R.name FROM B [NOW], R WHERE B.id = R.id;\n"
    )
    run = Followed(tmp_path, write_script(tmp_path, text), "--follow", "--checkpoint", "c")
    for second in range(1, 4):
        with (tmp_path / "bids.jsonl").open("a") as file:
            file.write(f'{{"id": 1, "ts": "2026-05-01T10:00:0{second}Z"}}\n')
        run.wait_until(lambda found, n=second: len(found) == n)  # type: ignore[misc]
    assert run.end(signal.SIGTERM) == 0, run.told
    assert {a["row"]["name"] for a in run.answers} == {"desk"}


@pytest.mark.parametrize("source", ["{t}", "SELECT id, name, price * 2 AS price FROM {t}"])
def test_a_table_that_is_refreshed_changes_when_that_is_seen(item: Followable, tmp_path: Path, source: str) -> None:
    source = source.format(t=item.name)
    text = (
        f"CREATE TABLE R ({COLUMNS}) SOURCE postgres('{source}', url => secret('PG')) REFRESH EVERY '1 second';\n"
        "REGISTER QUERY q AS SELECT name, price FROM R;\n"
    )
    script = write_script(tmp_path, text)
    assert len(lines(continua("run", script))) == 2
    run = Followed(tmp_path, script, "--follow", "--checkpoint", "c")
    run.wait_until(lambda found: len(found) == 2)
    assert {a["t"] for a in run.answers} == {"1970-01-01T00:00:00Z"}
    item.do("UPDATE {t} SET price = 3 WHERE id = 1", "INSERT INTO {t} VALUES (3, 'lamp', 1)")
    run.wait_until(lambda found: len(found) == 5)
    assert run.end(signal.SIGKILL) == -9
    item.do("DELETE FROM {t} WHERE id = 2")
    again = Followed(tmp_path, script, "--follow", "--checkpoint", "c")
    again.wait_until(lambda found: found[-1:] != [] and found[-1]["op"] == "-")
    assert again.end(signal.SIGTERM) == 0, again.told
    twice = 2 if source.startswith("SELECT") else 1
    everything = run.answers + [a for a in again.answers if a not in run.answers]
    assert +left(everything) == Counter({("desk", 3 * twice): 1, ("lamp", twice): 1})
