"""What the definition of a source says of a topic: where it is, and which columns have which parts of its records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from continua.errors import Diagnostic, SourceError, listing
from continua.sources.format_options import bad_option, check_options, csv_options, is_for_client
from continua.sources.kafka.cluster import TIMEOUT, Cluster
from continua.sources.kafka.schemas import Schemas, schemas_of
from continua.sources.source_spec import SourceSpec
from continua.types import BIGINT, BINARY, STRING, TIMESTAMP, DataType, map_of

FORMATS = {
    "json": "json",
    "jsonl": "json",
    "csv": "csv",
    "raw": "raw",
    "avro": "avro",
    "protobuf": "protobuf",
    "debezium": "json",
}
"""How the values of records are written, by the names that this has."""
KEY_FORMATS = ("raw", "json", "avro", "protobuf")
DEBEZIUM = "debezium"
PARTS = ("key", "timestamp", "partition", "offset", "headers", "tag", "source_time", "envelope_time")
"""The parts of a record besides its value, and what an envelope tells."""
OF_CHANGES = ("tag", "source_time", "envelope_time")
"""Those that tell what has become of a row."""
TIME_UNITS = {"nanoseconds": 1_000_000_000, "microseconds": 1_000_000, "milliseconds": 1000}
"""By name, how many of them are in a second."""
_HEADERS = (map_of(STRING, STRING), map_of(STRING, BINARY))
_ISOLATIONS = {"read_committed": True, "read_uncommitted": False}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic, and what is read of it."""

    name: str
    cluster: Cluster
    form: str
    """How the values of its records are written."""
    values: SourceSpec = field(repr=False)
    """The columns that are in the values; with an envelope, what that tells of changes is among them."""
    parts: tuple[tuple[str, str], ...]
    """The parts of records that are columns, and the names of these."""
    committed: bool
    """Whether nothing is read of transactions that are not committed."""
    compacted: bool
    """Whether it may be one of which Kafka removes older records of a key."""
    key_form: str = "raw"
    """How the keys of its records are written."""
    schemas: Schemas = field(default_factory=Schemas, repr=False)
    """By what values and keys are read that do not tell it themselves."""
    envelope: bool = False
    """Whether its records are Debezium's, which tell how a row has changed."""
    time_unit: int | None = None
    """How many units of a time that an envelope has as a number are in a second, where that has to be said."""
    by_pairs: bool = False
    """Whether an update is told as the removal of a row and the insertion of another, since rows have no key."""
    dead_letters: str | None = None
    """The topic that records go to which are no rows."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are read from keys."""
        return tuple(name for part, name in self.parts if part == "key")

    @property
    def is_tagged(self) -> bool:
        """Whether a column has what becomes of a row."""
        return any(part == "tag" for part, _ in self.parts)

    def shown(self, partition: int) -> str:
        """A partition as messages tell it."""
        return f"{self.name}[{partition}]"

    def partition(self, shown: str) -> int:
        """The number of a partition that is told so."""
        return int(shown[len(self.name) + 1 : -1])


def topic_of(spec: SourceSpec) -> Topic:
    """What is declared. Raises SourceError for what makes no sense."""
    check_options(spec)
    options = {name.casefold(): value for name, value in spec.options}
    cluster = cluster_of(spec)
    form = FORMATS.get(str(options.get("format", "json")).casefold())
    if form is None:
        raise bad_option(spec, "format", options["format"], listing(list(FORMATS)))
    isolation = str(options.get("isolation", "read_committed")).casefold()
    if isolation not in _ISOLATIONS:
        raise bad_option(spec, "isolation", options["isolation"], listing(list(_ISOLATIONS)))
    compacted = options.get("compacted", False)
    if not isinstance(compacted, bool):
        raise bad_option(spec, "compacted", compacted, "true or false")
    parts = _parts(spec, options)
    envelope = _is_envelope(spec, options, form)
    own = {column for part, column in parts if not (envelope and part in OF_CHANGES)}
    values = SourceSpec(
        form,
        spec.path,
        tuple(c for c in spec.columns if c[0] not in own),
        tuple((name, value) for name, value in spec.options if name.casefold() in ("delimiter", "null")),
        spec.skip_malformed,
        spec.name,
    )
    _check_values(spec, values)
    topic = Topic(
        spec.path,
        cluster,
        form,
        values,
        parts,
        _ISOLATIONS[isolation],
        compacted,
        _key_format(spec, options, [name for part, name in parts if part == "key"]),
        envelope=envelope,
        time_unit=_time_unit(spec, options),
        by_pairs=spec.by_pairs,
        dead_letters=_dead_letters(spec, options),
    )
    _check_changes(spec, topic)
    return replace(topic, schemas=schemas_of(spec, {form, topic.key_form}, cluster.timeout))


def cluster_of(spec: SourceSpec) -> Cluster:
    """What options say of brokers."""
    options = {name.casefold(): value for name, value in spec.options}
    servers = options.get("servers")
    if not isinstance(servers, str) or not servers:
        raise bad_option(spec, "servers", servers, "the addresses of brokers: 'host:9092' or 'one:9092,other:9092'")
    timeout = options.get("timeout", TIMEOUT)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout < 1:
        raise bad_option(spec, "timeout", timeout, "a number of seconds")
    client = tuple((name, value) for name, value in options.items() if is_for_client(spec.format, name))
    return Cluster(servers, client, timeout)


