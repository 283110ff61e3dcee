"""Dead letters: records that are no rows go, as they are, to a topic of their own, each once.

They are written before the epoch that has read them is finished, under a name for each partition that they are from,
with the offset up to which that is done. So whoever reads records again knows which of them are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby

from continua.sources.kafka.records import records_between
from continua.sources.kafka.topic import Topic, topic_of
from continua.sources.kafka.transactions import Header, Record, Target, write_once
from continua.sources.source_spec import Malformed, SourceSpec

_NEAR = 100
"""Records that are no farther apart are read together."""
_ALL = 1 << 62


def write_dead_letters(spec: SourceSpec, run: str, wrong: Iterable[Malformed]) -> None:
    """Writes the records of a source that are no rows, unless that was done under the name of a run."""
    topic = topic_of(spec)
    if topic.dead_letters is None:
        return
    target = Target(topic.dead_letters, topic.cluster, f"{topic.dead_letters}-progress")
    what = f"the topic of dead letters {topic.dead_letters}"
    for shown, some in groupby(sorted(wrong, key=lambda m: (m.file, m.line)), key=lambda m: m.file):
        mine = list(some)
        writer = f"continua/{run}/dead/{spec.name.casefold()}/{shown}"
        done = mine[-1].line + 1
        write_once(target, what, writer, done, topic.partition(shown), partial(_letters, spec, topic, shown, mine))


def _letters(spec: SourceSpec, topic: Topic, shown: str, wrong: Sequence[Malformed], done: int) -> Iterator[Record]:
    """The records that are no rows, from an offset on, with headers that tell why."""
    left = [m for m in wrong if m.line >= done]
    for near in _neighbours(left):
        reasons = {m.line: m.reject().reason for m in near}
        found, _ = records_between(topic, spec.name, shown, near[0].line, near[-1].line + 1, _ALL)
        for record in found:
            if record.offset() in reasons:
                told: list[Header] = [
                    ("continua.source", spec.name.encode()),
                    ("continua.topic", topic.name.encode()),
                    ("continua.partition", b"%d" % record.partition()),
                    ("continua.offset", b"%d" % record.offset()),
                    ("continua.reason", reasons[record.offset()].encode("utf-8", "backslashreplace")),
                ]
                yield record.key(), record.value(), [*(record.headers() or ()), *told]


def _neighbours(wrong: Sequence[Malformed]) -> Iterator[list[Malformed]]:
    """Records in groups that are read together."""
    group: list[Malformed] = []
    for malformed in wrong:
        if group and malformed.line > group[-1].line + _NEAR:
            yield group
            group = []
        group.append(malformed)
    if group:
        yield group
