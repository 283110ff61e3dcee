"""The rows that the epochs of a bounded run have kept apart, which are told of when it is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from continua.runtime.inflow import Inflow
from continua.runtime.kept_apart import KeptApart
from continua.runtime.level_zero import LeftOutRows
from continua.runtime.progress import Progress
from continua.sources.source_spec import Malformed
from continua.sources.stretches import Summary, with_true_lines


@dataclass
class RowsApart:
    """Late, malformed and rejected rows, by their sources."""

    _of_files: dict[str, list[Summary]] = field(default_factory=dict)
    _of_frames: dict[str, list[LeftOutRows]] = field(default_factory=dict)
    _broken: dict[str, list[Malformed]] = field(default_factory=dict)
    """Rows that break what their source says of its keys."""

    def add(self, done: Progress) -> None:
        """Takes those of an epoch."""
        for summary in done.summaries:
            self._of_files.setdefault(summary.source, []).append(summary)
        for name, some in done.left_out.items():
            self._of_frames.setdefault(name, []).extend(some)
        for name, rows in done.broken.items():
            self._broken.setdefault(name, []).extend(rows)

    def tell(self, told: KeptApart, inflow: Inflow) -> None:
        """Writes them to side files, which tell how many there are."""
        for name, summaries in self._of_files.items():
            told.report(inflow.files[name].source.info, *with_true_lines(summaries))
        for name, apart in self._of_frames.items():
            wrong, late = [m for some in apart for m in some.wrong], [x for some in apart for x in some.late]
            told.report(inflow.frames[name].info, wrong, late)
        for name, rows in self._broken.items():
            told.report_broken(name, rows)
