"""What the definition of a source says of a topic: where it is, and which columns have which parts of its records."""

from __future__ import annotations

from dataclasses import dataclass, field

from continua.errors import Diagnostic, SourceError, listing
from continua.sources.format_options import bad_option, check_options, csv_options, is_for_client
from continua.sources.kafka.cluster import TIMEOUT, Cluster
from continua.sources.source_spec import SourceSpec
from continua.types import BIGINT, BINARY, STRING, TIMESTAMP, DataType, map_of

FORMATS = {"json": "json", "jsonl": "json", "csv": "csv", "raw": "raw"}
"""How the values of records are written, by the names that this has."""
PARTS = ("key", "timestamp", "partition", "offset", "headers")
"""The parts of a record besides its value."""
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
    """The columns that are in the values."""
    parts: tuple[tuple[str, str], ...]
    """The parts of records that are columns, and the names of these."""
    committed: bool
    """Whether nothing is read of transactions that are not committed."""
    compacted: bool
    """Whether it may be one of which Kafka removes older records of a key."""

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
    own = {column for _, column in parts}
    values = SourceSpec(
        form,
        spec.path,
        tuple(c for c in spec.columns if c[0] not in own),
        tuple((name, value) for name, value in spec.options if name.casefold() in ("delimiter", "null")),
        spec.skip_malformed,
        spec.name,
    )
    _check_values(spec, values)
    return Topic(
        spec.path,
        cluster,
        form,
        values,
        parts,
        _ISOLATIONS[isolation],
        compacted,
    )


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
    found: dict[str, str] = {}
    for part in (p for p in PARTS if p in options):
        known = names.get(str(options[part]).casefold())
        if known is None or known[0] in found.values():
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
        found[part] = known[0]
    return tuple(found.items())


def _types(part: str) -> tuple[DataType, ...]:
    """The types that the column of a part may have; all, if none is named."""
    match part:
        case "timestamp":
            return TIMESTAMP, BIGINT
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
