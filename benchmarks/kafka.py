"""How fast ``continua run`` reads and writes topics of Kafka, as a share of what Spark's own connector needs.

Spark copies the values of records as they are, and in a second case also reads them as JSON and writes them so, which
is what Continua does in any case; Continua writes in transactions besides, with headers that tell each answer. A
broker is started for it, next to both on the same cores. Speed is a slope, as in ``benchmarks.throughput``.

The connector comes from Maven's central repository, by ``mvn``.

python -m benchmarks.kafka [--rows N] [--runs K] [--cases NAME,...]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.services.kafka_broker import KafkaBroker
from tests.services.processes import cache

from benchmarks.checkouts import ROOT, this_checkout
from benchmarks.kafka_job import KafkaJob
from benchmarks.processes import CommandError
from benchmarks.sides import MASTER, Data, Side, cores_of, print_lines, slopes_of, tell
from benchmarks.slopes import ratio, share, verdict

JARS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    # asked for credentials of clusters that use Kerberos, so that its version matters to nobody here
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
"""Spark's connector, and what it needs that Spark has not."""
PARTITIONS = 2
CHECKED = 5_000
"""So many records are copied to see whether all of them are."""
TOPIC_FILE = "topic"
"""The file in a folder of data that names its topic."""
STREAM = "CREATE STREAM bid (item INT, price INT, ts BIGINT) SOURCE kafka('{}', servers => '{}') ORDERED BY ts;\n"
HEAD = ("case", "continua run", "Spark alone", "share", "target", "")


@dataclass(frozen=True)
class Case:
    """What is asked of both, and the least share of Spark's speed that Continua should reach, if one is set."""

    name: str
    text: str
    job: str
    target: float | None
    writes: bool = True


CASES = (
    Case("in", "SELECT COUNT(*) AS n FROM bid [RANGE UNBOUNDED SLIDE 1000000]", "read", 0.70, False),
    Case("in and out", "SELECT ISTREAM item, price, ts FROM bid [NOW]", "copy", 0.70),
    Case("in and out, both JSON", "SELECT ISTREAM item, price, ts FROM bid [NOW]", "json", None),
)


def jars() -> Path:
    """The folder with the connector."""
    folder = cache() / f"spark-kafka-{JARS[0].rpartition(':')[2]}"
    if not folder.is_dir():
        partial = folder.with_name(f".{folder.name}")
        shutil.rmtree(partial, ignore_errors=True)
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
        for artifact in JARS:
            command = ["mvn", "-q", "-B", plugin, f"-Dartifact={artifact}", f"-DoutputDirectory={partial}"]
            subprocess.run(command, check=True)
        partial.rename(folder)
    return folder


def fill(kafka: KafkaBroker, folder: Path, rows: int) -> None:
    """Makes a topic with so many bids, and has the folder tell its name."""
    topic = kafka.topic(PARTITIONS)
    producer = kafka.producer(linger_ms=50, batch_size=1 << 20, queue_buffering_max_messages=rows + 1)
    for n in range(rows):
        value = b'{"item": %d, "price": %d, "ts": %d}' % (n % 1000, n * 7919 % 10_000, n // 10)
        producer.produce(topic, value, partition=n % PARTITIONS)
        if not n % 4096:
            producer.poll(0)
    assert producer.flush(120) == 0
    (folder / TOPIC_FILE).write_text(topic)


@dataclass(frozen=True)
class Topics:
    """The topics to which runs write, each its own."""

    kafka: KafkaBroker

    def command_side(self, case: Case) -> Side:
        """``continua run``."""

        def command(data: Path) -> Sequence[str]:
            out = f"kafka('{self._new(data)}', servers => '{self.kafka.servers}')" if case.writes else "parquet('out')"
            script = STREAM.format((data / TOPIC_FILE).read_text(), self.kafka.servers)
            path = data / "copy.sql"
            path.write_text(f"{script}REGISTER QUERY q AS {case.text} INTO {out};\n")
            return this_checkout().command("run", str(path), "--master", MASTER)

        return Side("continua run", command, this_checkout().environment, cores_of(MASTER), "out")

    def spark_side(self, case: Case) -> Side:
        """Spark alone."""

        def command(data: Path) -> Sequence[str]:
            source, out = (data / TOPIC_FILE).read_text(), self._new(data) if case.writes else ""
            job = KafkaJob(
                case.job, self.kafka.servers, source, out, [str(jar) for jar in sorted(jars().glob("*.jar"))]
            )
            return [sys.executable, "-m", "benchmarks.kafka_job", MASTER, job.written]

        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
        return Side("Spark alone", command, environment, cores_of(MASTER), "out")

    def _new(self, data: Path) -> str:
        """A topic to write to; that of the run before is gone."""
        known = data / "out-topic"
        if known.exists():
            self.kafka.delete(known.read_text())
        topic = self.kafka.topic(PARTITIONS)
        known.write_text(topic)
        return topic

    def check(self, side: Side, data: Path) -> None:
        """Runs a side, and refuses one that writes fewer records than it reads, or more."""
        side.run(data)
        found = len(self.kafka.read((data / "out-topic").read_text(), PARTITIONS))
        wanted = len(self.kafka.read((data / TOPIC_FILE).read_text(), PARTITIONS))
        if found != wanted:
            raise CommandError(f"{side.label} writes {found:,} of {wanted:,} records")


def line(topics: Topics, case: Case, data: Data, few: Path, runs: int) -> list[str]:
    """A line of the table; ``few``: a folder with some rows, on which it is checked what both write."""
    mine, sparks = topics.command_side(case), topics.spark_side(case)
    for side in (mine, sparks) if case.writes else ():
        topics.check(side, few)
    taken, least = slopes_of([(mine, data), (sparks, data)], runs)
    target = ("-", "") if case.target is None else (f"{case.target:.0%}", verdict(ratio(least, taken), case.target))
    return [case.name, taken.shown, least.shown, share(least, taken), *target]


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cases", help="; ".join(case.name for case in CASES))
    given = parser.parse_args()
    names = None if given.cases is None else [name.strip() for name in given.cases.split(";")]

    def lines(folder: Path) -> Iterator[list[str]]:
        jars()
        kafka = KafkaBroker(folder / "broker")
        try:
            data = Data.written(folder, given.rows, lambda path, rows: fill(kafka, path, rows))
            few = folder / "few"
            few.mkdir()
            fill(kafka, few, CHECKED)
            for case in CASES:
                if names is None or case.name in names:
                    tell(f"measuring {case.name}")
                    yield line(Topics(kafka), case, data, few, given.runs)
        finally:
            kafka.remove()

    return print_lines(HEAD, f"{MASTER}, seconds per million records, {given.runs} runs", lines)


if __name__ == "__main__":
    sys.exit(main())
