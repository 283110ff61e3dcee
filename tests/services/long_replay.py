"""Bids of Kafka and a table of PostgreSQL in, the same out, while all of them are killed: equal to a run over files.

``python -m tests.services.long_replay --minutes 30 --speed 20 --kills 10`` replays so many minutes of bids at that
speed, while the table changes that they are joined with. The process is killed so often, the broker and the database
are killed and started again once each. Afterwards the same bids from a file, and the changes of the table as the run
has told them, are read by a bounded run: what was written must be the same, and each answer there once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from tests.cli.following import Followed
from tests.cli.helpers import continua, lines
from tests.services.kafka_broker import KafkaBroker
from tests.services.kafka_scripts import written
from tests.services.postgres_database import PostgresDatabase

_PARTITIONS = 2
_ITEMS = 12
_BID = "CREATE STREAM Bid (item INT, price INT, ts TIMESTAMP) SOURCE {source} ORDERED BY ts SLACK 5 SECONDS;\n"
_SUMS = (
    "SELECT i.category, COUNT(*) AS n, SUM(b.price) AS s FROM Bid [RANGE 60 SECONDS SLIDE 10 SECONDS] b, Item i"
    " WHERE b.item = i.id GROUP BY i.category"
)

Line = tuple[object, ...]


@dataclass(frozen=True)
class Plan:
    """What is replayed."""

    minutes: float = 30.0
    speed: float = 20.0
    kills: int = 10
    rate: float = 2.0
    """Bids for each second of their own time."""
    seed: int = 1

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.minutes * 60 / self.speed


def instant(moment: float) -> str:
    """A time as files have it."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


class Replay:
    """A replay in a folder."""

    def __init__(self, plan: Plan, kafka: KafkaBroker, postgres: PostgresDatabase, folder: Path) -> None:
        self.plan, self.kafka, self.postgres, self.folder = plan, kafka, postgres, folder
        self.chance = random.Random(plan.seed)
        self.bids = kafka.topic(_PARTITIONS)
        self.changes = kafka.topic()
        self.sent: list[str] = []
        self.last = 0.0
        """The time of the last bid, at which the run ends."""
        self.over = threading.Event()
        self.failure: BaseException | None = None

    def script(self) -> str:
        """The queries over the topic and the table."""
        kafka = f"servers => '{self.kafka.servers}'"
        queries = (
            f"REGISTER QUERY q AS {_SUMS}"
            " INTO postgres('replay_sums', url => secret('PG'), key => category, create => true);\n"
            f"REGISTER QUERY r AS {_SUMS} INTO kafka('{self.changes}', {kafka});\n"
            "REGISTER QUERY items AS SELECT * FROM Item INTO json('items');\n"
        )
        source = "postgres('replay_item', url => secret('PG'), slot => 'replay', publication => 'replay')"
        item = f"CREATE RELATION Item (id INT, category STRING) SOURCE {source};\n"
        bid = _BID.format(source=f"kafka('{self.bids}', {kafka})")
        (self.folder / "live.sql").write_text(item + bid + queries)
        return "live.sql"

    def prepare(self) -> None:
        """The table, with some items."""
        for statement in (
            "CREATE TABLE replay_item (id INT, category TEXT)",
            "ALTER TABLE replay_item REPLICA IDENTITY FULL",
            "CREATE PUBLICATION replay FOR TABLE replay_item",
            f"INSERT INTO replay_item SELECT n, 'c' || n % 4 FROM generate_series(0, {_ITEMS - 1}) n",
        ):
            self.postgres.execute(statement)

    def send_bids(self) -> None:
        """Sends bids as time goes on, some of them late within the slack."""
        chance, plan, began = random.Random(self.plan.seed), self.plan, time.time()
        first = began + plan.seconds - plan.minutes * 60
        producer, count = self.kafka.producer(message_timeout_ms=300_000), 0
        while not self.over.is_set():
            now = min((time.time() - began) * plan.speed, plan.minutes * 60)
            while count < now * plan.rate:
                moment = first + count / plan.rate - chance.random() * 4
                bid = {"item": chance.randrange(_ITEMS), "price": chance.randrange(1, 100), "ts": instant(moment)}
                self.sent.append(json.dumps(bid))
                producer.produce(self.bids, value=self.sent[-1], partition=chance.randrange(_PARTITIONS))
                producer.poll(0)
                count += 1
            if now >= plan.minutes * 60:
                break
            time.sleep(0.05)
        self.last = first + plan.minutes * 60
        for partition in range(_PARTITIONS):  # from now on all before is complete
            bid = {"item": -1, "price": 0, "ts": instant(self.last + 10)}
            producer.produce(self.bids, value=json.dumps(bid), partition=partition)
        assert producer.flush(120) == 0

    def change_items(self) -> None:
        """Changes items until it is over; the database may be away meanwhile."""
        chance = random.Random(self.plan.seed + 1)
        while not self.over.wait(0.2 + chance.random() * 0.6):
            with suppress(psycopg.OperationalError), psycopg.connect(self.postgres.url) as connection:
                for _ in range(chance.randrange(1, 3)):
                    connection.execute(_change(chance).encode())

    def follow(self) -> None:
        """The run, killed again and again; at last one that ends."""
        plan, chance = self.plan, self.chance
        arguments = [self.script(), "--follow", "--trigger", "50ms", "--checkpoint", "c"]
        changing = [
            threading.Thread(target=self._guarded, args=(work,)) for work in (self.send_bids, self.change_items)
        ]
        for thread in changing:
            thread.start()
        try:
            for turn in range(plan.kills):
                run = Followed(self.folder, *arguments)
                self._wait_for_epochs(run, chance.randrange(1, 4))
                if turn == plan.kills // 3:
                    self.kafka.stop(signal.SIGKILL)
                    self.kafka.start()
                if turn == 2 * plan.kills // 3:
                    self.postgres.stop(signal.SIGQUIT)
                    self.postgres.start()
                time.sleep(max(plan.seconds / (plan.kills + 1) * chance.random(), 0.2))
                assert run.end(signal.SIGKILL) == -9, run.told
            changing[0].join()
            if self.failure is not None:
                raise self.failure
            run = Followed(self.folder, *arguments, "--until", instant(self.last))
            assert run.end() == 0, run.told
        finally:
            self.over.set()
            for thread in changing:
                thread.join()

    def _guarded(self, work: object) -> None:
        try:
            assert callable(work)
            work()
        except BaseException as error:
            self.failure = error

    def _wait_for_epochs(self, run: Followed, more: int) -> None:
        def last() -> int:
            return max((int(path.name.split("-")[0]) for path in (self.folder / "c/epochs").glob("[0-9]*")), default=0)

        there = last() + more
        run.wait_for(lambda: last() >= there)

    def compare(self) -> str:
        """Compares what was written with a bounded run over files; what there was."""
        end = instant(self.last)
        items = written(self.folder / "items")
        (self.folder / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in items))
        (self.folder / "bids.jsonl").write_text("\n".join(sorted(self.sent, key=lambda b: json.loads(b)["ts"])) + "\n")
        columns = "op STRING, t TIMESTAMP, id INT, category STRING"
        item = f"CREATE RELATION Item ({columns}) SOURCE jsonl('items.jsonl') ORDERED BY t TAGGED BY op;\n"
        text = item + _BID.format(source="jsonl('bids.jsonl')") + f"REGISTER QUERY q AS {_SUMS};\n"
        (self.folder / "files.sql").write_text(text)
        found = lines(continua("run", str(self.folder / "files.sql"), "--master", "none"))
        wanted: Counter[Line] = Counter()
        content: Counter[Line] = Counter()
        for answer in map(json.loads, found):
            moment = datetime.fromisoformat(answer["t"]).astimezone(UTC)
            if moment <= datetime.fromisoformat(end):
                row = tuple(answer["row"].values())
                wanted[moment, answer["op"], *row] += 1
                content[row] += 1 if answer["op"] == "+" else -1
        written_changes: Counter[Line] = Counter()
        places: Counter[object] = Counter()
        for record in self.kafka.read(self.changes):
            headers = {name: value.decode() for name, value in record.headers()}
            places[headers["epoch"], headers["part"], headers["number"]] += 1
            row = tuple(json.loads(record.value()).values())
            moment = datetime.fromisoformat(headers["t"]).astimezone(UTC)
            written_changes[moment, headers["op"], *row] += 1
        assert set(places.values()) <= {1}, "an answer was written twice"
        missing, extra = wanted - written_changes, written_changes - wanted
        assert not missing, f"{len(missing)} changes are missing: {sorted(missing, key=str)[:5]}"
        assert not extra, f"{len(extra)} changes are not those of the files: {sorted(extra, key=str)[:5]}"
        table = Counter(self.postgres.execute("SELECT category, n, s FROM replay_sums"))
        assert table == +content, (table, +content)
        return f"{len(self.sent)} bids, {len(items)} changes of items, {wanted.total()} changes of sums"


