"""Answers a query by Flink SQL, in a streaming job on this machine. It runs in the environment that has PyFlink.

python -m benchmarks.peers.flink_job FOLDER FORM CHANGES QUERY        CHANGES is 1 if answers are changes of a relation
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.peers.tables import ANSWERS, MOMENT, PARALLELISM, SIDE, TABLES, TIME

SETTINGS = {
    "parallelism.default": str(PARALLELISM),
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",
    "state.backend.type": "hashmap",
    "taskmanager.memory.managed.size": "512m",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "5000",
    "table.optimizer.agg-phase-strategy": "TWO_PHASE",
    "table.optimizer.distinct-agg.split.enabled": "true",
}
"""What its documents advise for throughput: state on the heap, rows that are not copied between operators, small
batches, and partial aggregates before rows move. No checkpoints, which would cost some more."""
JVM = "-Xmx4g"


def _declared(name: str, folder: Path, form: str) -> str:
    kinds = {column: f"{kind}(3)" if kind == MOMENT else kind for column, kind in TABLES[name].items()}
    columns = [f"`{column}` {kind}" for column, kind in kinds.items()]
    if name == "bid":
        columns.append("arrival AS PROCTIME()")
    columns.append(f"WATERMARK FOR `{TIME}` AS `{TIME}`")
    return f"CREATE TABLE {name} ({', '.join(columns)}) {_files(folder / name, form)}"


def _files(path: Path, form: str) -> str:
    read = {"connector": "filesystem", "path": str(path), "format": {"jsonl": "json"}.get(form, form)}
    options = ", ".join(f"'{name}' = '{value}'" for name, value in read.items())
    return f"WITH ({options})"


def main() -> None:
    """Answers one query."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    given, form, changes, query = sys.argv[1:]
    folder = Path(given)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in SETTINGS.items():
        tables.get_config().set(name, value)
    for name in TABLES:
        tables.execute_sql(_declared(name, folder, form))
    side = ", ".join(f"`{name}` {kind}" for name, kind in SIDE.items())
    tables.execute_sql(f"CREATE TABLE side ({side}) {_files(folder / 'side', form)}")
    answers = _files(folder / ANSWERS, "debezium-json" if changes == "1" else "json")
    tables.execute_sql(f"CREATE TABLE answers {answers} AS {query}").wait()


if __name__ == "__main__":
    main()