def _parts(spec: SourceSpec, options: dict[str, object]) -> tuple[tuple[str, str], ...]:
    """The parts of records that are columns."""
    names = {name.casefold(): (name, of) for name, of in spec.columns}
    found: list[tuple[str, str]] = []
    wanted_columns = [(part, name) for part in PARTS if part in options for name in _named(part, options[part])]
    for part, name in wanted_columns:
        known = names.get(name.casefold())
        if known is None or known[0] in (column for _, column in found):
            raise bad_option(spec, part, options[part], "the name of a column of its own")
        wanted = _types(part)
        if wanted and known[1] not in wanted:
            raise SourceError(
                Diagnostic(
                    "TYPE_MISMATCH",
                    f"column {known[0]} of {spec.name} is {known[1]}, and the {part} of a record is {wanted[0]}",
                    hint=f"declare it as {known[0]} {wanted[0]}",
                    parameters={
                        "source": spec.name,
                        "column": known[0],
                        "left": str(known[1]),
                        "right": str(wanted[0]),
                    },
                )
            )
        found.append((part, known[0]))
    return tuple(found)


def _named(part: str, value: object) -> list[str]:
    """The columns that an option names: of a key there may be several."""
    return [name.strip() for name in str(value).split(",")] if part == "key" else [str(value)]


def _key_format(spec: SourceSpec, options: dict[str, object], keys: list[str]) -> str:
    given = options.get("key_format", "raw" if len(keys) < 2 else "json")
    found = str(given).casefold()
    if found not in KEY_FORMATS or (found == "raw" and len(keys) > 1):
        several = KEY_FORMATS[1:] if len(keys) > 1 else KEY_FORMATS
        raise bad_option(spec, "key_format", given, listing(list(several)))
    if "key_format" in options and not keys:
        raise bad_option(spec, "key_format", given, "something where key names the columns of the key")
    return found


def _is_envelope(spec: SourceSpec, options: dict[str, object], form: str) -> bool:
    given = str(options.get("envelope", "")).casefold()
    if "envelope" in options and (given != DEBEZIUM or form not in ("json", "avro", "protobuf")):
        raise bad_option(spec, "envelope", options["envelope"], "'debezium', around json, avro or protobuf")
    return bool(given) or str(options.get("format", "")).casefold() == DEBEZIUM


def _time_unit(spec: SourceSpec, options: dict[str, object]) -> int | None:
    if "time_unit" not in options:
        return None
    found = TIME_UNITS.get(str(options["time_unit"]).casefold())
    if found is None:
        raise bad_option(spec, "time_unit", options["time_unit"], listing(list(TIME_UNITS)))
    return found


def _dead_letters(spec: SourceSpec, options: dict[str, object]) -> str | None:
    if "dead_letters" not in options:
        return None
    found = options["dead_letters"]
    if not isinstance(found, str) or not found or found == spec.path:
        raise bad_option(spec, "dead_letters", found, "the name of another topic")
    if not spec.skip_malformed:
        raise bad_option(spec, "dead_letters", found, "something where the source says ON ERROR SKIP")
    return found


def _check_changes(spec: SourceSpec, topic: Topic) -> None:
    """What tells how rows change must be asked for, and there must be something that tells it."""
    given = [part for part, _ in topic.parts]
    if topic.envelope and not topic.is_tagged:
        raise bad_option(spec, "tag", None, "the column that TAGGED BY names: an envelope tells what becomes of a row")
    for part in ("source_time", "envelope_time"):
        if part in given and not topic.envelope:
            raise bad_option(spec, part, dict(topic.parts)[part], "something where there is an envelope")
    if topic.is_tagged and not topic.envelope and (not topic.keys or topic.form == "raw"):
        tag = dict(topic.parts)["tag"]
        raise bad_option(spec, "tag", tag, "something where key names the columns by which a record removes rows")


def _types(part: str) -> tuple[DataType, ...]:
    """The types that the column of a part may have; all, if none is named."""
    match part:
        case "timestamp" | "source_time" | "envelope_time":
            return TIMESTAMP, BIGINT
        case "tag":
            return (STRING,)
        case "partition" | "offset":
            return (BIGINT,)
        case "headers":
            return _HEADERS
        case _:
            return ()


def _check_values(spec: SourceSpec, values: SourceSpec) -> None:
    if values.format == "csv":
        csv_options(values)
    elif values.options:
        name, value = values.options[0]
        raise bad_option(spec, name, value, "something where the format is csv")
    if values.format == "raw" and [of for _, of in values.columns] not in ([STRING], [BINARY], []):
        message = f"{spec.name}: the value of a raw record is one column, a STRING or BINARY"
        hint = "name the columns of other parts: key => k, timestamp => ts"
        raise SourceError(Diagnostic("BAD_COLUMNS", message, hint=hint, parameters={"source": spec.name}))
