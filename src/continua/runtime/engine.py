"""The engine: registered queries as one graph, run epoch by epoch."""

from __future__ import annotations

import json
import pickle
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import CheckpointError, ContinuaError, Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.physical.execute import Epoch
from continua.physical.nodes import Sink
from continua.physical.stages import stages_of
from continua.runtime.blocks import Block, unpacked
from continua.runtime.executors import Executor
from continua.runtime.files import read_file, write_file
from continua.runtime.state import Kept, PartitionState
from continua.runtime.tasks import Job, Program, Report, result_path

BEFORE_TIME = -INFINITY
"""The heartbeat before the first epoch."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A finished epoch: what it closed, what is durable after it, and where its results are."""

    number: int
    until: int
    program: str
    partitions: int
    offsets: dict[str, int]
    kept: dict[str, list[object]]
    results: dict[str, list[int]]
    """For each query the partitions that wrote a result segment."""


@dataclass
class Progress:
    """What an epoch did."""

    epoch: int
    until: int
    rows_out: dict[str, int] = field(default_factory=dict)
    state_rows: dict[str, int] = field(default_factory=dict)
    state_bytes: int = 0


class Engine:
    """Runs the graph of all its queries. The checkpoint holds everything that must outlive the process."""

    def __init__(
        self,
        sinks: Iterable[Sink],
        executor: Executor,
        *,
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        checkpoint: Path | str | None = None,
        partitions: int = 1,
    ) -> None:
        self._executor = executor
        self._owned = checkpoint is None
        self.checkpoint = Path(tempfile.mkdtemp(prefix="continua-")) if checkpoint is None else Path(checkpoint)
        self._scratch = Path(tempfile.gettempdir()) / "continua" / uuid.uuid4().hex
        self.partitions = partitions
        self.sinks = tuple(sinks)
        self.stages = stages_of(self.sinks)
        self._program = self._write_program(tuple(functions))
        self._kept: dict[tuple[int, int], Kept] = {}
        self.epoch_number = 0
        self.until = BEFORE_TIME
        self.offsets: dict[str, int] = {}
        self.progress: list[Progress] = []
        self._recover()

    def _write_program(self, functions: tuple[FunctionInfo | AggregateInfo, ...]) -> str:
        from pyspark import cloudpickle

        content: bytes = cloudpickle.dumps(Program(self.stages, functions, self.partitions))  # type: ignore[no-untyped-call]
        names = "|".join([*(s.id for s in self.sinks), str(self.partitions)])
        path = self.checkpoint / "programs" / sha256(names.encode()).hexdigest()[:16]
        write_file(path, content)
        return str(path)

    # Epochs.

    def epoch(self, fed: Mapping[str, pa.Table], until: int, offsets: Mapping[str, int] | None = None) -> Progress:
        """Closes the instants up to ``until``, with the rows that sources have brought meanwhile."""
        number = self.epoch_number + 1
        epoch = Epoch(number, self.until, until)
        job = Job(self._program, str(self.checkpoint), str(self._scratch), epoch, self._kept)
        self._write_intent(epoch, offsets or {})
        blocks = self._executor.run(job, fed, len(self.stages.levels), self.partitions)
        reports = _reports(blocks)
        self._commit(epoch, reports, offsets or {})
        done = Progress(number, until)
        for report in reports:
            done.state_bytes += report.state_bytes
            for node, count in report.state_rows.items():
                done.state_rows[node] = done.state_rows.get(node, 0) + count
            for query, count in report.results.items():
                done.rows_out[query] = done.rows_out.get(query, 0) + count
        self.progress.append(done)
        return done

    def _write_intent(self, epoch: Epoch, offsets: Mapping[str, int]) -> None:
        """What an epoch is going to read: after a crash it reads the same."""
        content = {"number": epoch.number, "until": epoch.until, "offsets": dict(offsets)}
        write_file(self.checkpoint / "intents" / str(epoch.number), json.dumps(content).encode())

    def _commit(self, epoch: Epoch, reports: Sequence[Report], offsets: Mapping[str, int]) -> None:
        results: dict[str, list[int]] = {}
        for report in reports:
            self._kept[report.level, report.partition] = report.kept
            for query in report.results:
                results.setdefault(query, []).append(report.partition)
        kept = {f"{level}/{part}": [k.snapshot, list(k.logs), k.weight] for (level, part), k in self._kept.items()}
        manifest = Manifest(
            epoch.number, epoch.until, Path(self._program).name, self.partitions, dict(offsets), kept, results
        )
        write_file(self.checkpoint / "epochs" / str(epoch.number), json.dumps(asdict(manifest)).encode())
        self.epoch_number, self.until, self.offsets = epoch.number, epoch.until, dict(offsets)
        for (level, part), k in self._kept.items():
            if k.snapshot == epoch.number:
                PartitionState(self.checkpoint, self._scratch, level, part).forget(k)

    # Recovery.

    def _recover(self) -> None:
        """Goes on after the last epoch that was finished."""
        folder = self.checkpoint / "epochs"
        numbers = sorted(int(f.name) for f in folder.iterdir() if f.name.isdigit()) if folder.exists() else []
        if not numbers:
            return
        manifest = Manifest(**json.loads(read_file(folder / str(numbers[-1]))))
        if manifest.partitions != self.partitions:
            raise CheckpointError(
                Diagnostic(
                    "OTHER_PARTITIONS",
                    f"the checkpoint {self.checkpoint} was made with {manifest.partitions} partitions, "
                    f"not {self.partitions}",
                    hint=f"run with --partitions {manifest.partitions}, or start with an empty folder",
                    parameters={"found": manifest.partitions, "wanted": self.partitions},
                )
            )
        if manifest.program != Path(self._program).name:
            raise CheckpointError(
                Diagnostic(
                    "OTHER_QUERIES",
                    f"the checkpoint {self.checkpoint} belongs to other queries: their state does not fit these",
                    hint="use the script with which it was made, or start with an empty folder",
                    parameters={"checkpoint": str(self.checkpoint)},
                )
            )
        self.epoch_number, self.until, self.offsets = manifest.number, manifest.until, manifest.offsets
        for name, (snapshot, logs, weight) in manifest.kept.items():
            level, part = name.split("/")
            self._kept[int(level), int(part)] = Kept(int(str(snapshot)), tuple(logs), int(str(weight)))  # type: ignore[arg-type]

    def intent(self) -> tuple[int, dict[str, int]] | None:
        """What the next epoch was going to read when the process ended, if it had been decided."""
        path = self.checkpoint / "intents" / str(self.epoch_number + 1)
        if not path.exists():
            return None
        content = json.loads(read_file(path))
        return content["until"], content["offsets"]

    # Results.

    def results(self, query: str, first: int = 1, last: int | None = None) -> pa.Table | None:
        """The result rows of a query in finished epochs, in the order of epochs; None when there are none."""
        tables: list[pa.Table] = []
        for number in range(first, (self.epoch_number if last is None else last) + 1):
            manifest = json.loads(read_file(self.checkpoint / "epochs" / str(number)))
            parts = sorted(manifest["results"].get(query, []))
            tables += [unpacked(read_file(result_path(self.checkpoint, query, number, part))) for part in parts]
        return pa.concat_tables(tables) if tables else None

    def close(self) -> None:
        """Removes what was only for this run."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        if self._owned:
            shutil.rmtree(self.checkpoint, ignore_errors=True)


def _reports(blocks: Iterable[Block]) -> list[Report]:
    reports: list[Report] = []
    for block in blocks:
        match block.channel:
            case "report":
                reports.append(pickle.loads(block.data))
            case "continua error":
                error = pickle.loads(block.data)
                assert isinstance(error, ContinuaError)
                raise error
            case "failure":
                failure = json.loads(block.data)
                message = f"an operator failed: {failure['error']}"
                raise EvaluationError(Diagnostic("OPERATOR_FAILED", message, parameters={"trace": failure["trace"]}))
            case _:
                raise AssertionError(f"a block for level {block.level} is left over")
    return reports
