"""Topics of Kafka: what a query yields in an epoch is in a transaction, together with the record that it is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.lang.statements import SourceCall
from continua.sinks.kafka_records import changes
from continua.sinks.sink import Sink
from continua.sources.format_options import bad_option, is_for_client
from continua.sources.kafka.topic import cluster_of
from continua.sources.kafka.transactions import Record, Target, furthest, is_empty, prepare, write_once
from continua.sources.source_spec import SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KAFKA = "kafka"
_OPTIONS = ("servers", "key", "append", "progress", "compression", "timeout")
_COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class KafkaSink(Sink):
    """A topic, and what its records have as keys."""

    target: Target
    key: tuple[str, ...] = ()
    append: bool = False
    """Whether it may have records of others."""

    stays = True

    def __str__(self) -> str:
        return f"kafka('{self.target.topic}')"

    def start(self, spark: SparkSession | None = None) -> None:  # noqa: ARG002
        """Refuses a topic with records of others, unless it may have such."""
        if not is_empty(self.target, str(self)) and not self.append:
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"the topic {self.target.topic} has records already",
                    hint="append => true adds to them; or go on with the --checkpoint of the run that wrote them",
                    parameters={"sink": str(self)},
                )
            )

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Writes answers of an epoch, whatever run they are of."""
        columns = tuple(answers.column_names[1 + ("op" in answers.column_names) :])
        records = partial(changes, answers, columns, self.key, (), epoch, "0")
        self.write_as(f"continua-{self.target.topic}", epoch, 0, records)

    def prepare(self, writers: Iterable[str]) -> None:
        """Has brokers decide what earlier writers of some names have begun."""
        prepare(self.target, str(self), writers)

    def furthest(self, writers: str) -> tuple[int, int]:
        """The last epoch of all writers whose names begin so, and how many records they have written in it."""
        return furthest(self.target, str(self), writers)

    def doubtful(self, epoch: int, found: int, wanted: int) -> SourceError:
        """Why nothing can be written any more: of an epoch that is not told by its shares a part is there."""
        return SourceError(
            Diagnostic(
                "SINK_DOUBTFUL",
                f"{self} has {found:,} of the {wanted:,} records of epoch {epoch}: writing them was interrupted",
                hint="the files of the checkpoint that tell which are missing are gone: start anew with another topic",
                parameters={"sink": str(self), "epoch": epoch, "found": found, "wanted": wanted},
            )
        )

    def write_as(self, writer: str, epoch: int, part: int, records: Callable[[], Iterable[Record]]) -> None:
        """Writes the records of an epoch, which are made when they are asked for, unless a writer of that name has."""
        write_once(self.target, str(self), writer, epoch, part, lambda _: records())


def kafka_sink(call: SourceCall) -> KafkaSink:
    """The topic that INTO names. Raises SourceError for what makes no sense."""
    spec = SourceSpec(KAFKA, str(next(iter(call.arguments), "")), (), call.options, name=f"INTO {call.function}(...)")
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], str) or not spec.path:
        message = f"INTO {call.function}(...) takes one topic"
        hint = "kafka('topic', servers => 'host:9092')"
        raise SourceError(Diagnostic("BAD_OPTION", message, call.function.span, hint))
    options = {name.casefold(): value for name, value in call.options}
    _check_names(call, options)
    append = options.get("append", False)
    if not isinstance(append, bool):
        raise bad_option(spec, "append", append, "true or false")
    compression = str(options.get("compression", "none")).casefold()
    if compression not in _COMPRESSIONS:
        raise bad_option(spec, "compression", options["compression"], listing(list(_COMPRESSIONS)))
    key = tuple(name.strip() for name in str(options.get("key", "")).split(",") if name.strip())
    target = Target(spec.path, cluster_of(spec), str(options.get("progress", f"{spec.path}-progress")), compression)
    return KafkaSink(target, key, append)


def _check_names(call: SourceCall, options: Mapping[str, object]) -> None:
    for option in options:
        if option not in _OPTIONS and not is_for_client(KAFKA, option):
            raise SourceError(
                Diagnostic(
                    "UNKNOWN_OPTION",
                    f"{option} is not an option of INTO {call.function}(...)",
                    call.function.span,
                    did_you_mean(option, _OPTIONS) or f"it has {listing(_OPTIONS)}",
                    {"sink": KAFKA, "option": option},
                )
            )
