"""The options of each format, checked before any file is opened."""

from __future__ import annotations

from dataclasses import dataclass

from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.sources.convert import convert
from continua.sources.source_spec import SourceSpec
from continua.types import BOOLEAN

FORMATS: dict[str, tuple[str, ...]] = {
    "csv": ("delimiter", "header", "null"),
    "jsonl": (),
    "parquet": (),
    "orc": (),
    "text": (),
    "nexmark": ("rate", "events", "seed", "start", "extra"),
    "rate": ("rows_per_second", "rows", "start"),
    "python": (),
    "kafka": (
        *("servers", "format", "key", "timestamp", "partition", "offset", "headers", "delimiter", "null"),
        *("isolation", "compacted", "timeout", "key_format", "envelope", "tag", "source_time", "envelope_time"),
        *("time_unit", "registry", "registry_user", "registry_password", "schema", "message", "dead_letters"),
    ),
}
"""Every format with the options that it has; what Python functions have is a matter of theirs."""
SCHEMA = "schema"
"""The option that names a file with a schema."""
WITH_SCHEMA = ("kafka",)
"""The formats that have it."""
_PREFIXES = {"kafka": ("client_", "enable_ssl_", "sasl_", "security_", "ssl_")}
"""How options begin that are handed to the client of a format as they are."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written; ``header`` None means that the first record tells."""

    delimiter: str = ","
    header: bool | None = None
    null: str = ""


def check_options(spec: SourceSpec) -> None:
    """Raises SourceError for a format or an option that does not exist."""
    known = FORMATS.get(spec.format)
    if known is None:
        raise SourceError(
            Diagnostic(
                "UNKNOWN_FORMAT",
                f"{spec.format} is not a format of sources",
                hint=did_you_mean(spec.format, FORMATS) or f"the formats are {listing(list(FORMATS))}",
                parameters={"source": spec.name, "format": spec.format},
            )
        )
    for option, _ in spec.options if spec.format != "python" else ():
        if option.casefold() not in known and not is_for_client(spec.format, option):
            has = f"the options {listing(known)}" if known else "no options"
            raise SourceError(
                Diagnostic(
                    "UNKNOWN_OPTION",
                    f"{option} is not an option of the format {spec.format}",
                    hint=did_you_mean(option, known) or f"{spec.format} has {has}",
                    parameters={"source": spec.name, "format": spec.format, "option": option},
                )
            )


def is_for_client(form: str, option: str) -> bool:
    """Whether an option is handed to the client of a format as it is."""
    return option.casefold().startswith(_PREFIXES.get(form, ("\0",)))


def csv_options(spec: SourceSpec) -> CsvOptions:
    """The options of a CSV source. Raises SourceError for a value that an option cannot have."""
    given = {option.casefold(): (option, value) for option, value in spec.options}
    options = CsvOptions()
    delimiter, header, null = options.delimiter, options.header, options.null
    if "delimiter" in given:
        value = given["delimiter"][1]
        delimiter = "\t" if value == "\\t" else value if isinstance(value, str) else ""
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise bad_option(spec, *given["delimiter"], "one character of ASCII other than a quote or a line end")
    if "header" in given:
        try:
            header = convert(given["header"][1], BOOLEAN) is True
        except ValueError:
            raise bad_option(spec, *given["header"], "true or false") from None
    if "null" in given:
        value = given["null"][1]
        if not isinstance(value, str):
            raise bad_option(spec, *given["null"], "a text")
        null = value
    return CsvOptions(delimiter, header, null)


def bad_option(spec: SourceSpec, option: str, value: object, expected: str) -> SourceError:
    """What is raised for a value that an option cannot have."""
    return SourceError(
        Diagnostic(
            "BAD_OPTION",
            f"the option {option} is missing" if value is None else f"the option {option} cannot be {value!r}",
            hint=f"{option} takes {expected}",
            parameters={"source": spec.name, "option": option, "value": value, "expected": expected},
        )
    )
