"""The systems that are compared: the command of each, what it cannot express, and how it is configured."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checkouts import ROOT, this_checkout
from benchmarks.nexmark.scripts import script
from benchmarks.peers import flink_job, spark_job
from benchmarks.peers.tables import ANSWERS, PARALLELISM, SIDE, TABLES, columns_of
from benchmarks.sides import MASTER, Side

QUERIES = tuple(f"q{number}" for number in range(23))
CONTINUA, FLINK, SPARK = "Continua", "Flink SQL", "Spark"
_TEXTS = Path(__file__).parent / "queries"
_CHANGES = {
    FLINK: ("q4", "q9", "q15", "q16", "q17", "q18", "q19"),
    SPARK: ("q12", "q15", "q16", "q17", "q18"),
}
"""The queries whose answers are changes of a relation."""
CANNOT: Mapping[str, Mapping[str, str]] = {
    FLINK: {
        "q6": "an OVER window with a number of rows is refused over rows that change, which the closing prices are",
    },
    SPARK: {
        "q4": "an aggregate of an aggregate is only there for windows of time",
        "q6": "windows with a number of rows are refused over streams",
        "q9": "a rank is refused over streams, and so is an aggregate without a window of time over a join of streams",
        "q19": "a rank is refused over streams",
    },
}
"""What a system cannot express, and why."""
_FORMATS = {FLINK: ("csv", "jsonl")}
"""The formats that a system reads out of the box, where these are not all."""
_STREAM = re.compile(r"CREATE STREAM (\w+) \([^)]*\)\s*SOURCE \w+\('(\w+)\.csv'\)([^;]*);")
_TABLE = re.compile(r"CREATE TABLE (\w+) \([^)]*\)\s*SOURCE \w+\('side\.csv'\)")
_SINK = re.compile(r"INTO parquet\('\w+'\)")
_TUMBLING = re.compile(r"(SLIDE \d+ SECONDS)\)")


@dataclass(frozen=True)
class System:
    """A way to answer the queries."""

    name: str
    command: Callable[[str, str], Callable[[Path], Sequence[str]]]
    """Of a query and the format of the files: what runs over the files of a folder."""
    environment: Mapping[str, str]
    configuration: Mapping[str, str]

    def cannot(self, query: str, form: str) -> str | None:
        """Why a query is not answered; None if it is."""
        if form not in _FORMATS.get(self.name, (form,)):
            return f"{form} is not read out of the box"
        return CANNOT.get(self.name, {}).get(query)

    def side(self, query: str, form: str, limit: float) -> Side:
        """What is run for a query, and for how many seconds at most."""
        return Side(self.name, self.command(query, form), self.environment, PARALLELISM, ANSWERS, limit)


def changes(system: str, query: str) -> bool:
    """Whether a system that is asked by its own text of a query answers with changes of a relation."""
    return query in _CHANGES[system]


def continua_script(query: str, form: str) -> str:
    """The script of a query over the files that all systems read, with answers as lines of JSON.

    A window that slides holds the instant at its end in Continua, and that at its beginning in the other systems. So it
    slides a millisecond earlier, which is the least time between two events.
    """

    def stream(found: re.Match[str]) -> str:
        name, kind, more = found.groups()
        source = f"{form}('{kind}/*.{form}'{', header => false' if form == 'csv' else ''})"
        parts = " PARTITIONED BY FILE" if " dateTime" in more else ""
        return f"CREATE STREAM {name} ({columns_of(TABLES[kind])}) SOURCE {source}{more}{parts};"

    text = _STREAM.sub(stream, script(query))
    side = f"{form}('side/0.{form}'{', header => false' if form == 'csv' else ''})"
    text = _TABLE.sub(rf"CREATE TABLE \1 ({columns_of(SIDE)}) SOURCE {side}", text)
    text = _TUMBLING.sub(r"\1 ALIGNED TO '2023-12-31 23:59:59.999')", text)
    return _SINK.sub(f"INTO json('{ANSWERS}')", text)


def _continua(query: str, form: str) -> Callable[[Path], Sequence[str]]:
    def command(data: Path) -> Sequence[str]:
        path = data / f"{query}.sql"
        path.write_text(continua_script(query, form), encoding="utf-8")
        return this_checkout().command("run", str(path), "--master", MASTER)

    return command


def _job(python: str, system: str, module: str) -> Callable[[str, str], Callable[[Path], Sequence[str]]]:
    folder = {FLINK: "flink", SPARK: "spark"}[system]

    def of(query: str, form: str) -> Callable[[Path], Sequence[str]]:
        def command(data: Path) -> Sequence[str]:
            text = (_TEXTS / folder / f"{query}.sql").read_text(encoding="utf-8")
            return [python, "-m", module, str(data), form, str(int(changes(system, query))), text]

        return command

    return of


def systems(peers: Path) -> dict[str, System]:
    """All systems, by their names; PyFlink is in the environment ``peers``."""
    flink = _job(str(peers / "bin" / "python"), FLINK, "benchmarks.peers.flink_job")
    spark = _job(sys.executable, SPARK, "benchmarks.peers.spark_job")
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = (
        System(CONTINUA, _continua, this_checkout().environment, {"--master": MASTER}),
        System(FLINK, flink, {**here, "JVM_ARGS": flink_job.JVM}, {"JVM": flink_job.JVM, **flink_job.SETTINGS}),
        System(SPARK, spark, {**here, "PYSPARK_PYTHON": sys.executable}, spark_job.SETTINGS),
    )
    return {system.name: system for system in found}
