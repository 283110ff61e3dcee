"""Reading a split, whatever its format."""

from __future__ import annotations

from dataclasses import replace

from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Piece, Split
from continua.sources.valued_folders import with_parts


def read_split(spec: SourceSpec, split: Split) -> Piece:
    """What a split holds. Raises SourceError where its file cannot be read or lacks a declared column."""
    names = [name.casefold() for name, _ in split.parts]
    if not names:
        return _read(spec, split)
    own = tuple(column for column in spec.columns if column[0].casefold() not in names)
    piece = _read(replace(spec, columns=own), split)
    return replace(piece, columns=with_parts(piece.columns, piece.lines.size, spec, split))


def _read(spec: SourceSpec, split: Split) -> Piece:
    try:
        match spec.format:
            case "csv":
                from continua.sources.csv_split import read_csv

                return read_csv(spec, split)
            case "jsonl":
                from continua.sources.jsonl_split import read_jsonl

                return read_jsonl(spec, split)
            case "text":
                from continua.sources.text_split import read_text

                return read_text(spec, split)
            case "parquet" | "orc":
                from continua.sources.columnar_split import read_columnar

                return read_columnar(spec, split)
            case "nexmark" | "rate" | "python":
                from continua.sources.generated_split import read_generated

                return read_generated(spec, split)
            case "kafka":
                from continua.sources.kafka.kafka_split import read_kafka

                return read_kafka(spec, split)
            case _:
                raise ValueError(f"no files of format {spec.format} are read")
    except ContinuaError:
        raise
    except OSError as error:
        raise SourceError(
            Diagnostic(
                "SOURCE_NOT_READABLE",
                f"{split.shown} cannot be read: {error.strerror or error}",
                parameters={"source": spec.name, "path": spec.path, "file": split.shown},
            )
        ) from error