def _change(chance: random.Random) -> str:
    one, other = chance.randrange(_ITEMS), chance.randrange(4)
    return chance.choices(
        [
            f"UPDATE replay_item SET category = 'c{other}' WHERE id = {one}",
            f"DELETE FROM replay_item WHERE id = {one}",
            f"INSERT INTO replay_item VALUES ({one}, 'c{other}')",
        ],
        [5, 2, 3],
    )[0]


@contextmanager
def _servers(folder: Path) -> Iterator[tuple[KafkaBroker, PostgresDatabase]]:
    kafka = KafkaBroker(folder / "broker")
    try:
        postgres = PostgresDatabase()
        try:
            yield kafka, postgres
        finally:
            postgres.remove()
    finally:
        kafka.remove()


def replayed(plan: Plan, kafka: KafkaBroker, postgres: PostgresDatabase, folder: Path) -> str:
    """Replays, and compares; what there was."""
    os.environ["PG"] = postgres.url
    replay = Replay(plan, kafka, postgres, folder)
    replay.prepare()
    try:
        replay.follow()
        return replay.compare()
    finally:
        with suppress(psycopg.Error):
            postgres.execute("SELECT pg_drop_replication_slot('replay')")
        for statement in ("DROP TABLE IF EXISTS replay_item, replay_sums", "DROP PUBLICATION IF EXISTS replay"):
            postgres.execute(statement)


def main() -> int:
    """The command."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Plan()
    asked.add_argument("--minutes", type=float, default=default.minutes, help="how long the bids are")
    asked.add_argument("--speed", type=float, default=default.speed, help="how many times faster they are replayed")
    asked.add_argument("--kills", type=int, default=default.kills, help="how often the process is killed")
    asked.add_argument("--rate", type=float, default=default.rate, help="bids a second of their own time")
    asked.add_argument("--seed", type=int, default=default.seed)
    plan = Plan(**vars(asked.parse_args()))
    print(plan, flush=True)
    with tempfile.TemporaryDirectory() as folder, _servers(Path(folder)) as (kafka, postgres):
        began = time.monotonic()
        told = replayed(plan, kafka, postgres, Path(folder))
        print(f"{told}: equal, after {time.monotonic() - began:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
